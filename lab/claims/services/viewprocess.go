package services

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/pview"
	"locklab/topology"
	"locklab/versions"
)

// ViewService is an instance that counts page views under the Redis lock (v3), in a process of its own. It has the app's lock and counter,
// and differs from the app in two points. It need not give its token to the counter. And as a servlet it goes on with a request whose
// client has left.
type ViewService struct {
	Name  string // of the instance
	Redis string // host:port
	Lease time.Duration
	Wait  time.Duration // for the lock

	Tokens  bool // the counter checks them; otherwise it is read by GET and written by SET, as A4 prints it
	Reports bool // it reports each view, before it answers
	Holds   bool // it answers the first view that it has counted when it is told to
}

// ViewHeader has the name of a view, in a request to an instance that reports.
const ViewHeader = "X-Request-Id"

// viewReport is a line that the process prints: its address first, and then what became of each view.
type viewReport struct {
	URL    string
	View   string
	Value  int64  // that it has written
	Failed string // why it has written nothing, or may have; empty: it has counted
}

// viewRole is the process: it gets a ViewService, prints viewReports, and ends when its input does and all requests are answered. A line
// lets it answer the view that it holds.
var viewRole = servers.Role("service of page views", func(in io.Reader, out io.Writer) int {
	lines := bufio.NewScanner(in)
	lines.Scan()
	var s ViewService
	err := json.Unmarshal(lines.Bytes(), &s)
	if err == nil {
		err = s.serve(lines, json.NewEncoder(out))
	}
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	return 0
})

// serve serves until lines end.
func (s ViewService) serve(lines *bufio.Scanner, reports *json.Encoder) error {
	opened, err := topology.Open(context.Background(), topology.Config{Kind: topology.Single, Addrs: []string{s.Redis}})
	if err != nil {
		return err
	}
	lock, err := versions.Open(versions.NameRedis, versions.Backends{Redis: opened.Master, Expiry: s.Lease})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	report := func(r viewReport) {
		mu.Lock()
		defer mu.Unlock()
		_ = reports.Encode(r) // without the lab this process ends
	}
	report(viewReport{URL: "http://" + listener.Addr().String()})
	answer := make(chan struct{}, 1)
	server := &http.Server{Handler: s.handler(opened.Master, lock, report, answer), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	for lines.Scan() {
		answer <- struct{}{}
	}
	close(answer)
	return server.Shutdown(context.Background())
}

// handler has the app's routes of the counter.
func (s ViewService) handler(
	conn redis.UniversalClient, lock lockstrategy.Strategy, report func(viewReport), answer <-chan struct{},
) http.Handler {
	counter, held := pview.NewCounter(conn, nil), make(chan struct{}, 1)
	if s.Holds {
		held <- struct{}{}
	}
	guard := pview.Locker(lockstrategy.Guard{Strategy: lock, Wait: s.Wait})
	if !s.Tokens {
		guard = withoutToken{guard}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/v3/pview", func(w http.ResponseWriter, r *http.Request) {
		view, err := counter.Increment(context.WithoutCancel(r.Context()), "v3", guard)
		if s.Reports {
			report(viewReport{View: r.Header.Get(ViewHeader), Value: view.Value, Failed: clients.Reason(err)})
		}
		if err == nil {
			select {
			case <-held:
				<-answer
			default:
			}
		}
		s.reply(w, view.Value, view.Token, err)
	})
	mux.HandleFunc("GET /pview", func(w http.ResponseWriter, r *http.Request) {
		value, err := counter.Get(r.Context())
		s.reply(w, value, 0, err)
	})
	mux.HandleFunc("PUT /pview", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Value int64 }
		err := json.NewDecoder(r.Body).Decode(&body)
		s.reply(w, body.Value, 0, errors.Join(err, counter.Set(r.Context(), body.Value)))
	})
	return mux
}

