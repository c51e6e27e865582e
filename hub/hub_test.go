package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/hub"
	"github.com/libqwen/libqwen/internal/hubtest"
)

const (
	large = "qwen-talker-0.6b-base-Q8_0.gguf"
	small = "README.md"
)

var ref = hub.Ref{Repo: hubtest.Repo, Revision: "main"}

// server is a hub with a few files.
type server struct{ *hubtest.Server }

func newServer(t *testing.T) server {
	return server{hubtest.New(t, map[string][]byte{
		small:                                   []byte("# models\n"),
		large:                                   hubtest.Content(300_000, 1),
		"qwen-tokenizer-12hz-F32.gguf":          hubtest.Content(200_000, 2),
		"deep/folder/qwen-talker-copy-F16.gguf": hubtest.Content(1000, 3),
	})}
}

// client asks the server, with a cache of its own and hardly any wait between tries.
func (s server) client(t *testing.T, change func(*hub.Config)) *hub.Client {
	t.Helper()
	c := hub.Config{Endpoint: s.URL, CacheDir: t.TempDir(), Token: "hf_secret", Backoff: time.Millisecond, Timeout: time.Minute}
	if change != nil {
		change(&c)
	}
	client, err := hub.New(c)
	require.NoError(t, err)
	return client
}

// pull lists and pulls.
func pull(t *testing.T, c *hub.Client, names ...string) (*hub.Snapshot, error) {
	t.Helper()
	l, err := c.List(context.Background(), ref)
	if err != nil {
		return nil, err
	}
	return c.Pull(context.Background(), l, names)
}

// holds checks the content of a snapshot's file.
func (s server) holds(t *testing.T, snap *hub.Snapshot, name string) {
	t.Helper()
	data, err := os.ReadFile(snap.Path(name))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(s.Files[name], data), "%s has other bytes", name)
}

func cacheOf(dir string) hubCache {
	return hubCache(filepath.Join(dir, "models--someone--Qwen3-TTS-GGUF"))
}

type hubCache string

func (c hubCache) blob(etag string) string { return filepath.Join(string(c), "blobs", etag) }

func TestPull(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	var last hub.Progress
	c := s.client(t, func(c *hub.Config) {
		c.CacheDir = dir
		c.Progress = func(p hub.Progress) {
			assert.LessOrEqual(t, last.Done, p.Done)
			last = p
		}
	})
	const deep = "deep/folder/qwen-talker-copy-F16.gguf"
	snap, err := pull(t, c, large, small, deep)
	require.NoError(t, err)
	for _, name := range []string{large, small, deep} {
		s.holds(t, snap, name)
		link, err := os.Readlink(snap.Path(name))
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat("../", 2+strings.Count(name, "/"))+"blobs/"+hubtest.ETag(name, s.Files[name]), filepath.ToSlash(link))
	}
	root := cacheOf(dir)
	assert.Equal(t, filepath.Join(string(root), "snapshots", hubtest.Commit), snap.Dir)
	commit, err := os.ReadFile(filepath.Join(string(root), "refs", "main"))
	require.NoError(t, err)
	assert.Equal(t, hubtest.Commit, string(commit))
	assert.False(t, s.Leaked(), "the token went to the CDN")
	assert.Equal(t, hub.Progress{File: deep, Done: 301_009, Total: 301_009}, last)

	before := len(s.Requests())
	_, err = pull(t, c, large, small)
	require.NoError(t, err)
	assert.Len(t, s.Requests(), before+1, "only the listing is asked for again")

	blobs, err := os.ReadDir(filepath.Join(string(root), "blobs"))
	require.NoError(t, err)
	assert.Len(t, blobs, 3, "no incomplete file is left")
}

// TestSendsToken: the hub gets the token with every request, and gets none if there is none.
func TestSendsToken(t *testing.T) {
	for _, token := range []string{"hf_secret", ""} {
		s := newServer(t)
		want := ""
		if token != "" {
			want = "Bearer " + token
		}
		s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
			if !cdn {
				assert.Equal(t, want, r.Header.Get("Authorization"), r.URL.Path)
			}
			return false
		}
		_, err := pull(t, s.client(t, func(c *hub.Config) { c.Token = token }), large)
		require.NoError(t, err)
		assert.False(t, s.Leaked())
	}
}

