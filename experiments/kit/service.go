package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/history"
	"locklab/topology"
	"locklab/versions"
)

const (
	users = 666 // simultaneous page views, as in A4

	// Drivers want one order: as in A2 ten for each of two instances.
	Drivers = 20

	// Think is the time between reading and writing an order, in which the other instance has surely read it, too. A2 sleeps for
	// a second.
	Think = 100 * time.Millisecond

	// LostUpdate is the anomaly of the page views and the orders.
	LostUpdate = "lost update over instances"
)

// ErrNoApp says why a variant with instances did not run.
var ErrNoApp = errors.New("it needs instances of the app, and was not told how to start one")

// Service is the app as the articles run it: instances behind a balancer.
type Service struct {
	Version    string        // that is requested
	Topology   topology.Kind // of Redis; empty: single
	Instances  int           // 0: two
	Sequential bool          // one request at a time
	Flags      []string      // of each instance, beside those that every one needs
}

func (s Service) size() int { return cmp.Or(s.Instances, 2) }

func (s Service) send() burst.Send {
	if s.Sequential {
		return burst.Sequential
	}
	return burst.Simultaneous
}

// Start starts Redis, the instances and the balancer.
func (s Service) Start(ctx context.Context, t *experiments.Trial) burst.Target {
	if len(t.App) == 0 {
		t.Must(ErrNoApp)
	}
	running, err := burst.Service{
		App: t.App, Topology: string(cmp.Or(s.Topology, topology.Single)), Real: t.Real, Servers: versions.Needs(s.Version),
		Instances: s.size(), Named: true, Think: Think, Listen: "127.0.0.1:0", Flags: s.Flags,
	}.Start(ctx, t.Stack, nil)
	t.Must(err)
	t.Cleanup(func() error { http.DefaultClient.CloseIdleConnections(); return nil })
	return running.Target
}

// PageViews sends 666 page views to a version, and records what each wrote and the counter at the end.
func PageViews(s Service) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		b, err := burst.RunViews(ctx, s.Start(ctx, t), s.Version, users, s.send())
		t.Must(err)
		recordBurst(t, b.Began, b.Events)
		t.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: burst.CounterKey, Value: b.Final})
		t.Measure(s.Version, int64(b.Lost()), "updates lost")
		t.Measure(s.Version, int64(b.Inside()), "values that one instance wrote twice")
		t.Measure(s.Version, int64(b.Across()), "values that more than one instance wrote")
		t.Measure(s.Version, b.Took.Microseconds(), "µs from the first request to the last answer")
		t.Must(b.Sound(s.size()))
	}
}

// Grabs lets 20 drivers grab one order at a version, and records what each was told and which drivers have won.
func Grabs(s Service) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) { s.Grab(ctx, t, s.Start(ctx, t)) }
}

// Grab is one order.
func (s Service) Grab(ctx context.Context, t *experiments.Trial, target burst.Target) {
	t.Must(RecordGrabs(ctx, t, target, s.Version, s.send()).Sound(s.size()))
}

// RecordGrabs lets 20 drivers grab one order at a version of target, and records it.
func RecordGrabs(ctx context.Context, t *experiments.Trial, target burst.Target, version string, send burst.Send) burst.Grabs {
	b, err := burst.RunGrabs(ctx, target, version, Drivers, send)
	t.Must(err)
	recordBurst(t, b.Began, b.Events)
	for _, e := range b.Wins {
		t.Record(e)
	}
	return b
}

// recordBurst records events whose time counts from began, with the history's time.
func recordBurst(t *experiments.Trial, began time.Time, events []history.Event) {
	offset := t.Now() - time.Since(began)
	for _, e := range events {
		e.At += offset
		t.Record(e)
	}
}

// LostViews is the check of the page views: an update that is lost, or one that counts twice.
func LostViews(trial []history.Event) []history.Violation {
	found := history.Counter(trial)
	confirmed, all := 0, true
	for _, e := range trial {
		switch {
		case e.Kind == history.Write:
			confirmed++
		case e.Kind == history.Refuse || e.Kind == history.Note:
			all = false // it may have counted
		case e.Kind == history.Final && all && e.Value > int64(confirmed):
			found = append(found, history.Violation{
				What:   fmt.Sprintf("%d updates were confirmed, and %s is %d: some count twice", confirmed, e.Key, e.Value),
				Events: []int{e.Seq},
			})
		}
	}
	return found
}

// SupplierCalls sends more requests than the supplier's limit to instances that call it, and records which calls were made.
func SupplierCalls(algorithm string, instances int) experiments.Scenario {
	const requests = 36 * SupplierNodes
	return func(ctx context.Context, t *experiments.Trial) {
		s := Service{Instances: instances, Version: "v0", Flags: []string{
			fmt.Sprintf("--supplier-limit=%d", PerMinute.Count), "--supplier-window=" + PerMinute.Window.String(),
		}}
		b, err := burst.RunCalls(ctx, s.Start(ctx, t), algorithm, requests, burst.Simultaneous)
		t.Must(err)
		recordBurst(t, b.Began, b.Events)
		t.Measure("supplier", int64(b.Seen), "calls made")
		t.Measure("supplier", int64(len(b.Refused)), "calls refused")
		t.Measure("supplier", int64(b.Over), "calls over the limit in one window, at most")
		t.Must(b.Sound(instances))
	}
}
