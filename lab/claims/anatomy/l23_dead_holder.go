package anatomy

import (
	"context"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/versions"
)

var L23 = Experiments.Add(lab.Experiment{
	ID:       "L23-dead-holder",
	Articles: lab.Articles{"A0", "A1", "A3"},
	Claim:    "The key of a holder whose process is killed is free after one lease, plus what the store rounds up, with every lock.",
	Level:    lab.Medium,
	Anomaly:  "orphaned lock",
	Schedule: lab.Schedule{Alone: true, Slow: true, Takes: 27 * time.Second},
	Check:    wrongAfterDeath,
	Variants: []lab.Variant{
		{Name: "released", Run: clients.InProcess(clients.Holding{Strategy: versions.NameRedis, Lease: deadLease}, releasingHolder)},
		deadHolder("v3", versions.NameRedis, 0, 3),
		deadHolder("v4", versions.NameRedLock, 0, 3),
		deadHolder("v5", versions.NameDatabase, 0, 3),
		deadHolder("v6", versions.NameZooKeeper, 400*time.Millisecond, 1),
		deadHolder("v7", versions.NameEtcd, 1500*time.Millisecond, 3),
		deadHolder("v8", versions.NameMemcached, 3*time.Second, 1),
	},
})

const (
	deadLease   = time.Second      // the shortest that etcd has
	deadReserve = 10 * time.Second // for a machine that is busy
)

// deadHolder is the variant of a version. rounding is for how much longer than the lease its servers may keep the key. Slow
// servers have one trial: its time is counted in whole seconds or ticks.
func deadHolder(version, strategy string, rounding time.Duration, trials int) lab.Variant {
	return lab.Variant{
		Name: "killed: " + version, Strategy: version, Fault: true, Needs: clients.NeedsOf(strategy), Trials: trials,
		Run: clients.InProcess(clients.Holding{Strategy: strategy, Lease: deadLease}, func(ctx context.Context, x *clients.HolderProcess) {
			if waited, granted := besideHolder(ctx, x, deadLease+rounding+deadReserve, x.A.Kill); granted {
				x.Measure(version, waited.Microseconds(), lab.NextGrant)
			}
		}),
	}
}

func releasingHolder(ctx context.Context, x *clients.HolderProcess) {
	if waited, granted := besideHolder(ctx, x, deadLease+deadReserve, func() { x.Must(x.Holder.TryRelease(ctx)) }); granted {
		x.Measure("v3", waited.Microseconds(), lab.Microseconds.Of("from the release to the next grant"))
	}
}

// besideHolder lets B be refused, and wait at most so long while A ends. It returns how long B has waited since then.
func besideHolder(ctx context.Context, x *clients.HolderProcess, most time.Duration, end func()) (waited time.Duration, granted bool) {
	if x.B.TryOnce(ctx) != nil {
		return 0, false // the check finds that grant
	}
	var next *clients.LocalHolder
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
