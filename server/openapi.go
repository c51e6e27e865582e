package server

import (
	_ "embed" // openAPI
	"net/http"
)

//go:embed openapi.json
var openAPIDocument []byte

// openAPI answers GET /openapi.json: this API, described for programs.
func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPIDocument)
	return nil
}
