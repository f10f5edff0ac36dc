package live

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy allows the page's own files, and nothing of another host. No text of a run can become a script.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// guard refuses requests that another site makes a browser send. A request must name this machine as its host: a name of another site could
// be made to point here (DNS rebinding). And a request that changes something must come from the page itself, at the host that the request
// names, or at [Config.Address]: a proxy may have replaced the host.
func (s *Server) guard(next http.Handler) http.Handler {
	s.crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.problem(w, r, errOrigin) }))
	sameOrigin := s.crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isHere(r.Host) {
			plain(w, http.StatusMisdirectedRequest, fmt.Sprintf("This page has another address than %q. The program printed it when it started. "+
				"A proxy must pass on the Host header, or connect to an IP address.", r.Host))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, longestForm)
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "same-origin")
		sameOrigin.ServeHTTP(w, r)
	})
}

// longestForm is far more than any form of the page has.
const longestForm = 16 << 10

var errOrigin = refuse(http.StatusForbidden, errors.New("this form came from another site; if you reach the page through a proxy, "+
	"start the page with --address and the address that your browser shows, such as https://lab.example"))

// isHere reports whether host is this machine by a name that nobody can point elsewhere. With a class it may be any IP address, and the
// name that participants were told. The port does not matter: a proxy may have another one, or drop it.
func (s *Server) isHere(host string) bool {
	_, err := netip.ParseAddr(nameOf(host))
	return isLoopback(host) || s.class != nil && (err == nil || strings.EqualFold(nameOf(host), nameOf(hostOf(s.cfg.Address))))
}

// origin is the beginning of the page's address for a browser whose request names host. That may be a proxy's name for this machine, which
// leads nowhere elsewhere, so an address that other machines can reach takes its place.
func (s *Server) origin(host string) string {
	if named := hostOf(s.cfg.Address); named != "" && (strings.EqualFold(named, host) || !isLoopback(named)) {
		return s.cfg.Address
	}
	return "http://" + host
}

// hostOf is the host of an origin, with its port.
func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return host
}

// nameOf is a host without its port.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]")
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(nameOf(host))
	return nameOf(host) == "localhost" || err == nil && addr.IsLoopback()
}
