package services

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/history"
	"locklab/lockstrategy/redlock"
	"locklab/topology"
	"locklab/versions"
)

const (
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
	Users      int           // simultaneous views; 0: 666
	Think      time.Duration // between reading and writing an order; 0: the package's Think
	Drivers    int           // who want one order; 0: 20
	Wait       string        // of each driver for the lock, as ?wait= has it; empty: as long as the instances allow
	Flags      []string      // of each instance, beside those that every one needs
}

func (s Service) size() int { return cmp.Or(s.Instances, 2) }

func (s Service) users() int { return cmp.Or(s.Users, versions.ArticleUsers) }

func (s Service) send() burst.Send {
	if s.Sequential {
		return burst.Sequential
	}
	return burst.Simultaneous
}

// Start starts Redis, the instances and the balancer.
func (s Service) Start(ctx context.Context, t *lab.Trial) burst.Target {
	return s.Run(ctx, t).Target
}

// Run is Start for a scenario that does something to the servers.
func (s Service) Run(ctx context.Context, t *lab.Trial) burst.Running {
	if len(t.App) == 0 {
		t.Must(ErrNoApp)
	}
	running, err := s.service(t).Start(ctx, t.Stack, nil)
	t.Must(err)
	t.Cleanup(func() error { http.DefaultClient.CloseIdleConnections(); return nil })
	return running
}

// service has the instances' defaults as its durations, scaled.
func (s Service) service(t *lab.Trial) burst.Service {
	return burst.Service{
		App: t.App, Topology: string(cmp.Or(s.Topology, topology.Single)), Real: t.Real, Servers: versions.RequiredServers(s.Version),
		Instances: s.size(), Named: true, Think: t.Scaled(cmp.Or(s.Think, Think)), Lease: t.Scaled(10 * time.Second), Listen: "127.0.0.1:0",
		Flags: append([]string{
			"--wait=" + t.Scaled(30*time.Second).String(), "--request=" + t.Scaled(2*time.Second).String(),
			"--node-timeout=" + t.Scaled(redlock.DefaultNodeTimeout).String(),
			"--start-timeout=" + t.Scaled(5*time.Second).String(),
		}, s.Flags...),
	}
}

// PageViews sends page views to a version, 666 by default, and records what each wrote and the counter at the end. A burst that does not
// count opens the instances' connections before. On a slow machine so many dials take longer than a request waits for one.
func PageViews(s Service) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		target := s.Start(ctx, t)
		_, err := burst.RunViews(ctx, target, "v0", s.users(), s.send())
		t.Must(err)
		s.RecordViews(ctx, t, target)
	}
}

// RecordViews sends page views to target, and records what each wrote and the counter at the end.
func (s Service) RecordViews(ctx context.Context, t *lab.Trial, target burst.Target) {
	b, err := burst.RunViews(ctx, target, s.Version, s.users(), s.send())
	t.Must(err)
	RecordBurst(t, b.Began, b.Events)
	t.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: burst.CounterKey, Value: b.Final})
	t.Measure(s.Version, int64(b.Lost()), lab.Count.Of("updates lost"))
	t.Measure(s.Version, int64(b.Inside()), lab.Count.Of("writes of a value that the same instance had written before"))
	t.Measure(s.Version, int64(b.Across()), lab.Count.Of("values that more than one instance wrote"))
	t.Measure(s.Version, b.Took.Microseconds(), lab.Microseconds.Of("from the first request to the last answer"))
	t.Must(b.Sound(s.size()))
}

// Grabs lets 20 drivers grab one order at a version, and records what each was told and which drivers have won.
func Grabs(s Service) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		t.Must(s.RecordGrabs(ctx, t, s.Start(ctx, t)).Sound(s.size()))
	}
}

// RecordGrabs lets drivers grab one order at target, and records it.
func (s Service) RecordGrabs(ctx context.Context, t *lab.Trial, target burst.Target) burst.Grabs {
	b, err := burst.RunGrabs(ctx, target, s.Version, cmp.Or(s.Drivers, Drivers), s.Wait, s.send())
	t.Must(err)
	RecordBurst(t, b.Began, b.Events)
	for _, e := range b.Wins {
		t.Record(e)
	}
	return b
}

// LockedViews completes the claim that a lock loses no page view. The control counts by INCR, and the variant without a lock proves that
// the load would lose updates.
func LockedViews(e lab.Experiment, locked ...lab.Variant) lab.Experiment {
	e.Anomaly, e.Check = LostUpdate, LostViews
	e.Variants = append([]lab.Variant{
		{Name: "INCR", Run: PageViews(Service{Version: "v0"})},
		{Name: "without a lock", Expect: lab.Sometimes, Run: PageViews(Service{Version: "v1"})},
	}, locked...)
	return e
}

// LockedGrabs completes the claim that a lock gives an order to one driver. The control grants by a conditional UPDATE, and the variant
// with the mutex proves that two drivers would win.
func LockedGrabs(e lab.Experiment, locked ...lab.Variant) lab.Experiment {
	e.Anomaly, e.Check = LostUpdate, history.Winners
	e.Variants = append([]lab.Variant{
		{Name: "conditional UPDATE", Run: Grabs(Service{Version: "v0"})},
		{Name: "process mutex", Expect: lab.Sometimes, Strategy: "v2", Run: Grabs(Service{Version: "v2"})},
	}, locked...)
	return e
}

// RecordBurst records events whose time counts from began, with the history's time. Nothing forces the interleaving of a burst.
func RecordBurst(t *lab.Trial, began time.Time, events []history.Event) {
	t.ByChance()
	offset := began.Sub(t.Began())
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

// Reply is the answer of an instance that an experiment has in its own process: JSON, or 500 with the error.
func Reply(w http.ResponseWriter, answer any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}