// TestOffline: what the cache has is used without any request, and nothing else.
func TestOffline(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	_, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large)
	require.NoError(t, err)
	before := len(s.Requests())
	off := s.client(t, func(c *hub.Config) { c.CacheDir, c.Offline = dir, true })
	snap, err := pull(t, off, large)
	require.NoError(t, err)
	s.holds(t, snap, large)
	_, err = pull(t, off, small)
	assert.ErrorIs(t, err, hub.ErrNotFound)
	_, err = off.List(context.Background(), hub.Ref{Repo: "someone/else", Revision: "main"})
	assert.ErrorIs(t, err, hub.ErrOffline)
	assert.ErrorContains(t, err, "someone/else: offline, and not in")
	assert.Len(t, s.Requests(), before)
}

// TestUnreachable: the cache stands in for a hub that is away, with a warning; without it the cause is told.
func TestUnreachable(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	var log bytes.Buffer
	with := func(c *hub.Config) { c.CacheDir, c.Logger = dir, slog.New(slog.NewTextHandler(&log, nil)) }
	_, err := pull(t, s.client(t, with), large)
	require.NoError(t, err)
	s.Close()
	snap, err := pull(t, s.client(t, with), large)
	require.NoError(t, err)
	s.holds(t, snap, large)
	assert.Contains(t, log.String(), "taking what is in the cache")
	_, err = pull(t, s.client(t, nil), large)
	assert.ErrorIs(t, err, hub.ErrNetwork)
	assert.NotContains(t, err.Error(), "secret")
}

// TestResume: what an earlier process left is gone on with, by a range, and the whole is checked.
func TestResume(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	data := s.Files[large]
	partial := cacheOf(dir).blob(hubtest.ETag(large, data)) + ".incomplete"
	require.NoError(t, os.MkdirAll(filepath.Dir(partial), 0o777))
	require.NoError(t, os.WriteFile(partial, data[:100_000], 0o666))
	snap, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large)
	require.NoError(t, err)
	s.holds(t, snap, large)
	assert.True(t, s.Has("GET cdn /blob/"+large+" bytes=100000-"), s.Requests())
	assert.NoFileExists(t, partial)
}

// TestIncompleteOfOtherContent: what was left is not the beginning of the file, longer than it, or all of it.
func TestIncompleteOfOtherContent(t *testing.T) {
	for name, left := range map[string]func(data []byte) []byte{
		"other bytes": func(d []byte) []byte { return bytes.Repeat([]byte{9}, 5000) },
		"longer":      func(d []byte) []byte { return append(bytes.Clone(d), 1, 2, 3) },
		"whole":       bytes.Clone,
		"whole wrong": func(d []byte) []byte { return bytes.Repeat([]byte{9}, len(d)) },
	} {
		s, dir := newServer(t), t.TempDir()
		data := s.Files[large]
		partial := cacheOf(dir).blob(hubtest.ETag(large, data)) + ".incomplete"
		require.NoError(t, os.MkdirAll(filepath.Dir(partial), 0o777))
		require.NoError(t, os.WriteFile(partial, left(data), 0o666))
		snap, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large)
		require.NoError(t, err, name)
		s.holds(t, snap, large)
		if name == "whole" {
			assert.Zero(t, s.Count("GET cdn"), "nothing was missing")
		}
	}
}

// breakOff sends the answer of the CDN only so far, then cuts the connection.
func (s server) breakOff(t *testing.T, w http.ResponseWriter, r *http.Request, after int) {
	data := s.Files[strings.TrimPrefix(r.URL.Path, "/blob/")]
	from := 0
	code := http.StatusOK
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
		code = http.StatusPartialContent
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(data)-from))
	w.WriteHeader(code)
	_, _ = w.Write(data[from:min(len(data), from+after)])
	w.(http.Flusher).Flush()
	conn, _, err := w.(http.Hijacker).Hijack()
	if assert.NoError(t, err) {
		conn.Close()
	}
}

