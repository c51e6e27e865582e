package hub_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/hub"
	"github.com/libqwen/libqwen/internal/hubtest"
)

// TestAnswersThatNeverEnd: whatever part of an answer stops coming, or comes byte by byte, the client gives up.
func TestAnswersThatNeverEnd(t *testing.T) {
	stall := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(2 * time.Millisecond)
		}
	}
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"a listing stops": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"sha":`)
			stall(w, r)
		},
		"a listing drips": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"siblings":[`)
			drip(w, r)
		},
		"a refusal stops": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusBadGateway)
			stall(w, r)
		},
		"a refusal drips": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			drip(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
				answer(w, r)
				return true
			}
			_, err := pull(t, s.client(t, func(c *hub.Config) { c.Timeout = 20 * time.Millisecond }), large)
			assert.ErrorIs(t, err, hub.ErrNetwork)
		})
	}
}

// TestCancelWhileAListingStops: what the caller wants goes before what is waited for.
func TestCancelWhileAListingStops(t *testing.T) {
	s := newServer(t)
	ctx, cancel := context.WithCancel(context.Background())
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		_, _ = io.WriteString(w, `{"sha":`)
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
		return true
	}
	_, err := s.client(t, func(c *hub.Config) { c.Timeout = time.Hour }).List(ctx, ref)
	assert.ErrorIs(t, err, context.Canceled)
}

// TestNoSizeNoEnd: a file whose size nobody tells does not fill the disk.
func TestNoSizeNoEnd(t *testing.T) {
	s, dir := newServer(t), t.TempDir()
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		switch {
		case r.Method == http.MethodHead:
			w.Header().Set("X-Linked-Etag", strings.Repeat("a", 64))
			w.(http.Flusher).Flush() // no length
		case cdn || strings.Contains(r.URL.Path, "/resolve/"):
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<16))
			}
		default:
			return false
		}
		return true
	}
	c := s.client(t, func(c *hub.Config) { c.CacheDir = dir })
	c.SetMaxUnannounced(1 << 20)
	_, err := pull(t, c, large)
	assert.ErrorIs(t, err, hub.ErrCorrupt)
	assert.ErrorContains(t, err, "the hub tells no size")
	info, err := os.Stat(filepath.Join(string(cacheOf(dir)), "blobs", strings.Repeat("a", 64)+".incomplete"))
	require.NoError(t, err)
	assert.Zero(t, info.Size())
}

// TestUnprintableNames: names that would be commands to a terminal, or lines of their own in a list, are refused.
func TestUnprintableNames(t *testing.T) {
	for _, name := range []string{"a\nb.gguf", "\x1b]0;x\x07.gguf", "\x7f.gguf", "\u0085.gguf"} {
		s := newServer(t)
		s.Files[name] = []byte("evil")
		_, err := s.client(t, nil).List(context.Background(), ref)
		assert.ErrorIs(t, err, hub.ErrInvalid, "%q", name)
		assert.NotContains(t, err.Error(), name)
	}
}

// TestPasswordOfTheEndpoint: no message tells it.
func TestPasswordOfTheEndpoint(t *testing.T) {
	s := newServer(t)
	s.Intercept = func(w http.ResponseWriter, r *http.Request, cdn bool) bool {
		hubtest.Refuse(w, http.StatusForbidden, "GatedRepo", "no")
		return true
	}
	c := s.client(t, func(c *hub.Config) { c.Endpoint = strings.Replace(c.Endpoint, "//", "//me:hunter2@", 1) })
	_, err := c.List(context.Background(), ref)
	assert.ErrorIs(t, err, hub.ErrAccess)
	assert.NotContains(t, err.Error(), "hunter2")
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	for _, endpoint := range []string{"ftp://me:hunter2@host", "https://me:hunter2@ho st", "me:hunter2@" + u.Host} {
		_, err := hub.New(hub.Config{Endpoint: endpoint, CacheDir: "x"})
		assert.ErrorIs(t, err, hub.ErrInvalid)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}
