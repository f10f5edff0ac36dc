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
	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/versions"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// instance is a server over fakes.
type instance struct {
	*httptest.Server
	t       testing.TB
	views   *views
	orders  *orders
	cohort  *lockstrategy.Cohort // of v2
	metrics *handlers.Metrics
	log     *lines
	base    context.Context // of every request, if set

	versions []handlers.Version
}

// parts makes what an instance is made of, with all versions. v2 has a real cohort, v3 issues the fencing token 42 × 256; a test sets the
// fakes' failures.
func parts(t testing.TB) (*instance, handlers.Config) {
	s := &instance{t: t, views: &views{}, orders: &orders{}, metrics: handlers.NewMetrics(), log: &lines{}}
	cohort, err := lockstrategy.NewCohort(lockstrategy.None{}, lockstrategy.HandOff{})
	if err != nil {
		t.Fatal(err)
	}
	s.cohort = cohort
	s.metrics.Queue("v2", s.cohort.Waiting)
	return s, handlers.Config{
		Instance: "8080", Topology: "single", Views: s.views, Orders: s.orders, Metrics: s.metrics,
		Wait: longestWait, Log: slog.New(slog.NewTextHandler(s.log, nil)),
		Versions: []handlers.Version{
			version("v0", nil),
			version("v1", &lockstrategy.Guard{Strategy: lockstrategy.None{}, Observer: s.metrics.Lock("v1")}),
			version("v2", &lockstrategy.Guard{Strategy: s.cohort, Observer: s.metrics.Lock("v2")}),
			version("v3", guarded(lock{number: 42})),
			version("v4", guarded(lock{})),
		},
	}
}

// versionNames are those of the instance, as JSON has them.
var versionNames = []any{"v0", "v1", "v2", "v3", "v4"}

// version is an entry of the table with a lock; nil: without.
func version(name string, lock *lockstrategy.Guard) handlers.Version {
	v, _ := versions.Find(name)
	return handlers.Version{Version: v, Lock: lock}
}

// longestWait is the instance's. No test waits for so long.
const longestWait = time.Minute

// guarded is a fake as the lock of a version.
func guarded(s lockstrategy.Strategy) *lockstrategy.Guard { return &lockstrategy.Guard{Strategy: s} }

// serve starts an instance that ends with the test.
func serve(t testing.TB, changes ...func(*instance, *handlers.Config)) *instance {
	t.Helper()
	s, cfg := parts(t)
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

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// get asks with GET.
func (s *instance) get(path string) answer { s.t.Helper(); return s.ask(http.MethodGet, path, "") }

// ask sends a request; headers are lines as in curl's -H.
func (s *instance) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	var sent io.Reader
	if body != "" {
		sent = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(testenv.Context(s.t), method, s.URL+path, sent)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Add(name, value)
	}
	return s.send(request)
}

func (s *instance) send(request *http.Request) answer {
	s.t.Helper()
	response, err := s.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// json returns the answer's fields. It fails unless the answer says that it is JSON, and is.
func (a answer) json(t testing.TB) map[string]any {
	t.Helper()
	if kind := a.header.Get("Content-Type"); kind != "application/json; charset=utf-8" {
		t.Errorf("Content-Type is %q, the body %q", kind, a.body)
	}
	if strings.TrimSpace(a.body)+"\n" != a.body { // for a terminal
		t.Errorf("it is not one line with its end: %q", a.body)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(a.body), &fields); err != nil {
		t.Fatalf("%v: %q", err, a.body)
	}
	return fields
}

// is fails unless the answer has the status and exactly these fields.
func (a answer) is(t testing.TB, status int, want map[string]any) {
	t.Helper()
	if got := a.json(t); a.status != status || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d %v\nwant %d %v", a.status, got, status, want)
	}
}

// fails fails unless the answer is an error with the status whose sentence, in one line, has the words.
func (a answer) fails(t testing.TB, status int, words ...string) {
	t.Helper()
	fields := a.json(t)
	sentence, _ := fields["error"].(string)
	if a.status != status || sentence == "" || strings.ContainsAny(sentence, "\r\n") {
		t.Errorf("got %d %q, want %d and one line", a.status, sentence, status)
	}
	for _, word := range words {
		if !strings.Contains(sentence, word) {
			t.Errorf("%q does not say %q", sentence, word)
		}
	}
	delete(fields, "versions")
	if status == http.StatusTooManyRequests { // a refusal names its instance
		delete(fields, "instance")
	}
	if len(fields) != 1 {
		t.Errorf("an error has the fields %v", fields)
	}
}

// with returns fields with more of them.
func with(fields map[string]any, name string, value any) map[string]any {
	fields = maps.Clone(fields)
	fields[name] = value
	return fields
}

// lock grants immediately, with a fencing token of its number × 256, or fails.
type lock struct {
	number uint64
	err    error
}

func (l lock) Acquire(ctx context.Context, _ string, _ ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	if l.err != nil {
		return nil, l.err
	}
	return lockstrategy.NewSessions().Begin(ctx, lockstrategy.Request{}, lockstrategy.Grant{Number: l.number})
}

// Durations that every fake reports, as answers have them.
const (
	waited, waitedMS = 1500 * time.Microsecond, 1.5
	held, heldMS     = 250 * time.Microsecond, 0.25
)

// lines is a log.
type lines struct {
	mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	defer l.lock()()
	return l.Buffer.Write(p)
}

func (l *lines) String() string {
	defer l.lock()()
	return l.Buffer.String()
}