// TestBrokenConnections: each try gets further, so that more of them than are allowed in a row lead to the end.
func TestBrokenConnections(t *testing.T) {
	s := newServer(t)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		if cdn {
			s.breakOff(t, w, r, 25_000)
		}
		return cdn
	}
	snap, err := pull(t, s.client(t, nil), large)
	require.NoError(t, err)
	s.holds(t, snap, large)
	assert.Equal(t, 12, s.Count("GET cdn"))
}

// TestNeverFurther: a host that ignores ranges and always breaks off at the same place is given up.
func TestNeverFurther(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		if cdn {
			r.Header.Del("Range")
			s.breakOff(t, w, r, 25_000)
		}
		return cdn
	}
	_, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large)
	assert.ErrorIs(t, err, hub.ErrNetwork)
	assert.ErrorContains(t, err, large+": broken off after 25000")
	assert.Equal(t, 6, s.Count("GET cdn"), "one and five more")
	info, err := os.Stat(cacheOf(dir).blob(hubtest.ETag(large, s.Files[large])) + ".incomplete")
	require.NoError(t, err)
	assert.Equal(t, int64(25_000), info.Size(), "kept for the next pull")
}

// TestRangeIgnored: a host that sends all of it again is listened to from the start.
func TestRangeIgnored(t *testing.T) {
	s := newServer(t)
	var tries atomic.Int32
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		if !cdn {
			return false
		}
		r.Header.Del("Range")
		if tries.Add(1) == 1 {
			s.breakOff(t, w, r, 25_000)
			return true
		}
		return false
	}
	snap, err := pull(t, s.client(t, nil), large)
	require.NoError(t, err)
	s.holds(t, snap, large)
}

// TestWrongRange: an answer to a range that begins elsewhere, and one that there is no such range.
func TestWrongRange(t *testing.T) {
	for _, answer := range []func(w http.ResponseWriter){
		func(w http.ResponseWriter) {
			w.Header().Set("Content-Range", "bytes 7-299999/300000")
			w.WriteHeader(http.StatusPartialContent)
		},
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusPartialContent) },
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) },
	} {
		s, dir := newServer(t), t.TempDir()
		partial := cacheOf(dir).blob(hubtest.ETag(large, s.Files[large])) + ".incomplete"
		require.NoError(t, os.MkdirAll(filepath.Dir(partial), 0o777))
		require.NoError(t, os.WriteFile(partial, s.Files[large][:100_000], 0o666))
		s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
			if cdn && r.Header.Get("Range") != "" {
				answer(w)
				return true
			}
			return false
		}
		snap, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large)
		require.NoError(t, err)
		s.holds(t, snap, large)
	}
}

// TestWrongHash: the file is fetched once more, and then refused; nothing of it stays.
func TestWrongHash(t *testing.T) {
	for name, right := range map[string][]byte{large: nil, small: nil} {
		s, dir := newServer(t), t.TempDir()
		right = s.Files[name]
		wrong := bytes.Clone(right)
		wrong[len(wrong)/2] ^= 1
		var gets atomic.Int32
		s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
			if r.Method != http.MethodGet || cdn != hubtest.IsLarge(name) || strings.HasPrefix(r.URL.Path, "/api") {
				return false
			}
			gets.Add(1)
			_, _ = w.Write(wrong)
			return true
		}
		_, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), name)
		assert.ErrorIs(t, err, hub.ErrCorrupt)
		assert.ErrorContains(t, err, name+": wrong hash: "+hubtest.ETag(name, wrong)+" instead of "+hubtest.ETag(name, right))
		assert.Equal(t, int32(2), gets.Load())
		blobs, err := os.ReadDir(filepath.Join(string(cacheOf(dir)), "blobs"))
		require.NoError(t, err)
		assert.Empty(t, blobs)
		assert.NoDirExists(t, filepath.Join(string(cacheOf(dir)), "snapshots", hubtest.Commit, name))
	}
}

// TestAnswersOfOtherSize: what is longer or shorter than announced is not taken for the file.
func TestAnswersOfOtherSize(t *testing.T) {
	for _, send := range []string{"a login page", strings.Repeat("x", 400_000)} {
		for _, chunked := range []bool{false, true} {
			s := newServer(t)
			s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
				if cdn {
					if chunked {
						w.(http.Flusher).Flush() // no Content-Length
					}
					_, _ = io.WriteString(w, send)
				}
				return cdn
			}
			_, err := pull(t, s.client(t, nil), large)
			assert.ErrorIs(t, err, hub.ErrNetwork)
			assert.ErrorContains(t, err, "300000")
		}
	}
}

