package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// remote is what the hub tells of a file before it is fetched.
type remote struct {
	name string
	path string // after the endpoint, at the commit
	etag string
	size int64 // -1 if it does not say
}

func resolvePath(repo, commit, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/" + repo + "/resolve/" + commit + "/" + strings.Join(parts, "/")
}

// head asks for a file's hash and size. Large files lie elsewhere: the redirect to there tells both.
func (c *Client) head(ctx context.Context, l *Listing, name string) (f remote, err error) {
	f = remote{name: name, path: resolvePath(l.Repo, l.Commit, name), size: -1}
	what := l.Repo + "/" + name
	err = c.retry(ctx, what, func() (bool, error) {
		ctx, cancel := c.brief(ctx, what)
		defer cancel()
		resp, err := c.do(ctx, request{method: http.MethodHead, path: f.path,
			stop: func(r *http.Response) bool { return r.Header.Get(headerLinkedETag) != "" }})
		if err != nil {
			return false, err
		}
		if resp.StatusCode/100 != 2 && resp.StatusCode/100 != 3 {
			return false, c.refusal(resp, l.Repo, what)
		}
		resp.Body.Close()
		return false, f.read(resp, l.Commit)
	})
	return f, err
}

// read takes what an answer to HEAD tells.
func (f *remote) read(resp *http.Response, commit string) error {
	if have := resp.Header.Get(headerCommit); have != "" && have != commit {
		return fail(ErrNetwork, "%s: the hub answers for commit %q instead of %s", f.name, have, commit)
	}
	f.etag = strings.Trim(strings.TrimPrefix(first(resp.Header.Get(headerLinkedETag), resp.Header.Get("ETag")), "W/"), `"`)
	if !blobName.MatchString(f.etag) || strings.HasSuffix(f.etag, incomplete) {
		return fail(ErrNetwork, "%s: the hub tells no hash (etag %q)", f.name, f.etag)
	}
	size := resp.Header.Get(headerLinkedSize)
	if size == "" && resp.StatusCode/100 == 2 {
		size = resp.Header.Get("Content-Length")
	}
	f.size = -1
	if n, err := strconv.ParseInt(size, 10, 64); err == nil && n >= 0 {
		f.size = n
	}
	return nil
}

// incomplete ends the name of what has not come wholly yet.
const incomplete = ".incomplete"

// download is the transfer of one blob.
type download struct {
	c    *Client
	f    remote
	repo string
	path string // of the incomplete file
	file *os.File
	at   int64 // bytes that are in it
	most int64 // bytes that ever were
	sum  hash.Hash
	tell func(at int64) // how far it is
}

// fetch brings a blob into the cache, going on with what an earlier try left. It is called under the blob's lock.
func (c *Client) fetch(ctx context.Context, r repoCache, repo string, f remote, tell func(at int64)) error {
	blob := r.blob(f.etag)
	if err := os.MkdirAll(filepath.Dir(blob), 0o777); err != nil {
		return err
	}
	d := &download{c: c, f: f, repo: repo, path: blob + incomplete, tell: tell}
	defer d.close()
	for first := true; ; first = false {
		if err := d.open(); err != nil {
			return err
		}
		if err := d.enoughSpace(); err != nil {
			return err
		}
		if err := c.retry(ctx, f.name, func() (bool, error) { return d.run(ctx) }); err != nil {
			return err
		}
		err := d.verify()
		if err == nil {
			return d.keep(blob)
		}
		d.close()
		if err := os.Remove(d.path); err != nil {
			return err
		}
		if !first {
			return err
		}
		c.log.Warn(fmt.Sprintf("%v; fetching it once more", err))
	}
}

// open takes up what is there of the file.
func (d *download) open() (err error) {
	if d.file, err = os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	d.sum = newSum(d.f)
	d.at, err = io.Copy(d.sum, d.file)
	if err == nil && d.f.size >= 0 && d.at > d.f.size {
		err = d.restart()
	}
	d.most = d.at
	d.tell(d.at)
	return err
}

// newSum is the hash that an etag is: the SHA-256 of large files, and for small ones that of git, SHA-1 after a header.
func newSum(f remote) hash.Hash {
	switch {
	case len(f.etag) == 2*sha1.Size && f.size >= 0:
		h := sha1.New()
		fmt.Fprintf(h, "blob %d\x00", f.size)
		return h
	default:
		return sha256.New()
	}
}

func (d *download) restart() error {
	d.at, d.sum = 0, newSum(d.f)
	if err := d.file.Truncate(0); err != nil {
		return err
	}
	_, err := d.file.Seek(0, io.SeekStart)
	return err
}

func (d *download) close() {
	if d.file != nil {
		d.file.Close()
		d.file = nil
	}
}

