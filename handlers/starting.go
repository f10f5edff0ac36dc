package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
)

// Starting is the handler of an instance that may still be connecting to its servers. Until Serve is called, every request gets a 503.
type Starting struct {
	Instance string

	started atomic.Pointer[http.Handler]
}

// Serve passes later requests to handler.
func (s *Starting) Serve(handler http.Handler) { s.started.Store(&handler) }

func (s *Starting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler := s.started.Load(); handler != nil {
		(*handler).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Retry-After", retryAfter)
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(map[string]string{
		"error":    fmt.Sprintf("instance %s is starting: it is still connecting to its servers; nothing was written", s.Instance),
		"instance": s.Instance,
	})
}
