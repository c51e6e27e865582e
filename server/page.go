package server

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"
)

// pageFiles are a page to try the voices on: no build, nothing from elsewhere.
//
//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page load and call nothing but this server.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; media-src blob:; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page answers GET / and GET /page/….
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	if name == "" {
		name = "index.html"
	}
	content, err := pageFiles.ReadFile(path.Join("page", name))
	if err != nil {
		return notFound("", "not_found", "there is nothing at %s", r.URL.Path)
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	return nil
}
