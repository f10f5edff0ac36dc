package claims

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/history"
	"locklab/topology"
)

const (
	users   = 666 // page views at once, as in A4
	drivers = 20  // who want one order: as in A2 ten for each of two instances

	// think is the time between reading and writing an order, in which the other instance has surely read it, too. A2
	// sleeps for a second.
	think = 100 * time.Millisecond

	// lostUpdate is the anomaly of the page views and the orders.
	lostUpdate = "lost update over instances"
)

// errNoApp says why an arm with instances did not run.
var errNoApp = errors.New("it needs instances of the app, and was not told how to start one")

// service is the app as the articles have it: some instances behind a balancer.
type service struct {
	version   string        // what is asked of it
	topology  topology.Kind // of Redis; empty: single
	instances int           // 0: two
	inTurn    bool          // one request at a time
}

func (s service) size() int {
	if s.instances == 0 {
		return 2
	}
	return s.instances
}

func (s service) send() burst.Send {
	if s.inTurn {
		return burst.Sequential
	}
	return burst.Simultaneous
}

// start starts Redis, the instances and the balancer, for one trial.
func (s service) start(ctx context.Context, t *experiments.Trial) (burst.Target, error) {
	if len(t.App) == 0 {
		return burst.Target{}, errNoApp
	}
	running, err := burst.Service{
		App: t.App, Topology: string(cmp.Or(s.topology, topology.Single)), Real: t.Real, RedLock: s.version == "v4",
		Instances: s.size(), Named: true, Think: think, Listen: "127.0.0.1:0",
	}.Start(ctx, t.Stack, nil)
	if err != nil {
		return burst.Target{}, err
	}
	t.Cleanup(func() error { http.DefaultClient.CloseIdleConnections(); return nil })
	return running.Target, nil
}

// later moves events that count from began to the history's clock.
func later(t *experiments.Trial, began time.Time, events []history.Event) []history.Event {
	offset := t.Now() - time.Since(began)
	moved := make([]history.Event, len(events))
	for i, e := range events {
		e.At += offset
		moved[i] = e
	}
	return moved
}

func record(t *experiments.Trial, events ...history.Event) {
	for _, e := range events {
		t.Record(e)
	}
}

// explained adds to each finding what its owners asked for and were told, so that its explanation begins at the beginning.
func explained(events []history.Event, found []history.Violation) []history.Violation {
	owner := make(map[int]string) // by event
	all := make(map[string][]int) // the events, by owner
	for _, e := range events {
		if e.Owner != "" {
			owner[e.Seq], all[e.Owner] = e.Owner, append(all[e.Owner], e.Seq)
		}
	}
	for i, f := range found {
		with := slices.Clone(f.Events)
		for _, seq := range f.Events {
			with = append(with, all[owner[seq]]...)
		}
		slices.Sort(with)
		if with = slices.Compact(with); len(with) <= history.Explained {
			found[i].Events = with
		}
	}
	return found
}
