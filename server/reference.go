package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/libqwen/libqwen/core/audio"
)

// references opens what a request names as ref_audio. Data in the request itself is always taken; files and addresses
// only from where the operator allows: a client must not make the server read or call what it cannot itself.
type references struct {
	root   *os.Root // nil: no files
	urls   []*url.URL
	most   int64 // bytes
	client *http.Client
}

// newReferences checks what is allowed.
func newReferences(dir string, urls []string, most int64) (*references, error) {
	r := &references{most: most}
	if dir != "" {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("folder of references: %w", err)
		}
		r.root = root
	}
	for _, s := range urls {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("address of references: %q is no http:// or https:// address that others can start with", s)
		}
		r.urls = append(r.urls, u)
	}
	r.client = &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 5 || !r.allowed(req.URL) {
			return errors.New("it leads to an address that is not allowed")
		}
		return nil
	}}
	return r, nil
}

func (r *references) close() {
	if r.root != nil {
		r.root.Close()
	}
}

// open returns the bytes of a recording: a data: URL, plain base64, or what may be allowed.
func (r *references) open(ctx context.Context, ref string) ([]byte, error) {
	scheme, rest, hasScheme := strings.Cut(ref, ":")
	switch scheme = strings.ToLower(scheme); {
	case hasScheme && scheme == "data":
		_, data, ok := strings.Cut(rest, ";base64,")
		if !ok {
			return nil, refuse("ref_audio", "invalid_value", "ref_audio: a data: URL must be in base64")
		}
		return decodeBase64("ref_audio", data)
	case hasScheme && (scheme == "http" || scheme == "https"):
		return r.fetch(ctx, ref)
	case hasScheme && scheme == "file":
		return r.read(strings.TrimPrefix(rest, "//"))
	}
	if len(ref) >= leastRecording {
		if data, err := decodeBase64("ref_audio", ref); err == nil {
			return data, nil
		}
	}
	return r.read(ref)
}

// leastRecording is the length of a text from which on it may be a recording in base64: names of files can look like that.
const leastRecording = 256

// decodeBase64 takes the common alphabet and that of URLs, with and without padding and line breaks.
func decodeBase64(field, text string) ([]byte, error) {
	if strings.ContainsAny(text, "-_\r\n") { // else there is no need for a copy
		text = strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(text)
	}
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, refuse(field, "invalid_value", "%s: not base64: %v", field, err)
	}
	if len(data) == 0 {
		return nil, refuse(field, "invalid_value", "%s: empty", field)
	}
	return data, nil
}

func notAllowed(what string) error {
	return refuse("ref_audio", "not_allowed", "ref_audio: %s is not allowed here: send the recording itself, in base64 or as a data: URL", what)
}

// read reads a file below the folder that is allowed; links that lead out of it are not followed.
func (r *references) read(name string) ([]byte, error) {
	if r.root == nil {
		return nil, notAllowed("a file of the server")
	}
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		if rel, err := filepath.Rel(r.root.Name(), name); err == nil {
			name = rel
		}
	}
	f, err := r.root.Open(name)
	if err != nil {
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: there is no such file in the server's folder of references")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: that is no file")
	}
	return r.readAll(f)
}

func (r *references) readAll(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, r.most+1))
	switch {
	case err != nil:
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: it cannot be read")
	case int64(len(data)) > r.most:
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: it has more than %d bytes", r.most)
	}
	return data, nil
}

// allowed tells whether an address starts with one that the operator named, at a boundary of its path.
func (r *references) allowed(u *url.URL) bool {
	clean := path.Clean(u.Path) // decoded, without . and ..
	for _, a := range r.urls {
		base := strings.TrimSuffix(a.Path, "/")
		if u.Scheme == a.Scheme && strings.EqualFold(u.Host, a.Host) && u.User == nil && (clean == base || strings.HasPrefix(clean, base+"/")) {
			return true
		}
	}
	return false
}

func (r *references) fetch(ctx context.Context, address string) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: not an address")
	}
	if !r.allowed(u) {
		return nil, notAllowed("that address")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: not an address")
	}
	res, err := r.client.Do(req)
	if err != nil {
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: it cannot be fetched")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, refuse("ref_audio", "invalid_value", "ref_audio: its server answers %s", res.Status)
	}
	return r.readAll(res.Body)
}

// mostReference is the length of the longest reference, in seconds; five to twenty are good. Each request that waits
// for its turn keeps its own.
const mostReference = 120

// decodeClip makes a reference, mono at 24 kHz, of an audio file. One is decoded at a time: a small file can hold much
// audio. The transcript, if there is one, is compared with the length of the sound.
func (s *Server) decodeClip(ctx context.Context, field string, data []byte, transcript string) (pcm []float32, warnings []string, err error) {
	select {
	case s.decoding <- struct{}{}:
		defer func() { <-s.decoding }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	clip, err := audio.Decode(data, "")
	if err != nil {
		return nil, nil, refuse(field, "invalid_audio", "%s: %v", field, err)
	}
	if clip.Seconds() > mostReference {
		return nil, nil, refuse(field, "invalid_audio", "%s: %.0f seconds of audio, at most %d are taken", field, clip.Seconds(), mostReference)
	}
	report := clip.Report()
	if transcript != "" {
		report.AddTranscript(transcript)
	}
	if err := report.Err(); err != nil {
		return nil, nil, refuse(field, "invalid_audio", "%s: %v", field, err)
	}
	if pcm, _, err = clip.Mono24k(); err != nil {
		return nil, nil, refuse(field, "invalid_audio", "%s: %v", field, err)
	}
	for _, w := range report.Warnings {
		warnings = append(warnings, field+": "+w)
	}
	return pcm, warnings, nil
}
