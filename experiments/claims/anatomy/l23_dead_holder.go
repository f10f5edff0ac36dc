package anatomy

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/lockstrategy"
)

var L23 = experiments.Experiment{
	ID:       "L23-dead-holder",
	Title:    "Key of a dead holder",
	Articles: experiments.Articles{"A0", "A1", "A3"},
	Claim:    "The key of a holder whose process is killed is free after one lease, plus what the store rounds up, with every lock.",
	Says: `
		A lock needs an expiry, so that a crash does not block the others for ever (A0, A1). A3 names a lock of ZooKeeper's ephemeral
		nodes. Its table that compares the locks is missing in our copy.`,
	Elsewhere: `
		ZooKeeper deletes an ephemeral node when the session of its client ends
		(https://zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html).`,
	Lesson: experiments.Lesson{
		Question: `
			A process holds a lock with a lease of one second, and is killed. Another process waits. Each lock promises that the key does not
			stay. How long does the other process wait, in Redis, a database, ZooKeeper, etcd and Memcached?`,
		Predict: `
			(a) No time with ZooKeeper and etcd, which notice that the connection is closed. (b) One lease with each of them. (c) One lease
			with some, and up to three times as long with others.`,
		Why: `
			(c). No server frees the key because a connection is closed: the client may have lost its network, and go on. Redis and a
			database keep the expiry to the millisecond. ZooKeeper ends sessions in steps of its tick, here 200 ms. It counts from
			the last message of the client. etcd counts whole seconds, at least one and a half election timeouts, and looks for ended leases
			twice a second. Memcached counts whole seconds by a clock that ticks once a second. So v8 asks for up to three seconds more
			than its lease: its key must not end before the lease.`,
		Fix: `
			Choose the lease as the longest wait after a crash that you accept. With etcd and Memcached, add what they round up. A lease
			that is renewed need not be as long as the work. A release on an orderly shutdown saves the wait: only a crash costs it.`,
		Limits: `
			One server each, so no election is measured: a new leader of etcd gives every lease its whole time again. With the default lease of
			30 s the rounding is small, and the wait is that lease. The holder is killed soon after its grant, so nearly the whole lease is
			left. The time has a bound that leaves a busy machine ten seconds.`,
		Next: "L06-watchdog-ends shows the end of renewal in Redis, and L11-pause-past-lease a holder that comes back. L01-no-expiry has no " +
			"expiry at all: try `app lab step L01`.",
		Level: experiments.Medium,
	},
	Drawing: `
A       ├─ lock ─ ✗ killed
server  ══════════════════════════┤ lease, and what the store rounds up
B          refused ─ waits         ├─ lock
                   ├── measured ──┤`,
	How: `
		A is a process of its own, and takes the lock with a lease of one second. B tries once and must be refused. Then B waits, and SIGKILL
		ends A. The time from the kill to the grant of B is measured. A grant before the kill is a violation. So is a refusal after the
		lease, the store's rounding and a reserve. In the control A releases the lock.`,
	Anomaly:  "orphaned lock",
	Schedule: experiments.Schedule{Alone: true, Slow: true, Takes: 27 * time.Second},
	Check:    wrongAfterDeath,
	Variants: []experiments.Variant{
		{Name: "released", Run: clients.InProcess(clients.Holding{Strategy: lockstrategy.NameRedis, Lease: deadLease}, releasingHolder)},
		deadHolder("v3", lockstrategy.NameRedis, 0, 3),
		deadHolder("v4", lockstrategy.NameRedLock, 0, 3),
		deadHolder("v5", lockstrategy.NameDatabase, 0, 3),
		deadHolder("v6", lockstrategy.NameZooKeeper, 400*time.Millisecond, 1),
		deadHolder("v7", lockstrategy.NameEtcd, 1500*time.Millisecond, 3),
		deadHolder("v8", lockstrategy.NameMemcached, 3*time.Second, 1),
	},
}

const (
	deadLease   = time.Second      // the shortest that etcd has
	deadReserve = 10 * time.Second // for a machine that is busy
)

// deadHolder is the variant of a version. rounding is for how much longer than the lease its servers may keep the key. Slow
// servers have one trial: its time is counted in whole seconds or ticks.
func deadHolder(version, strategy string, rounding time.Duration, trials int) experiments.Variant {
	return experiments.Variant{
		Name: "killed: " + version, Strategy: version, Fault: true, Needs: clients.NeedsOf(strategy), Trials: trials,
		Run: clients.InProcess(clients.Holding{Strategy: strategy, Lease: deadLease}, func(ctx context.Context, x *clients.HolderProcess) {
			if waited, granted := besideHolder(ctx, x, deadLease+rounding+deadReserve, x.A.Kill); granted {
				x.Measure(version, waited.Microseconds(), experiments.NextGrant)
			}
		}),
	}
}

func releasingHolder(ctx context.Context, x *clients.HolderProcess) {
	if waited, granted := besideHolder(ctx, x, deadLease+deadReserve, func() { x.Release(ctx) }); granted {
		x.Measure("v3", waited.Microseconds(), experiments.Microseconds.Of("from the release to the next grant"))
	}
}

// besideHolder lets B be refused, and wait at most so long while A ends. It returns how long B has waited since then.
func besideHolder(ctx context.Context, x *clients.HolderProcess, most time.Duration, end func()) (waited time.Duration, granted bool) {
	if x.B.TryOnce(ctx) != nil {
		return 0, false // the check finds that grant
	}
	var next *clients.Holder
	var failed error
	var answered time.Duration
	wait := x.Go(func() {
		next, failed = x.B.TryAcquire(ctx, lockstrategy.WaitAtMost(most))
		answered = x.Now()
	})
	ended := x.Now()
	end()
	wait()
	if errors.Is(failed, context.DeadlineExceeded) {
		return 0, false // the check finds that refusal
	}
	x.Must(failed)
	next.Release(ctx)
	return answered - ended, true
}

// wrongAfterDeath finds a contender that was granted the lock before its holder ended, or was refused to the end of its wait.
func wrongAfterDeath(trial []history.Event) (found []history.Violation) {
	ended := -1
	for i, e := range trial {
		if e.Timeline == "A" && (e.Kind == history.Die || e.Kind == history.Release) {
			ended = i
		}
	}
	for _, e := range trial {
		switch {
		case e.Timeline != "B":
		case e.Kind == history.Grant && (ended < 0 || e.At < trial[ended].At):
			found = append(found, history.Violation{What: "B was granted the lock while A held it", Events: []int{e.Seq}})
		case e.Kind == history.Refuse && e.Text == history.Deadline && ended >= 0:
			found = append(found, history.Violation{What: "the key stayed locked after A had ended", Events: []int{trial[ended].Seq, e.Seq}})
		}
	}
	return found
}
