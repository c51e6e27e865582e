package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Listing is what a revision of a repository holds.
type Listing struct {
	Repo, Revision string
	Commit         string   // what the revision stands for
	Files          []string // names, with / between folders; if Cached, those that the cache has
	Cached         bool     // told by the cache, not by the hub
}

// maxListing bounds the hub's answer, bytes.
const maxListing = 64 << 20

// List asks which files a revision has. Offline, and where the hub cannot be reached, the cache tells what it has.
func (c *Client) List(ctx context.Context, ref Ref) (*Listing, error) {
	if err := errors.Join(checkRepo(ref.Repo), checkRevision(ref.Revision)); err != nil {
		return nil, err
	}
	if c.config.Offline {
		return c.listCached(ref, nil)
	}
	var l *Listing
	err := c.retry(ctx, ref.Repo, func() (further bool, err error) {
		l, err = c.ask(ctx, ref)
		return false, err
	})
	if err != nil && ctx.Err() == nil && transient(err) {
		return c.listCached(ref, err)
	}
	return l, err
}

func (c *Client) ask(ctx context.Context, ref Ref) (*Listing, error) {
	ctx, cancel := c.brief(ctx, ref.Repo)
	defer cancel()
	resp, err := c.do(ctx, request{method: http.MethodGet, path: "/api/models/" + ref.Repo + "/revision/" + url.PathEscape(ref.Revision)})
	if err != nil {
		return nil, err
	}
	what := ref.Repo
	if ref.Revision != MainRevision {
		what += "@" + ref.Revision
	}
	if resp.StatusCode != http.StatusOK {
		return nil, c.refusal(resp, ref.Repo, what)
	}
	defer resp.Body.Close()
	var answer struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&answer); err != nil {
		return nil, fail(ErrNetwork, "%s: the answer is not that of a hub: %w", what, err)
	}
	if !commitHash.MatchString(answer.SHA) {
		return nil, fail(ErrNetwork, "%s: the answer is not that of a hub: commit %q", what, answer.SHA)
	}
	l := &Listing{Repo: ref.Repo, Revision: ref.Revision, Commit: answer.SHA}
	for _, f := range answer.Siblings {
		if !isLocal(f.Name) {
			return nil, fail(ErrInvalid, "%s: file name %q: leads out of its folder, or is none", what, f.Name)
		}
		l.Files = append(l.Files, f.Name)
	}
	slices.Sort(l.Files)
	return l, nil
}

// listCached tells what the cache has; cause is why the hub was not asked, nil if it must not be.
func (c *Client) listCached(ref Ref, cause error) (*Listing, error) {
	repo := c.cache(ref.Repo)
	commit, err := repo.resolve(ref.Revision)
	l := &Listing{Repo: ref.Repo, Revision: ref.Revision, Commit: commit, Cached: true}
	if err == nil {
		l.Files, err = repo.files(commit)
	}
	switch {
	case err != nil && cause != nil:
		return nil, cause
	case err != nil:
		return nil, fail(ErrOffline, "%s: offline, and not in %s", ref.Repo, c.config.CacheDir)
	case cause != nil:
		c.log.Warn(fmt.Sprintf("%v; taking what is in the cache", cause))
	}
	return l, nil
}

// files are the names in a snapshot whose content is there.
func (r repoCache) files(commit string) ([]string, error) {
	root := r.snapshot(commit)
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return nil // a link to a blob that is gone
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err == nil && len(names) == 0 {
		err = os.ErrNotExist
	}
	slices.SortFunc(names, strings.Compare)
	return names, err
}
