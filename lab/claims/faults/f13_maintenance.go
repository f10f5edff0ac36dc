package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/pview"
	"locklab/topology"
)

var (
	twoMasters   = lab.Milliseconds.Of("from the replica's promotion until the old master was a replica")
	silence      = lab.Milliseconds.Of("without a confirmed view, at most")
	viewsCounted = lab.Count.Of("views that were confirmed")
	lostViews    = lab.Count.Of("confirmed views that were lost")
	unanswered   = lab.Count.Of("requests without a usable answer")
)

// operator types what replaces a master, while clients work.
type operator struct {
	*lab.Trial
	servers  *servers.Topology
	master   *servers.Node
	promoted func()   // is called when a replica is a master of which clients are not told yet
	demoted  []func() // each waits until an old master is a replica
}

// maintenance is a way to replace the master. It returns when clients are told the new one.
type maintenance func(ctx context.Context, o *operator)

func newOperator(ctx context.Context, t *lab.Trial, servers *servers.Topology) *operator {
	master, err := servers.MasterOf(ctx, pview.Key)
	t.Must(err)
	return &operator{Trial: t, servers: servers, master: master, promoted: func() {}}
}

// end waits until each old master is a replica.
func (o *operator) end() {
	for _, wait := range o.demoted {
		wait()
	}
}

// noFailover is for the control.
func noFailover(_ context.Context, o *operator) { o.promoted() }

// typeFailover types the one command of the topology.
func typeFailover(ctx context.Context, o *operator) { o.failOver(ctx) }

// refuseWrites lets the old master refuse writes before the failover. It needs more replicas than there are.
func refuseWrites(ctx context.Context, o *operator) {
	o.stopWrites(ctx, "CONFIG", "SET", "min-replicas-to-write", 99)
	o.failOver(ctx)
}

// longestPause is for how long CLIENT PAUSE pauses writes, if nobody ends it.
const longestPause = time.Minute

func (o *operator) pauseWrites(ctx context.Context) {
	o.stopWrites(ctx, "CLIENT", "PAUSE", longestPause.Milliseconds(), "WRITE")
}

// pauseWrites pauses the writes at the old master before the failover. It makes the old master a replica by hand: while writes are paused,
// the sentinels do not.
func pauseWrites(ctx context.Context, o *operator) {
	old := o.master
	o.pauseWrites(ctx)
	f := o.failOver(ctx)
	host, port, err := net.SplitHostPort(f.New.AnnouncedAddr())
	o.Must(err)
	o.types(ctx, old, "REPLICAOF", host, port)
	o.Must(f.Demoted(ctx))
	o.types(ctx, old, "CLIENT", "UNPAUSE")
}

// pauseTooLong pauses the writes. The failover is typed so late that the sentinels have replaced the old master already.
func pauseTooLong(ctx context.Context, o *operator) {
	old := o.master
	o.pauseWrites(ctx)
	o.Must(servers.Until(ctx, func(ctx context.Context) (err error) {
		if o.master, err = o.servers.MasterOf(ctx, pview.Key); err == nil && o.master == old {
			err = errors.New("the sentinels have not missed the master whose writes are paused")
		}
		return err
	}))
	o.Must(o.servers.AwaitNamed(ctx, pview.Key, o.master))
	o.Note("lab", "the sentinels have named "+o.master.Name+" by themselves")
	awaitViews(ctx, o.Trial, o.master)
	o.failOver(ctx)
}

// types types a command at a node.
func (o *operator) types(ctx context.Context, at *servers.Node, words ...any) {
	c := o.Tap(redis.NewClient(clients.OneAttempt(at.Addr)))
	o.Must(errors.Join(c.Do(ctx, words...).Err(), c.Close()))
	o.Note("operator", strings.TrimSpace(fmt.Sprintln(words...))+" at "+at.Name)
}

// stopWrites types what ends the writes at the master, and waits until the replicas have everything that it has written.
func (o *operator) stopWrites(ctx context.Context, words ...any) {
	o.types(ctx, o.master, words...)
	replicas, err := o.servers.ReplicasOf(ctx, o.master)
	o.Must(err)
	clients.AwaitReplication(ctx, o.Trial, o.master, replicas)
}

// failOver types the command, and waits until clients are told the new master.
func (o *operator) failOver(ctx context.Context) *servers.PlannedFailover {
	typed := o.Now()
	f, err := o.servers.FailOver(ctx, pview.Key)
	o.Must(err)
	at := o.Now()
	role, err := f.Old.Info(ctx, "replication", "role")
	o.Must(err)
	o.Record(history.Event{
		Timeline: "operator", Kind: history.Fault, At: typed, Text: f.Typed,
		Proof: fmt.Sprintf("%d ms later %s says role:master, and %s says role:%s", (at - typed).Milliseconds(), f.New.Name, f.Old.Name, role),
	})
	o.demoted = append(o.demoted, o.Go(func() {
		o.Must(f.Demoted(ctx))
		o.Measure("v3", (o.Now() - at).Milliseconds(), twoMasters)
	}))
	o.promoted()
	o.Must(f.Named(ctx))
	o.Note("lab", "clients are told "+f.New.Name)
	o.master = f.New
	return f
}

const (
	viewers = 8   // clients that send page views without a pause
	counted = 100 // views before the failover, and after it at the new master
)

// viewsDuring lets clients send page views before a failover, during it, and after it.
func viewsDuring(kind topology.Kind, replace maintenance) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		running, stop := services.Service{Version: "v3", Topology: kind}.Run(ctx, t), make(chan struct{})
		o := newOperator(ctx, t, running.Redis)
		wait := t.Go(func() {
			defer close(stop)
			awaitViews(ctx, t, o.master)
			replace(ctx, o)
			awaitViews(ctx, t, o.master)
		})
		b, err := burst.SustainViews(ctx, running.Target, "v3", viewers, stop, nil)
		t.Must(err)
		wait()
		b.Final, err = viewsAt(ctx, o.master) // an instance may still read at the old one
		t.Must(err)
		services.RecordBurst(t, b.Began, b.Events)
		t.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: burst.CounterKey, Value: b.Final})
		t.Measure("v3", int64(len(b.Writes)), viewsCounted)
		t.Measure("v3", int64(b.Lost()), lostViews)
		t.Measure("v3", int64(len(b.Failed)), unanswered)
		t.Measure("v3", longestSilence(b.Events).Milliseconds(), silence)
		o.end()
	}
}

// viewsAt is the counter at one node.
func viewsAt(ctx context.Context, node *servers.Node) (n int64, err error) {
	err = node.WithClient(func(c *redis.Client) error {
		n, err = c.Get(ctx, pview.Key).Int64()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return err
	})
	return n, err
}

// awaitViews waits until a master has counted so many views more. Clients that follow a failover use the new master a moment after they
// are told.
func awaitViews(ctx context.Context, t *lab.Trial, master *servers.Node) {
	before, err := viewsAt(ctx, master)
	t.Must(err)
	t.Must(master.Await(ctx, func(ctx context.Context) error {
		n, err := viewsAt(ctx, master)
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
