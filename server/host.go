package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// anyHost among the allowed hosts allows all.
const anyHost = "*"

// hosts are the names by which the server may be addressed, beside those that no page of another can have: of this
// machine, and the address itself. A web page whose name is made to lead here (DNS rebinding) is of the server's own
// origin to a browser, and only the Host header tells.
type hosts struct {
	names []string // in lower case
	any   bool
}

// dnsName is what a Host header can have for a name; one of other letters comes in its ASCII form (xn--…).
var dnsName = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// newHosts checks the names; none is any.
func newHosts(allowed []string) (*hosts, error) {
	h := &hosts{any: len(allowed) == 0 || slices.Contains(allowed, anyHost)}
	for _, name := range allowed {
		clean := strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
		if _, err := netip.ParseAddr(clean); err != nil && name != anyHost && !dnsName.MatchString(clean) {
			return nil, fmt.Errorf("allowed host: %q is neither a name nor an address; scheme and port do not belong to it", name)
		}
		h.names = append(h.names, clean)
	}
	return h, nil
}

// check refuses a request that is for somebody else. Who sends no name at all (HTTP/1.0) is no browser.
func (h *hosts) check(r *http.Request) error {
	name := hostName(r.Host)
	if h.any || r.Host == "" || isLocalName(name) || slices.Contains(h.names, name) || isOwnAddress(r, name) {
		return nil
	}
	return &apiError{status: http.StatusForbidden, kind: invalidRequest, code: "host_not_allowed",
		message: fmt.Sprintf("this server does not answer to the name %q; --allowed-host lets it", name)}
}

// hostName is a Host header without its port, in the form in which names are compared.
func hostName(host string) string {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), ".")
}

// isLocalName tells whether a name means this machine to every client.
func isLocalName(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// isOwnAddress tells whether a request is for the very address that its connection came in on.
func isOwnAddress(r *http.Request, name string) bool {
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	own, err := netip.ParseAddrPort(local.String())
	return err == nil && own.Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}
