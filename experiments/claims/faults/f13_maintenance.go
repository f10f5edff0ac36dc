package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/failovers"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/pview"
	"locklab/stack"
	"locklab/topology"
)

var (
	twoMasters   = experiments.Milliseconds.Of("from the replica's promotion until the old master was a replica")
	silence      = experiments.Milliseconds.Of("without a confirmed view, at most")
	viewsCounted = experiments.Count.Of("views that were confirmed")
	lostViews    = experiments.Count.Of("confirmed views that were lost")
	unanswered   = experiments.Count.Of("requests without a usable answer")
)

// maintenance is a failover that an operator types while clients work. It calls promoted when a replica is a master of which clients are
// not told yet, and returns the new master when they are told. end waits until the old one is a replica.
type maintenance func(
	ctx context.Context, t *experiments.Trial, servers *stack.Topology, promoted func(),
) (master *stack.Node, end func())

// noFailover is for the control.
func noFailover(
	ctx context.Context, t *experiments.Trial, servers *stack.Topology, promoted func(),
) (master *stack.Node, end func()) {
	promoted()
	master, err := servers.MasterOf(ctx, pview.Key)
	t.Must(err)
	return master, func() {}
}

// typeFailover types the one command of the topology.
func typeFailover(
	ctx context.Context, t *experiments.Trial, servers *stack.Topology, promoted func(),
) (master *stack.Node, end func()) {
	f, end := promote(ctx, t, servers)
	promoted()
	await(ctx, t, f)
	return f.New, end
}

// typePause stops the writes at the old master before the failover. It makes the old master a replica by hand: while writes are paused, the
// sentinels do not.
func typePause(
	ctx context.Context, t *experiments.Trial, servers *stack.Topology, promoted func(),
) (master *stack.Node, end func()) {
	const longest = time.Minute
	old, err := servers.MasterOf(ctx, pview.Key)
	t.Must(err)
	replicas, err := servers.ReplicasOf(ctx, old)
	t.Must(err)
	typed := func(words ...any) {
		t.Must(old.WithClient(func(c *redis.Client) error { return c.Do(ctx, words...).Err() }))
		t.Note("operator", strings.TrimSpace(fmt.Sprintln(words...))+" at "+old.Name)
	}
	typed("CLIENT", "PAUSE", longest.Milliseconds(), "WRITE")
	failovers.AwaitReplication(ctx, t, old, replicas)
	f, end := promote(ctx, t, servers)
	promoted()
	await(ctx, t, f)
	host, port, err := net.SplitHostPort(f.New.AnnouncedAddr())
	t.Must(err)
	typed("REPLICAOF", host, port)
	end()
	typed("CLIENT", "UNPAUSE")
	return f.New, func() {}
}

// await waits until clients are told the new master.
func await(ctx context.Context, t *experiments.Trial, f *stack.PlannedFailover) {
	t.Must(f.Named(ctx))
	t.Note("lab", "clients are told "+f.New.Name)
}

// promote types the command, and returns when a replica is a master.
func promote(ctx context.Context, t *experiments.Trial, servers *stack.Topology) (f *stack.PlannedFailover, end func()) {
	f, err := servers.FailOver(ctx, pview.Key)
	t.Must(err)
	at := t.Now()
	role, err := f.Old.Info(ctx, "replication", "role")
	t.Must(err)
	t.Fault("operator", f.Typed, fmt.Sprintf("%s says role:master, and %s says role:%s", f.New.Name, f.Old.Name, role))
	return f, func() {
		t.Must(f.Demoted(ctx))
		t.Measure("v3", (t.Now() - at).Milliseconds(), twoMasters)
	}
}

const (
	viewers = 8   // clients that send page views without a pause
	counted = 100 // views before the failover, and after it at the new master
)

// viewsDuring lets clients send page views before a failover, during it, and after it.
func viewsDuring(kind topology.Kind, replace maintenance) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		running := services.Service{Version: "v3", Topology: kind}.Run(ctx, t)
		stop, end := make(chan struct{}), func() {}
		wait := t.Go(func() {
			defer close(stop)
			old, err := running.Redis.MasterOf(ctx, pview.Key)
			t.Must(err)
			awaitViews(ctx, t, old)
			var master *stack.Node
			master, end = replace(ctx, t, running.Redis, func() {})
			awaitViews(ctx, t, master)
		})
		b, err := burst.SustainViews(ctx, running.Target, "v3", viewers, stop)
		t.Must(err)
		services.RecordBurst(t, b.Began, b.Events)
		t.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: burst.CounterKey, Value: b.Final})
		t.Measure("v3", int64(len(b.Writes)), viewsCounted)
		t.Measure("v3", int64(b.Lost()), lostViews)
		t.Measure("v3", int64(len(b.Failed)), unanswered)
		t.Measure("v3", longestSilence(b.Events).Milliseconds(), silence)
		wait()
		end()
	}
}

// awaitViews waits until a master has counted so many views more. Clients that follow a failover use the new master a moment after they
// are told.
func awaitViews(ctx context.Context, t *experiments.Trial, master *stack.Node) {
	views := func(ctx context.Context) (n int64, err error) {
		err = master.WithClient(func(c *redis.Client) error {
			n, err = c.Get(ctx, pview.Key).Int64()
			if errors.Is(err, redis.Nil) {
				err = nil
			}
			return err
		})
		return n, err
	}
	before, err := views(ctx)
	t.Must(err)
	t.Must(master.Await(ctx, func(ctx context.Context) error {
		n, err := views(ctx)
		if err == nil && n < before+counted {
			err = fmt.Errorf("%s has %d views, and had %d", master.Name, n, before)
		}
		return err
	}))
}

// longestSilence is the longest time between two confirmed views.
func longestSilence(events []history.Event) (longest time.Duration) {
	var last time.Duration
	for _, e := range events {
		if e.Kind == history.Write {
			longest, last = max(longest, e.At-last), e.At
		}
	}
	return longest
}
