package burst

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"locklab/versions"
)

// Target is where requests go: the balancer before the instances.
type Target struct {
	URL        string // http://host:port
	AdminToken string // that a reset requires; empty: none
	ByChance   bool   // the balancer chooses instances by chance, as a Service of Kubernetes does: their parts differ
}

// requests makes n requests without a body. URL was parsed before, so that it cannot fail.
func (t Target) requests(n int, path func(i int) string) []*http.Request {
	all := make([]*http.Request, n)
	for i := range all {
		r, err := http.NewRequest(http.MethodPost, t.URL+path(i), nil)
		if err != nil {
			panic(err)
		}
		all[i] = r
	}
	return all
}

// call sends one request and reads the JSON answer into result, unless that is nil. An answer outside 2xx is a [StatusError].
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
	if text = bytes.TrimSpace(text); response.StatusCode/100 != 2 {
		return &StatusError{response.StatusCode, fmt.Sprintf("%s %s: %s%s", method, path, response.Status, firstLine(text)), text}
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(text, result)
}

// firstLine returns what a person can read of an answer, after a colon: its first line, or nothing of an HTML page.
func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	if line == "" || line[0] == '<' {
		return ""
	}
	return fmt.Sprintf(": %.200s", line)
}

// StatusError is an answer outside 2xx.
type StatusError struct {
	Code int // of HTTP
	text string
	body []byte
}

// Error names the request and its answer.
func (e *StatusError) Error() string { return e.text }

// Health is what an instance says about itself.
type Health struct {
	Instance, Topology, Build string
	Versions                  []string // that it has
	// Owners are the ids by which the locks of each version name this process as their owner, as servers.Held has it.
	Owners map[string]string
}

// Lacks says that an instance does not have a version; nil: it has, or does not tell.
func (h Health) Lacks(v versions.Version) error {
	if len(h.Versions) == 0 || slices.Contains(h.Versions, v.Name) {
		return nil
	}
	return fmt.Errorf("the instance has %s; %s needs %s", strings.Join(h.Versions, ", "), v.Name, v.Flag())
}

// CanRun is nil when an instance has all versions of a plan, or does not tell.
func (h Health) CanRun(p Plan) error {
	for _, v := range p.Chosen() {
		if err := h.Lacks(v); err != nil {
			return fmt.Errorf("%w; choose other versions", err)
		}
	}
	return nil
}

// Health asks an instance what it is. Without an error it is an instance of this app.
func (t Target) Health(ctx context.Context) (h Health, err error) {
	if err = t.call(ctx, http.MethodGet, "/healthz", "", &h); err == nil && h.Instance == "" {
		err = fmt.Errorf("%s is not an instance of this app", t.URL)
	}
	return h, err
}

// Readiness is what an instance says about its servers.
type Readiness struct {
	Instance    string
	Ready       bool
	Unreachable map[string]string // server → why
	Error       string            // of an instance that starts
}

// Ready asks an instance whether its servers answer. Without an error it is an instance of this app, ready or not.
func (t Target) Ready(ctx context.Context) (r Readiness, err error) {
	err = t.call(ctx, http.MethodGet, "/readyz", "", &r)
	if refused := (*StatusError)(nil); errors.As(err, &refused) && json.Unmarshal(refused.body, &r) == nil && r.Instance != "" {
		err = nil // it answers 503 when it is not ready
	}
	if noAnswer := (*url.Error)(nil); r.Instance == "" && !errors.As(err, &noAnswer) {
		err = errors.Join(fmt.Errorf("%s is no instance of ours", t.URL), err)
	}
	return r, err
}

// Missing names the servers that do not answer, and why.
func (r Readiness) Missing() string {
	if r.Error != "" {
		return r.Error
	}
	var all []string
	for server, why := range r.Unreachable {
		all = append(all, server+": "+why)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// Pauses of the questions after a burst.
const (
	retryEvery  = 100 * time.Millisecond
	callTimeout = 3 * time.Second
	readTimeout = 30 * time.Second // to read what is left at the end
)

// read reads until there is an answer or within is over: a burst may have ended in the middle of a failover. The error is the last one.
func (t Target) read(ctx context.Context, path string, within time.Duration, result any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return t.retry(ctx, http.MethodGet, path, result, ignored)
}

func ignored(error) {}

// retry sends a request until there is an answer or ctx ends: then the error is that of the last attempt. failed is told each error. NOT
// guaranteed: that a request with an error has done nothing.
func (t Target) retry(ctx context.Context, method, path string, result any, failed func(error)) error {
	for {
		one, cancel := context.WithTimeout(ctx, callTimeout)
		err := t.call(one, method, path, "", result)
		cancel()
		if err == nil {
			return nil
		}
		failed(err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryEvery):
		}
	}
}
