package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// keys are digests of the API keys: of one length, so that comparing tells nothing of theirs.
type keys [][sha256.Size]byte

func newKeys(plain []string) keys {
	var k keys
	for _, p := range plain {
		k = append(k, sha256.Sum256([]byte(p)))
	}
	return k
}

// check wants one of the keys, if there are any. The time it takes does not depend on which one fits, or how far.
func (k keys) check(r *http.Request) error {
	if len(k) == 0 {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(given)))
	fits := 0
	for i := range k {
		fits |= subtle.ConstantTimeCompare(digest[:], k[i][:])
	}
	if fits == 1 && strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	message := "the API key is wrong"
	if given == "" {
		message = "an API key is needed: send it as \"Authorization: Bearer KEY\""
	}
	return &apiError{status: http.StatusUnauthorized, challenge: "Bearer", kind: invalidRequest, code: "invalid_api_key", message: message}
}

// crossOrigin refuses what web pages of other origins send without being asked, but for those that are allowed.
func crossOrigin(origins []string) (*http.CrossOriginProtection, error) {
	c := http.NewCrossOriginProtection()
	for _, o := range origins {
		if o == "*" {
			continue
		}
		if err := c.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("allowed origin: %w", err)
		}
	}
	return c, nil
}

func (s *Server) allows(origin string) bool {
	return slices.Contains(s.opts.CORSOrigins, "*") || slices.Contains(s.opts.CORSOrigins, origin)
}

// checkOrigin protects a server on somebody's own machine from the web pages that they visit.
func (s *Server) checkOrigin(r *http.Request) error {
	if slices.Contains(s.opts.CORSOrigins, "*") || s.cross.Check(r) == nil {
		return nil
	}
	return &apiError{status: http.StatusForbidden, kind: invalidRequest, code: "origin_not_allowed",
		message: "web pages of this origin may not call the server"}
}

// cors lets pages of the allowed origins read answers; it tells whether the request was but a question about that.
func (s *Server) cors(w http.ResponseWriter, r *http.Request) (answered bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || len(s.opts.CORSOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !s.allows(origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, X-Sample-Rate, X-Seed, X-Voice, X-Warning, X-Finish-Reason, X-Frames, Retry-After")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
