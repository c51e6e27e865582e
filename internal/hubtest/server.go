// Package hubtest is a Hugging Face-like hub for tests: the answers that clients rely on, and ways to spoil them.
package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	Repo   = "someone/Qwen3-TTS-GGUF"
	Commit = "0123456789abcdef0123456789abcdef01234567" // that the repository starts with
)

// Server is a hub of one repository, whose GGUF files a second host serves, as the real one does it.
type Server struct {
	*httptest.Server
	CDN *httptest.Server

	Commit string
	Files  map[string][]byte

	// Intercept may answer a request instead; it returns whether it did.
	Intercept func(w http.ResponseWriter, r *http.Request, cdn bool) bool

	mu       sync.Mutex
	requests []string // "METHOD hub|cdn PATH RANGE"
	leaked   bool
}

// New starts a hub with the files.
func New(t *testing.T, files map[string][]byte) *Server {
	t.Helper()
	s := &Server{Commit: Commit, Files: files}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	s.CDN = httptest.NewServer(http.HandlerFunc(s.serveCDN))
	t.Cleanup(s.Close)
	t.Cleanup(s.CDN.Close)
	return s
}

// Content is n bytes that depend on the seed.
func Content(n int, seed byte) []byte {
	b := make([]byte, n)
	x := uint32(seed)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// IsLarge tells whether a file lies with the CDN.
func IsLarge(name string) bool { return path.Ext(name) == ".gguf" }

// ETag is the hash that names a file's content: SHA-256 of large files, the hash of git of others.
func ETag(name string, data []byte) string {
	if IsLarge(name) {
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
	return hex.EncodeToString(sum[:])
}

func (s *Server) seen(r *http.Request, cdn bool) bool {
	s.mu.Lock()
	kind := "hub"
	if cdn {
		kind = "cdn"
		s.leaked = s.leaked || r.Header.Get("Authorization") != ""
	}
	s.requests = append(s.requests, strings.TrimSpace(strings.Join([]string{r.Method, kind, r.URL.Path, r.Header.Get("Range")}, " ")))
	s.mu.Unlock()
	return s.Intercept != nil
}

// Count tells how many requests begin like that.
func (s *Server) Count(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

// Has tells whether exactly that was asked.
func (s *Server) Has(request string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.requests, request)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.seen(r, false) && s.Intercept(w, r, false) {
		return
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/models/"+Repo+"/revision/"):
		s.Info(w, path.Base(r.URL.Path))
	case strings.HasPrefix(r.URL.Path, "/api/models/"+Repo+"/tree/"):
		s.tree(w)
	case strings.HasPrefix(r.URL.Path, "/"+Repo+"/resolve/"):
		_, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"+Repo+"/resolve/"), "/")
		s.resolve(w, r, name)
	default:
		Refuse(w, http.StatusUnauthorized, "RepoNotFound", "Repository not found")
	}
}

// Refuse answers as the hub does when it does not give.
func Refuse(w http.ResponseWriter, code int, kind, text string) {
	if kind != "" {
		w.Header().Set("X-Error-Code", kind)
	}
	w.Header().Set("X-Error-Message", text)
	w.WriteHeader(code)
}

// Leaked tells whether the CDN saw a token.
func (s *Server) Leaked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaked
}

// Requests are all so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) known(revision string) bool {
	return revision == "main" || revision == s.Commit || revision == "v1"
}

// Info answers which files a revision has.
func (s *Server) Info(w http.ResponseWriter, revision string) {
	if !s.known(revision) {
		Refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+revision)
		return
	}
	var siblings []map[string]any
	for name := range s.Files {
		siblings = append(siblings, map[string]any{"rfilename": name})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"id": Repo, "modelId": Repo, "sha": s.Commit, "private": false, "gated": false,
		"tags": []string{}, "downloads": 0, "likes": 0, "siblings": siblings})
}

// tree is what newer versions of huggingface_hub ask for instead.
func (s *Server) tree(w http.ResponseWriter) {
	entries := []map[string]any{}
	for name, data := range s.Files {
		e := map[string]any{"type": "file", "path": name, "size": len(data), "oid": ETag("git", data)}
		if IsLarge(name) {
			e["lfs"] = map[string]any{"oid": ETag(name, data), "size": len(data), "pointerSize": 130}
		}
		entries = append(entries, e)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(entries)
}

func (s *Server) resolve(w http.ResponseWriter, r *http.Request, name string) {
	data, ok := s.Files[name]
	w.Header().Set("X-Repo-Commit", s.Commit)
	if !ok {
		Refuse(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
		return
	}
	if !IsLarge(name) {
		w.Header().Set("ETag", `"`+ETag(name, data)+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		return
	}
	w.Header().Set("X-Linked-Etag", `"`+ETag(name, data)+`"`)
	w.Header().Set("X-Linked-Size", fmt.Sprint(len(data)))
	w.Header().Set("Location", s.CDN.URL+"/blob/"+name+"?Signature=secret")
	w.WriteHeader(http.StatusFound)
}

func (s *Server) serveCDN(w http.ResponseWriter, r *http.Request) {
	if s.seen(r, true) && s.Intercept(w, r, true) {
		return
	}
	w.Header().Set("ETag", `"of the CDN"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.Files[strings.TrimPrefix(r.URL.Path, "/blob/")]))
}
