package live

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy allows the page's own files, and nothing of another host. No text of a run can become a script.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// guard refuses requests that another site makes a browser send. A request must name this machine as its host: a name of another site could
// be made to point here (DNS rebinding). And a request that changes something must come from the page itself.
func (s *Server) guard(next http.Handler) http.Handler {
	sameOrigin := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isHere(r.Host) {
			http.Error(w, "This page has another address. The program printed it when it started.", http.StatusMisdirectedRequest)
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

// isHere reports whether host, with or without a port, is this machine by a name that nobody can point elsewhere. With a class it may be
// any IP address, and the address that participants were told.
func (s *Server) isHere(host string) bool {
	if s.class != nil && (strings.EqualFold(host, s.class.Address) || strings.EqualFold(host+":80", s.class.Address)) {
		return true
	}
	_, err := netip.ParseAddr(nameOf(host))
	return isLoopback(host) || s.class != nil && err == nil
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
