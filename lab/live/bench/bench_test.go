package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/watch"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// watched is a bench with one Redis, a real process, and an instance in this process that counts views in its memory. Nobody watches it.
func watched(t *testing.T) *Bench {
	t.Helper()
	var counter atomic.Int64
	instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			counter.Store(0)
		case http.MethodPost:
			counter.Add(1)
		}
		fmt.Fprintf(w, `{"instance":"instance-1","value":%d}`, counter.Load())
	}))
	t.Cleanup(instance.Close)
	stack := testenv.Stack(t)
	start := func(ctx context.Context, _ func(string)) (r burst.Running, err error) {
		if r.Redis, err = stack.ProxiedTopology(ctx, "single", false); err != nil {
			return r, err
		}
		process := r.Redis.Nodes[0].Server.(*servers.Process) // in its place: the instance is in this process
		r.URL, r.Instances = instance.URL, []*servers.Instance{{Process: process, Name: "instance-1", URL: instance.URL}}
		return r, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	b, ended := New(ctx.Done(), start, true, func() {}), make(chan struct{})
	go func() {
		defer close(ended)
		b.Watch(ctx, func() bool { return false })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return b
}

// send sends a load of v3 until a view is confirmed, and returns what waits for its end.
func send(t *testing.T, b *Bench) (wait func() *Load) {
	t.Helper()
	load, err := b.NewLoad("v3", 1, 50)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Send(testenv.Context(t), load, func(string) {})
	}()
	testenv.Eventually(t, "a view is confirmed", func() bool {
		l := b.Load(0)
		return l != nil && !l.Ended && l.Load == load && l.Confirmed > 0
	})
	return func() *Load { <-ended; return b.Load(0) }
}

// A load in which servers have changed is not judged, also when it is stopped while a fault is under way. The next load is judged.
func TestALoadWithAFaultIsNotJudged(t *testing.T) {
	t.Parallel()
	b := watched(t)
	wait := send(t, b)
	for _, what := range []string{watch.Pause, watch.Resume} {
		if done, err := b.Break(t.Context(), "redis-1", what); err != nil || done.Proof == "" {
			t.Fatal(what, done, err)
		}
	}
	held, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = b.inTurn(context.Background(), func(context.Context) error { close(held); <-release; return nil })
	}()
	<-held
	if !b.Stop() {
		t.Error("no load is sent")
	}
	close(release)
	l := wait()
	var changes []string
	for _, c := range l.Changes {
		changes = append(changes, c.What)
	}
	if l.Err != nil || l.Judged() || !slices.Equal(changes, []string{"pause redis-1", "resume redis-1"}) || len(l.Views.Writes) == 0 {
		t.Errorf("it ends with %v, and %q have changed", l.Err, changes)
	}
	wait = send(t, b)
	b.Stop()
	if l = wait(); l.Err != nil || !l.Judged() || l.Verdict != lab.AsExpected {
		t.Errorf("the next one ends with %v: %+v", l.Err, l.Verdict)
	}
}

// During a load the servers are watched also while nobody looks: the plot needs the time of each change.
func TestServersAreWatchedDuringALoad(t *testing.T) {
	t.Parallel()
	b := watched(t)
	wait := send(t, b)
	b.Instances().Redis.Nodes[0].Kill()
	testenv.Eventually(t, "the end is seen", func() bool {
		v := b.View()
		return v.Picture != nil && v.Redis[0].State == watch.Ended
	})
	b.Stop()
	wait()
}

// A bench whose servers are of another program breaks nothing, and sends no load.
func TestABenchWithoutServers(t *testing.T) {
	t.Parallel()
	b := New(t.Context().Done(), nil, true, func() {})
	if _, err := b.NewLoad("v3", 1, 0); !errors.Is(err, ErrNoInstances) || b.Sees() || b.Stop() {
		t.Errorf("a load: %v", err)
	}
}