// TestRetries: what passes is waited for, as long as the hub says; what does not is told at once.
func TestRetries(t *testing.T) {
	for _, code := range []int{500, 502, 503, 429, 408} {
		s := newServer(t)
		var once sync.Map
		s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
			if _, again := once.LoadOrStore(r.Method+r.URL.Path, true); again {
				return false
			}
			w.WriteHeader(code)
			return true
		}
		snap, err := pull(t, s.client(t, nil), large)
		require.NoError(t, err, code)
		s.holds(t, snap, large)
	}
}

func TestQuota(t *testing.T) {
	for header, value := range map[string]string{"Retry-After": "1000", "RateLimit": `"resolvers";r=0;t=1000`} {
		s := newServer(t)
		s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
			w.Header().Set(header, value)
			hubtest.Refuse(w, http.StatusTooManyRequests, "", "rate limit")
			return true
		}
		_, err := pull(t, s.client(t, nil), large)
		assert.ErrorIs(t, err, hub.ErrQuota)
		assert.ErrorContains(t, err, "too many requests (429): rate limit")
		assert.Len(t, s.Requests(), 1, "sixteen minutes are not waited for")
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		code       int
		kind, text string
		token      string
		is         error
		want       string
	}{
		{401, "GatedRepo", "Access to model is restricted", "hf_x", hub.ErrAccess, "gated: accept its terms at http://"},
		{403, "GatedRepo", "", "", hub.ErrAccess, "set HF_TOKEN to a token of that account"},
		{401, "RepoNotFound", "", "", hub.ErrNotFound, "no such repository, or it is private (no token was sent: HF_TOKEN)"},
		{401, "", "Invalid credentials", "hf_x", hub.ErrAccess, "the token is not accepted (401): Invalid credentials"},
		{403, "", "forbidden", "hf_x", hub.ErrAccess, "access denied (403): forbidden"},
		{404, "RevisionNotFound", "Invalid rev id: main", "", hub.ErrNotFound, "not found: Invalid rev id: main"},
		{418, "", "teapot", "", hub.ErrNetwork, "answers 418"},
	} {
		s := newServer(t)
		s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
			hubtest.Refuse(w, c.code, c.kind, c.text)
			return true
		}
		_, err := pull(t, s.client(t, func(h *hub.Config) { h.Token = c.token }), large)
		assert.ErrorIs(t, err, c.is, c.want)
		assert.ErrorContains(t, err, c.want)
		assert.ErrorContains(t, err, hubtest.Repo)
		assert.Len(t, s.Requests(), 1, "no use in trying again")
	}
	s := newServer(t)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, _ bool) bool {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error":"Please \"log in\"\n"}`)
		return true
	}
	_, err := pull(t, s.client(t, nil), large)
	assert.ErrorContains(t, err, `access denied (403): Please "log in"`)
}

// TestGatedFile: the listing of a gated repository is public, its files are not.
func TestGatedFile(t *testing.T) {
	s := newServer(t)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, _ bool) bool {
		if r.Method == http.MethodHead {
			hubtest.Refuse(w, http.StatusUnauthorized, "GatedRepo", "restricted")
		}
		return r.Method == http.MethodHead
	}
	_, err := pull(t, s.client(t, nil), large)
	assert.ErrorIs(t, err, hub.ErrAccess)
	assert.ErrorContains(t, err, hubtest.Repo+"/"+large+": gated")
}

// TestNonsense: answers that are not those of a hub.
func TestNonsense(t *testing.T) {
	for _, body := range []string{"<html>", "{}", `{"sha":"main"}`, `{"sha":"../../../../../../../../../../../etc/xx"}`} {
		s := newServer(t)
		s.Intercept = func(w http.ResponseWriter, r *http.Request, _ bool) bool {
			_, _ = io.WriteString(w, body)
			return true
		}
		_, err := pull(t, s.client(t, nil), large)
		assert.ErrorIs(t, err, hub.ErrNetwork, body)
	}
	for _, tag := range []string{"", "../../x", "..", "a/b", ".hidden", "x.incomplete", strings.Repeat("a", 200)} {
		s, dir := newServer(t), t.TempDir()
		s.Intercept = func(w http.ResponseWriter, r *http.Request, _ bool) bool {
			if r.Method == http.MethodHead {
				w.Header().Set("X-Linked-Etag", tag)
				w.Header().Set("X-Linked-Size", "3")
			}
			return r.Method == http.MethodHead
		}
		_, err := pull(t, s.client(t, func(c *hub.Config) { c.CacheDir = dir }), large)
		assert.ErrorIs(t, err, hub.ErrNetwork, tag)
		assert.ErrorContains(t, err, "no hash")
	}
}

// TestTraversal: a repository whose names lead out of the cache is refused.
func TestTraversal(t *testing.T) {
	for _, name := range []string{"../evil.gguf", "a/../../evil", "/etc/evil", `..\evil`, `c:\evil`, "a//b", "./a", "", "a/", "x\x00y", "c:evil"} {
		s := newServer(t)
		s.Files[name] = []byte("evil")
		_, err := pull(t, s.client(t, nil), name)
		assert.ErrorIs(t, err, hub.ErrInvalid, name)
		assert.ErrorContains(t, err, "leads out of its folder")
	}
	s := newServer(t)
	c := s.client(t, nil)
	l, err := c.List(context.Background(), ref)
	require.NoError(t, err)
	l.Files = append(l.Files, "../evil")
	_, err = c.Pull(context.Background(), l, []string{"../evil"})
	assert.ErrorIs(t, err, hub.ErrNotFound)
}

// TestRedirects: renamed repositories are followed, with the token; loops and downgrades are not.
func TestRedirects(t *testing.T) {
	s := newServer(t)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		if old := strings.Replace(r.URL.Path, "someone/old", hubtest.Repo, 1); old != r.URL.Path {
			assert.NotEmpty(t, r.Header.Get("Authorization"))
			w.Header().Set("Location", old)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}
		return false
	}
	c := s.client(t, nil)
	l, err := c.List(context.Background(), hub.Ref{Repo: "someone/old", Revision: "main"})
	require.NoError(t, err)
	snap, err := c.Pull(context.Background(), l, []string{large, small})
	require.NoError(t, err)
	s.holds(t, snap, large)
	s.holds(t, snap, small)

	for location, want := range map[string]string{"/again": "more than 10 redirects", "ftp://host/x": "which is no address", "http://": "which is no address"} {
		s := newServer(t)
		s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
			return true
		}
		_, err := pull(t, s.client(t, nil), large)
		assert.ErrorContains(t, err, want)
	}
}

// TestTokenStaysWithTheHub: not another port, host or a mirror gets it, wherever a redirect points.
func TestTokenStaysWithTheHub(t *testing.T) {
	s := newServer(t)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		if !cdn {
			w.Header().Set("Location", s.CDN.URL+"/elsewhere"+r.URL.Path)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/elsewhere")
		switch {
		case strings.HasPrefix(r.URL.Path, "/api"):
			s.Info(w, "main")
		case strings.HasPrefix(r.URL.Path, "/"+hubtest.Repo):
			w.Header().Set("X-Repo-Commit", s.Commit)
			w.Header().Set("ETag", hubtest.ETag(large, s.Files[large]))
			_, _ = w.Write(s.Files[large])
		}
		return true
	}
	snap, err := pull(t, s.client(t, nil), large)
	require.NoError(t, err)
	s.holds(t, snap, large)
	assert.False(t, s.Leaked())
	assert.Positive(t, s.Count("GET cdn"))
}

// TestConcurrentPulls: many at once fetch one file once.
func TestConcurrentPulls(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	var all sync.WaitGroup
	for range 6 {
		c := s.client(t, func(c *hub.Config) { c.CacheDir = dir })
		all.Go(func() {
			snap, err := pull(t, c, large)
			if assert.NoError(t, err) {
				assert.FileExists(t, snap.Path(large))
			}
		})
	}
	all.Wait()
	assert.Equal(t, 1, s.Count("GET cdn"))
}

// TestCancel: a pull ends with its context, and what came is kept.
func TestCancel(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		if cdn {
			w.Header().Set("Content-Length", "300000")
			_, _ = w.Write(s.Files[large][:10_000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
		return cdn
	}
	c := s.client(t, func(c *hub.Config) {
		c.CacheDir = dir
		c.Progress = func(p hub.Progress) {
			if p.Done == 10_000 {
				cancel()
			}
		}
	})
	l, err := c.List(ctx, ref)
	require.NoError(t, err)
	_, err = c.Pull(ctx, l, []string{large})
	assert.ErrorIs(t, err, context.Canceled)
	info, err := os.Stat(cacheOf(dir).blob(hubtest.ETag(large, s.Files[large])) + ".incomplete")
	require.NoError(t, err)
	assert.Equal(t, int64(10_000), info.Size())
}

// TestStall: a connection over which nothing comes any more is given up and another one goes on.
func TestStall(t *testing.T) {
	s := newServer(t)
	var tries atomic.Int32
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		if !cdn || tries.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Length", "300000")
		_, _ = w.Write(s.Files[large][:10_000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	snap, err := pull(t, s.client(t, func(c *hub.Config) { c.Timeout = time.Second }), large)
	require.NoError(t, err)
	s.holds(t, snap, large)
	assert.True(t, s.Has("GET cdn /blob/"+large+" bytes=10000-"), s.Requests())
}

func TestRevisions(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	c := s.client(t, func(c *hub.Config) { c.CacheDir = dir })
	for _, revision := range []string{"v1", hubtest.Commit} {
		l, err := c.List(context.Background(), hub.Ref{Repo: hubtest.Repo, Revision: revision})
		require.NoError(t, err)
		assert.Equal(t, hubtest.Commit, l.Commit)
		_, err = c.Pull(context.Background(), l, []string{small})
		require.NoError(t, err)
	}
	assert.FileExists(t, filepath.Join(string(cacheOf(dir)), "refs", "v1"))
	assert.NoFileExists(t, filepath.Join(string(cacheOf(dir)), "refs", hubtest.Commit))
	_, err := c.List(context.Background(), hub.Ref{Repo: hubtest.Repo, Revision: "v9"})
	assert.ErrorIs(t, err, hub.ErrNotFound)
	assert.ErrorContains(t, err, hubtest.Repo+"@v9: not found")
}

// TestNewCommit: files that did not change are not fetched again.
func TestNewCommit(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	c := s.client(t, func(c *hub.Config) { c.CacheDir = dir })
	_, err := pull(t, c, large, small)
	require.NoError(t, err)
	s.Commit = strings.Repeat("b", 40)
	s.Files[small] = []byte("changed")
	snap, err := pull(t, c, large, small)
	require.NoError(t, err)
	s.holds(t, snap, small)
	s.holds(t, snap, large)
	assert.Equal(t, 1, s.Count("GET cdn"))
}

// TestDanglingLink: a snapshot's link whose blob was deleted is mended.
func TestDanglingLink(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	c := s.client(t, func(c *hub.Config) { c.CacheDir = dir })
	_, err := pull(t, c, large)
	require.NoError(t, err)
	require.NoError(t, os.Remove(cacheOf(dir).blob(hubtest.ETag(large, s.Files[large]))))
	snap, err := pull(t, c, large)
	require.NoError(t, err)
	s.holds(t, snap, large)
}

// TestNoSpace: what cannot fit is not begun.
func TestNoSpace(t *testing.T) {
	s := newServer(t)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, _ bool) bool {
		if r.Method == http.MethodHead {
			w.Header().Set("X-Linked-Etag", strings.Repeat("a", 64))
			w.Header().Set("X-Linked-Size", "4611686018427387904")
		}
		return r.Method == http.MethodHead
	}
	_, err := pull(t, s.client(t, nil), large)
	assert.ErrorIs(t, err, hub.ErrDisk)
	assert.ErrorContains(t, err, large+": needs 4611686018.43 GB more")
	assert.Zero(t, s.Count("GET cdn"))
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []hub.Config{
		{Endpoint: "huggingface.co", CacheDir: "x"},
		{Endpoint: "ftp://host", CacheDir: "x"},
		{Endpoint: "http://", CacheDir: "x"},
		{Endpoint: hub.DefaultEndpoint},
		{Endpoint: hub.DefaultEndpoint, CacheDir: "x", Token: "a b"},
		{Endpoint: hub.DefaultEndpoint, CacheDir: "x", Token: "a\r\nX-Evil: 1"},
	} {
		_, err := hub.New(c)
		assert.ErrorIs(t, err, hub.ErrInvalid, "%+v", c)
		if c.Token != "" {
			assert.NotContains(t, err.Error(), c.Token)
		}
	}
}

func TestFromEnv(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "token"), []byte(" hf_file\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, "other"), []byte("hf_other"), 0o600))
	user := t.TempDir()
	t.Setenv("HOME", user)
	t.Setenv("USERPROFILE", user) // Windows
	from := func(env map[string]string) hub.Config { return hub.FromEnv(func(k string) string { return env[k] }) }

	c := from(map[string]string{"HF_HOME": home})
	assert.Equal(t, hub.Config{Endpoint: hub.DefaultEndpoint, CacheDir: filepath.Join(home, "hub"), Token: "hf_file"}, c)
	assert.Equal(t, "hf_env", from(map[string]string{"HF_HOME": home, "HF_TOKEN": "hf_env\n"}).Token)
	assert.Equal(t, "hf_old", from(map[string]string{"HF_HOME": home, "HUGGING_FACE_HUB_TOKEN": "hf_old"}).Token)
	assert.Equal(t, "hf_other", from(map[string]string{"HF_HOME": home, "HF_TOKEN_PATH": filepath.Join(home, "other")}).Token)
	assert.Empty(t, from(map[string]string{"HF_HOME": home, "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}).Token)
	assert.Equal(t, "/cache", from(map[string]string{"HF_HUB_CACHE": "/cache", "HF_HOME": home}).CacheDir)
	assert.Equal(t, "/old", from(map[string]string{"HUGGINGFACE_HUB_CACHE": "/old"}).CacheDir)
	assert.Equal(t, filepath.Join(user, "m", "x", "$y"), from(map[string]string{"HF_HUB_CACHE": "~/m/$SUB/$y", "SUB": "x"}).CacheDir)
	assert.Equal(t, filepath.Join("/xdg", "huggingface", "hub"), from(map[string]string{"XDG_CACHE_HOME": "/xdg"}).CacheDir)
	assert.Equal(t, filepath.Join(user, ".cache", "huggingface", "hub"), from(nil).CacheDir)
	assert.Equal(t, "https://mirror", from(map[string]string{"HF_ENDPOINT": "https://mirror"}).Endpoint)
	assert.Equal(t, 3*time.Second, from(map[string]string{"HF_HUB_DOWNLOAD_TIMEOUT": "3"}).Timeout)
	for v, want := range map[string]bool{"1": true, "yes": true, "TRUE": true, "on": true, "0": false, "": false, "no": false} {
		assert.Equal(t, want, from(map[string]string{"HF_HUB_OFFLINE": v}).Offline, v)
		assert.Equal(t, want, from(map[string]string{"TRANSFORMERS_OFFLINE": v}).Offline, v)
	}
}

func TestProxy(t *testing.T) {
	s := newServer(t)
	c := s.client(t, func(c *hub.Config) {
		c.Endpoint = "http://hub.invalid"
		c.Transport = &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Host == "hub.invalid" {
				return url.Parse(s.URL)
			}
			return nil, nil
		}}
	})
	snap, err := pull(t, c, large)
	require.NoError(t, err)
	s.holds(t, snap, large)
}

// TestWithoutANetwork: a name that nobody knows is not asked for again and again.
func TestWithoutANetwork(t *testing.T) {
	var log bytes.Buffer
	c, err := hub.New(hub.Config{Endpoint: "http://hub.invalid", CacheDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	_, err = c.List(t.Context(), hub.Ref{Repo: "org/model", Revision: hub.MainRevision})
	require.Error(t, err)
	var dns *net.DNSError
	if !errors.As(err, &dns) || !dns.IsNotFound {
		t.Skipf("the resolver is not to be had: %v", err)
	}
	assert.ErrorContains(t, err, "HF_ENDPOINT")
	assert.NotContains(t, log.String(), "trying again")
}
