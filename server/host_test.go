package server_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libqwen/libqwen/server"
)

// addressed sends a request for a host to the server.
func (r *rig) addressed(method, path, host string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, nil)
	require.NoError(r.t, err)
	req.Host = host
	return r.send(req)
}

// A page whose name was made to lead to this machine is of the same origin to its browser: only Host gives it away.
func TestHosts(t *testing.T) {
	e := &fake{speakers: []string{"vivian"}}
	r := start(t, e, func(o *server.Options) { o.AllowedHosts = []string{"TTS.lan", "[fd00::7]", "192.0.2.7"} })
	for _, host := range []string{"localhost", "localhost:8080", "LOCALHOST.", "a.b.localhost:1", "127.0.0.1", "127.9.8.7:80", "[::1]:8080", "[::1]",
		"[::ffff:127.0.0.1]:80", "tts.lan", "tts.lan:443", "TTS.LAN.:80", "[fd00::7]:8080", "192.0.2.7"} {
		assert.Equal(t, 200, r.addressed("GET", "/v1/audio/voices", host).status, host)
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "notlocalhost", "127.0.0.1.evil.example",
		"tts.lan.evil.example", "x.tts.lan", "192.0.2.8", "[fd00::8]", "128.0.0.1", "2130706433", "0x7f.1", "0.0.0.0", "localhost:80:80", "::evil", ".", ":80"} {
		for _, place := range []string{"/v1/audio/voices", "/v1/models", "/metrics", "/health", "/", "/openapi.json", "/nowhere"} {
			message := r.addressed("GET", place, host).wants(t, 403, "", "host_not_allowed")
			assert.Contains(t, message, "--allowed-host", host)
		}
		r.addressed("DELETE", "/v1/audio/voices/vivian", host).wants(t, 403, "", "host_not_allowed")
	}

	for _, allowed := range [][]string{nil, {"*"}, {"tts.lan", "*"}} {
		r := start(t, e, func(o *server.Options) { o.AllowedHosts = allowed })
		assert.Equal(t, 200, r.addressed("GET", "/health", "evil.example").status)
	}
	for _, bad := range []string{"", " ", "https://tts.lan", "tts.lan:80", "tts.lan/", "a b", "a@b", "*.lan", "ü.lan", ".lan"} {
		_, err := server.New(server.Options{AllowedHosts: []string{bad}})
		assert.ErrorContains(t, err, "allowed host", bad)
	}
}

// The address that a connection came in on is always meant.
func TestTheOwnAddressIsAHost(t *testing.T) {
	srv, err := server.New(server.Options{AllowedHosts: []string{"tts.lan"}})
	require.NoError(t, err)
	ask := func(local, host string) int {
		address := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(local))
		req := httptest.NewRequest("GET", "http://"+host+"/openapi.json", nil)
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, address)))
		return w.Code
	}
	assert.Equal(t, 200, ask("192.0.2.7:8080", "192.0.2.7:8080"))
	assert.Equal(t, 200, ask("[::ffff:192.0.2.7]:8080", "192.0.2.7"))
	assert.Equal(t, 200, ask("[fe80::1%eth0]:8080", "[fe80::1]:8080"))
	assert.Equal(t, 403, ask("192.0.2.7:8080", "192.0.2.8:8080"))
}