// reply answers as the app does.
func (s ViewService) reply(w http.ResponseWriter, value int64, token uint64, err error) {
	answer, status := map[string]any{"instance": s.Name, "value": value, "fence": token}, http.StatusOK
	if err != nil {
		answer, status = map[string]any{"instance": s.Name, "error": err.Error()}, http.StatusServiceUnavailable
	}
	if errors.Is(err, pview.ErrStale) {
		answer["stale"], status = true, http.StatusConflict
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// withoutToken keeps the token of a lease from what is done under the lock.
type withoutToken struct{ pview.Locker }

func (l withoutToken) Do(ctx context.Context, key string, fn func(context.Context, uint64) error) error {
	return l.Locker.Do(ctx, key, func(ctx context.Context, _ uint64) error { return fn(ctx, 0) })
}

// ViewProcess is a [ViewService] that runs.
type ViewProcess struct {
	*servers.Instance

	t        *lab.Trial
	running  *servers.Dialogue
	reports  chan struct{} // one for each view; closed when the process has ended
	reported int           // that were awaited
	ended    func()        // waits until all that it has reported is recorded
}

// Start starts the service. Each view that it reports is recorded, as a write if it has counted; the owner is the view.
func (s ViewService) Start(t *lab.Trial) *ViewProcess {
	d, err := t.Stack.Dialogue(viewRole, s.Name)
	t.Must(err)
	t.Cleanup(func() error {
		_ = d.In.Close() // it may be closed already
		return errors.Join(d.Stop(), d.Out.Close())
	})
	t.Must(json.NewEncoder(d.In).Encode(s))
	lines := bufio.NewScanner(d.Out)
	var at viewReport
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &at) != nil {
		t.Must(fmt.Errorf("%s has not told its address: %s", s.Name, strings.TrimSpace(lines.Text()+d.Log())))
	}
	p := &ViewProcess{Instance: &servers.Instance{Process: d.Process, Name: s.Name, URL: at.URL}, t: t, running: d}
	p.reports = make(chan struct{}, mostReports)
	p.ended = t.Go(func() {
		defer close(p.reports)
		for lines.Scan() {
			var view viewReport
			t.Must(json.Unmarshal(lines.Bytes(), &view))
			e := history.Event{Timeline: s.Name, Owner: view.View, Kind: history.Write, Key: pview.Key, Value: view.Value}
			if view.Failed != "" {
				e.Kind, e.Value, e.Text = history.Refuse, 0, view.Failed
			}
			t.Record(e)
			p.reports <- struct{}{}
		}
	})
	return p
}

// mostReports is more than a process reports, so that it need not wait for a reader.
const mostReports = 10_000

// Await waits until the process has reported n views since its start.
func (p *ViewProcess) Await(ctx context.Context, n int) {
	for ; p.reported < n; p.reported++ {
		select {
		case _, more := <-p.reports:
			if !more {
				p.t.Must(fmt.Errorf("%s has ended after %d views of %d", p.Name, p.reported, n))
			}
		case <-ctx.Done():
			p.t.Must(fmt.Errorf("%s has reported %d views of %d: %w", p.Name, p.reported, n, ctx.Err()))
		}
	}
}

// Answer lets the process answer the view that it holds.
func (p *ViewProcess) Answer() {
	_, err := p.running.In.WriteString("\n")
	p.t.Must(err)
}

// Kill ends the process immediately, whatever it does.
func (p *ViewProcess) Kill() { clients.KillProcess(p.t, history.Event{Timeline: p.Name}, p.running) }

// Finish waits until the process has answered the requests that it has, and has ended.
func (p *ViewProcess) Finish() {
	p.t.Must(p.running.In.Close())
	p.ended()
}

// StartTwo starts two of the service over one Redis.
func (s ViewService) StartTwo(ctx context.Context, t *lab.Trial) (both [2]*ViewProcess, redis *servers.Topology) {
	redis, err := t.Stack.Topology(ctx, string(topology.Single), t.Real)
	t.Must(err)
	s.Redis = redis.Addrs[0]
	for i := range both {
		s.Name = fmt.Sprintf("instance-%d", i+1)
		both[i] = s.Start(t)
	}
	return both, redis
}
