package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"locklab/handlers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/session"
	"locklab/versions"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// instance is an HTTP server over fakes.
type instance struct {
	*httptest.Server
	t       testing.TB
	views   *fakeViews
	orders  *fakeOrders
	queue   *localqueue.Queue // of v2
	metrics *handlers.Metrics
	log     *logBuffer
	base    context.Context // the parent of every request's context, if set

	versions []handlers.Version
}

// newConfig returns a Config over fakes, with v0 to v4. v2 has a real queue; v3 issues the fencing token 42 × 256.
func newConfig(t testing.TB) (*instance, handlers.Config) {
	s := &instance{t: t, views: &fakeViews{}, orders: &fakeOrders{}, metrics: handlers.NewMetrics(), log: &logBuffer{}}
	queue, err := localqueue.New(lockstrategy.None{}, localqueue.HandOff{})
	if err != nil {
		t.Fatal(err)
	}
	s.queue = queue
	s.metrics.AddQueue("v2", s.queue.Waiting)
	return s, handlers.Config{
		Instance: "8080", Topology: "single", Views: s.views, Orders: s.orders, Metrics: s.metrics,
		Wait: maxWait, Log: slog.New(slog.NewTextHandler(s.log, nil)),
		Versions: []handlers.Version{
			newVersion("v0", nil),
			newVersion("v1", &lockstrategy.Guard{Strategy: lockstrategy.None{}, Observer: s.metrics.LockObserver("v1")}),
			newVersion("v2", &lockstrategy.Guard{Strategy: s.queue, Observer: s.metrics.LockObserver("v2")}),
			newVersion("v3", guard(fakeLock{number: 42})),
			newVersion("v4", guard(fakeLock{})),
		},
	}
}

// versionNames are the names of the versions in newConfig, as decoded from JSON.
var versionNames = []any{"v0", "v1", "v2", "v3", "v4"}

// newVersion returns a version of the table with a lock, or without if lock is nil.
func newVersion(name string, lock *lockstrategy.Guard) handlers.Version {
	v, _ := versions.Find(name)
	return handlers.Version{Version: v, Lock: lock}
}

// maxWait is the instance's longest wait. No test waits that long.
const maxWait = time.Minute

// guard returns a strategy as the lock of a version.
func guard(s lockstrategy.Strategy) *lockstrategy.Guard { return &lockstrategy.Guard{Strategy: s} }

// serve starts an instance that is stopped with the test.
func serve(t testing.TB, changes ...func(*instance, *handlers.Config)) *instance {
	t.Helper()
	s, cfg := newConfig(t)
	for _, change := range changes {
		change(s, &cfg)
	}
	s.versions = cfg.Versions
	s.Server = httptest.NewUnstartedServer(handlers.New(cfg))
	if s.base != nil {
		s.Config.BaseContext = func(net.Listener) context.Context { return s.base }
	}
	s.Start()
	s.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(s.Close)
	return s
}

// response is what a client got.
type response struct {
	status int
	header http.Header
	body   string
}

// get sends a GET request.
func (s *instance) get(path string) response { s.t.Helper(); return s.do(http.MethodGet, path, "") }

// do sends a request. Headers are lines as in curl's -H.
func (s *instance) do(method, path, body string, headers ...string) response {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(testenv.Context(s.t), method, s.URL+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Add(name, value)
	}
	return s.send(request)
}

// line sends "METHOD path body".
func (s *instance) line(text string, headers ...string) response {
	s.t.Helper()
	method, rest, _ := strings.Cut(text, " ")
	path, body, _ := strings.Cut(rest, " ")
	return s.do(method, path, body, headers...)
}

func (s *instance) send(request *http.Request) response {
	s.t.Helper()
	resp, err := s.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}

// json decodes the body. It fails unless the response is declared as JSON and is JSON.
func (r response) json(t testing.TB) map[string]any {
	t.Helper()
	if kind := r.header.Get("Content-Type"); kind != "application/json; charset=utf-8" {
		t.Errorf("Content-Type is %q, the body is %q", kind, r.body)
	}
	if strings.TrimSpace(r.body)+"\n" != r.body { // for a terminal
		t.Errorf("the body is not one line with a newline: %q", r.body)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(r.body), &fields); err != nil {
		t.Fatalf("%v: %q", err, r.body)
	}
	return fields
}

// wantJSON fails unless the response has the status and exactly these fields.
func (r response) wantJSON(t testing.TB, status int, want map[string]any) {
	t.Helper()
	if got := r.json(t); r.status != status || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d %v\nwant %d %v", r.status, got, status, want)
	}
}

// wantError fails unless the response is an error with the status, and its message is one line that contains the words.
func (r response) wantError(t testing.TB, status int, words ...string) {
	t.Helper()
	fields := r.json(t)
	message, _ := fields["error"].(string)
	if r.status != status || message == "" || strings.ContainsAny(message, "\r\n") {
		t.Errorf("got %d %q, want %d and one line", r.status, message, status)
	}
	for _, word := range words {
		if !strings.Contains(message, word) {
			t.Errorf("the error %q does not contain %q", message, word)
		}
	}
	delete(fields, "versions")
	if status == http.StatusTooManyRequests { // it names the instance
		delete(fields, "instance")
	}
	if len(fields) != 1 {
		t.Errorf("an error has the fields %v, want only error", fields)
	}
}

// withField returns a copy of fields with one more or another value.
func withField(fields map[string]any, name string, value any) map[string]any {
	fields = maps.Clone(fields)
	fields[name] = value
	return fields
}

// fakeLock grants immediately, with the fencing token number × 256, or fails.
type fakeLock struct {
	number uint64
	err    error
}

func (l fakeLock) Acquire(ctx context.Context, _ string, _ ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	if l.err != nil {
		return nil, l.err
	}
	owner := session.ReleaseFunc(func(context.Context) error { return nil })
	return session.NewKeeper().Keep(ctx, lockstrategy.Request{}, session.Grant{Number: l.number, Owner: owner})
}

// The durations that every fake reports.
const (
	waitTime, waitedMS = 1500 * time.Microsecond, 1.5
	holdTime, heldMS   = 250 * time.Microsecond, 0.25
)

// logBuffer collects a log.
type logBuffer struct {
	mutex
	bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	defer l.lock()()
	return l.Buffer.Write(p)
}

func (l *logBuffer) String() string {
	defer l.lock()()
	return l.Buffer.String()
}
