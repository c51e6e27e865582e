package hub

import (
	"context"
	"path/filepath"
	"slices"
)

// Snapshot is files of one commit, in the cache.
type Snapshot struct {
	Commit string
	Dir    string
	Names  []string
}

// Path is where a file of the snapshot lies.
func (s *Snapshot) Path(name string) string { return filepath.Join(s.Dir, filepath.FromSlash(name)) }

// Pull brings files of a listing into the cache, those that are not there yet. Each appears when it is complete and
// its hash is right; what came of the others is kept for the next pull.
func (c *Client) Pull(ctx context.Context, l *Listing, names []string) (*Snapshot, error) {
	r := c.cache(l.Repo)
	s := &Snapshot{Commit: l.Commit, Dir: r.snapshot(l.Commit), Names: names}
	var missing []string
	for _, name := range names {
		if !isLocal(name) || !slices.Contains(l.Files, name) {
			return nil, fail(ErrNotFound, "%s has no file %q", l.Repo, name)
		}
		if !has(r.pointer(l.Commit, name)) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		if l.Cached {
			return nil, fail(ErrOffline, "%s/%s: offline, and not in the cache", l.Repo, missing[0])
		}
		if err := c.pull(ctx, r, l, missing); err != nil {
			return nil, err
		}
	}
	if l.Cached || commitHash.MatchString(l.Revision) {
		return s, nil
	}
	if err := r.note(l.Revision, l.Commit); err != nil && len(missing) > 0 { // a cache may be read-only
		return nil, err
	}
	return s, nil
}

// pull fetches files one after another.
func (c *Client) pull(ctx context.Context, r repoCache, l *Listing, names []string) error {
	files := make([]remote, len(names))
	var total, before int64
	for i, name := range names {
		var err error
		if files[i], err = c.head(ctx, l, name); err != nil {
			return err
		}
		total += max(files[i].size, 0)
	}
	for _, f := range files {
		tell := func(at int64) {
			if c.config.Progress != nil {
				c.config.Progress(Progress{File: f.name, Done: before + at, Total: total})
			}
		}
		if err := c.bring(ctx, r, l, f, tell); err != nil {
			return err
		}
		before += max(f.size, 0)
	}
	return nil
}

// bring makes a file part of the snapshot.
func (c *Client) bring(ctx context.Context, r repoCache, l *Listing, f remote, tell func(at int64)) error {
	unlock, err := c.lock(ctx, r, f.etag, f.name)
	if err != nil {
		return err
	}
	defer unlock()
	if !has(r.blob(f.etag)) { // another process, or another name of the same content
		if err := c.fetch(ctx, r, l.Repo, f, tell); err != nil {
			return err
		}
	}
	tell(max(f.size, 0))
	return r.point(l.Commit, f.name, f.etag)
}