func (d *download) enoughSpace() error {
	free, err := freeSpace(filepath.Dir(d.path))
	if err != nil || d.f.size < 0 || free >= uint64(d.f.size-d.at) {
		return nil // where it cannot be asked, writing will show
	}
	return fail(ErrDisk, "%s: needs %s more, %s has %s", d.f.name, bytes(uint64(d.f.size-d.at)), filepath.Dir(d.path), bytes(free))
}

// bytes in the unit that fits.
func bytes(n uint64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d bytes", n)
}

// run fetches what is missing in one request; further tells whether more came than ever before.
func (d *download) run(ctx context.Context) (further bool, err error) {
	if d.at == d.f.size {
		return true, nil
	}
	header := http.Header{}
	if d.at > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
	}
	resp, err := d.c.do(ctx, request{method: http.MethodGet, path: d.f.path, header: header})
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if err := d.begin(resp); err != nil {
		return false, err
	}
	err = d.copy(ctx, resp.Body)
	further = d.at > d.most
	d.most = max(d.most, d.at)
	return further, err
}

// begin checks that an answer goes on where the file ends, and starts anew if it does not.
func (d *download) begin(resp *http.Response) error {
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return fail(ErrNetwork, "%s: sent as %s, which was not asked for", d.f.name, e)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		if d.at > 0 {
			if err := d.restart(); err != nil {
				return err
			}
		}
		return d.expect(resp.ContentLength)
	case http.StatusPartialContent:
		var from, to int64
		var total string
		_, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%s", &from, &to, &total)
		if err != nil || from != d.at {
			return d.anew(fail(ErrNetwork, "%s: asked for bytes from %d, the answer has %q", d.f.name, d.at, resp.Header.Get("Content-Range")))
		}
		n, err := strconv.ParseInt(total, 10, 64)
		if err != nil {
			n = -1
		}
		return d.expect(n)
	case http.StatusRequestedRangeNotSatisfiable:
		return d.anew(fail(ErrNetwork, "%s: the hub has no bytes from %d", d.f.name, d.at))
	}
	return d.c.refusal(resp, d.repo, d.repo+"/"+d.f.name)
}

// anew empties the file, so that the next try fetches all of it.
func (d *download) anew(err error) error {
	if e := d.restart(); e != nil {
		return e
	}
	return err
}

// expect compares the size that an answer announces with that of the file.
func (d *download) expect(size int64) error {
	if size >= 0 && d.f.size >= 0 && size != d.f.size {
		return fail(ErrNetwork, "%s: announced with %d bytes, sent with %d", d.f.name, d.f.size, size)
	}
	if d.f.size < 0 && size >= 0 {
		d.f.size = size
	}
	return nil
}

// copy writes the body to the file.
func (d *download) copy(ctx context.Context, body io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		if d.f.size >= 0 && d.at+int64(n) > d.f.size {
			return d.anew(fail(ErrNetwork, "%s: more than the %d bytes announced", d.f.name, d.f.size))
		}
		if d.f.size < 0 && d.at+int64(n) > d.c.maxUnannounced {
			return d.anew(fail(ErrCorrupt, "%s: more than %s, and the hub tells no size", d.f.name, bytes(uint64(d.c.maxUnannounced))))
		}
		if n > 0 {
			if w, err := d.file.Write(buf[:n]); err != nil {
				d.at += int64(w)
				return diskError(d.f.name, err)
			}
			d.sum.Write(buf[:n])
			d.at += int64(n)
			d.tell(d.at)
		}
		switch {
		case err == io.EOF && d.f.size >= 0 && d.at < d.f.size:
			return fail(ErrNetwork, "%s: broken off after %d of %d bytes", d.f.name, d.at, d.f.size)
		case err == io.EOF:
			d.f.size = d.at
			return nil
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fail(ErrNetwork, "%s: broken off after %d bytes: %w", d.f.name, d.at, err)
		}
	}
}

// diskError is an error of writing, with its own kind if the disk is full.
func diskError(name string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fail(ErrDisk, "%s: the disk is full: %w", name, err)
	}
	return err
}

// verify compares the hash with the etag, where that is one.
func (d *download) verify() error {
	have := hex.EncodeToString(d.sum.Sum(nil))
	if len(have) != len(d.f.etag) {
		d.c.log.Info(fmt.Sprintf("%s: the hub tells no hash that could be checked (etag %s)", d.f.name, d.f.etag))
		return nil
	}
	if have != d.f.etag {
		return fail(ErrCorrupt, "%s: wrong hash: %s instead of %s", d.f.name, have, d.f.etag)
	}
	return nil
}

// keep gives the file its name.
func (d *download) keep(blob string) error {
	if err := d.file.Sync(); err != nil {
		return diskError(d.f.name, err)
	}
	d.close()
	return os.Rename(d.path, blob)
}
