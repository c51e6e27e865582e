package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/libqwen/libqwen/internal/atomicfile"
)

// repoCache is the part of the cache that belongs to one repository.
type repoCache struct{ root, locks string }

func (c *Client) cache(repo string) repoCache {
	name := "models--" + strings.ReplaceAll(repo, "/", "--")
	return repoCache{root: filepath.Join(c.config.CacheDir, name), locks: filepath.Join(c.config.CacheDir, ".locks", name)}
}

func (r repoCache) ref(revision string) string {
	return filepath.Join(r.root, "refs", filepath.FromSlash(revision))
}
func (r repoCache) snapshot(commit string) string { return filepath.Join(r.root, "snapshots", commit) }
func (r repoCache) blob(etag string) string       { return filepath.Join(r.root, "blobs", etag) }
func (r repoCache) pointer(commit, name string) string {
	return filepath.Join(r.snapshot(commit), filepath.FromSlash(name))
}

// resolve returns the commit that a revision stands for.
func (r repoCache) resolve(revision string) (string, error) {
	if commitHash.MatchString(revision) {
		return revision, nil
	}
	data, err := os.ReadFile(r.ref(revision))
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(data))
	if !commitHash.MatchString(commit) {
		return "", fmt.Errorf("%s: %q is no commit", r.ref(revision), commit)
	}
	return commit, nil
}

// note keeps what a revision stands for.
func (r repoCache) note(revision, commit string) error {
	if have, err := r.resolve(revision); err == nil && have == commit {
		return nil
	}
	path := r.ref(revision)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(path, []byte(commit))
}

// has tells whether the content of a file is there.
func has(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// point makes a snapshot's file name stand for a blob: by a relative link or, where there are none, by a hard link
// or a copy.
func (r repoCache) point(commit, name, etag string) error {
	path := r.pointer(commit, name)
	if has(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(path), r.blob(etag))
	if err != nil {
		return err
	}
	if err := os.Symlink(target, path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err := os.Link(r.blob(etag), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return Copy(path, r.blob(etag))
}

// Copy makes dst a file of its own with the content of src; it appears when it is complete.
func Copy(dst, src string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := atomicfile.Create(dst)
	if err != nil {
		return err
	}
	defer out.Discard()
	if _, err := io.Copy(out.Writer(), in); err != nil {
		return diskError(dst, err)
	}
	return out.Commit()
}

// lockPoll is how often a lock that another process holds is tried again.
const lockPoll = 200 * time.Millisecond

// lock takes the lock of a blob. File systems that cannot lock let everybody through: then two processes may spoil each
// other's download, which its hash shows.
func (c *Client) lock(ctx context.Context, r repoCache, etag, name string) (unlock func(), err error) {
	if err := os.MkdirAll(r.locks, 0o777); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(r.locks, etag+".lock"), flock.SetPermissions(0o664))
	for told := false; ; told = true {
		locked, err := l.TryLock()
		switch {
		case errors.As(err, new(*fs.PathError)):
			return nil, err
		case err != nil:
			c.log.Warn(fmt.Sprintf("%s: goes unlocked: %v", l.Path(), err))
			return func() { l.Close() }, nil
		case locked:
			return func() { l.Close() }, nil
		case !told:
			c.log.Info(fmt.Sprintf("%s: another process is fetching it; waiting", name))
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
