package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Target is where requests go: the balancer before two instances.
type Target struct {
	URL        string // http://host:port
	AdminToken string // that resets ask for; empty: none
}

// request makes a request without a body for a burst. The base was parsed before, so that it
// cannot fail.
func (t Target) request(method, path string) *http.Request {
	r, err := http.NewRequest(method, t.URL+path, nil)
	if err != nil {
		panic(err)
	}
	return r
}

// call asks once and reads the JSON answer into result, unless that is nil. An answer outside 2xx
// is an error.
func (t Target) call(ctx context.Context, method, path, body string, result any) error {
	r, err := http.NewRequestWithContext(ctx, method, t.URL+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if t.AdminToken != "" {
		r.Header.Set("Authorization", "Bearer "+t.AdminToken)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode/100 != 2 {
		return &StatusError{Code: response.StatusCode, text: fmt.Sprintf("%s %s: %s: %.200s", method, path, response.Status, text)}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(text, result)
}

// StatusError is an answer outside 2xx.
type StatusError struct {
	Code int // of HTTP
	text string
}

// Error names the request and what was answered.
func (e *StatusError) Error() string { return e.text }

// Health is what an instance says of itself.
type Health struct{ Instance, Topology, Build string }

// Health asks an instance what it is. Without an error it is one of ours.
func (t Target) Health(ctx context.Context) (h Health, err error) {
	if err = t.call(ctx, http.MethodGet, "/healthz", "", &h); err == nil && h.Instance == "" {
		err = fmt.Errorf("what listens at %s is no instance of ours", t.URL)
	}
	return h, err
}
