package claims

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "F04-wait-narrows",
	Article: "A2, A3, A4",
	Claim:   "WAIT and min-replicas-to-write narrow the window in which a lock is lost with its master, and do not close it.",
	Says:    "The articles name the window and go on to RedLock. Redis has two settings against it: a client can wait until replicas have confirmed its write, and a master can refuse writes when too few replicas follow it.",
	Drawing: `
A          ├─ SET lock, WAIT 1 ─ read 0 ──────────────────────── write 1
replica 1  ────────── has it ✗ dies with the master                ↑ one update is lost
replica 2  ─ ╳ has it not ──────── promoted
B                                   ├─ SET lock ─ read 0 ─ write 1`,
	How:     "A counts the lock only when WAIT 1 says that a replica has confirmed it, and gives it back otherwise. Then the master is killed and a replica promoted: the one that has most, or, in the window that remains, one that has not got the lock while the one that confirmed it dies with the master. With min-replicas-to-write the master takes writes as long as it heard from a replica within min-replicas-max-lag: after that it refuses the lock, and one that is taken before is lost all the same.",
	Anomaly: "lost at failover",
	Needs:   []experiments.Need{experiments.RedisServer},
	Takes:   22 * time.Second,
	Check: func(events []history.Event) []history.Violation {
		return append(history.Counter(events), history.Noted(events, alone)...)
	},
	Variants: []experiments.Variant{
		{Name: "WAIT 1, link healthy", Fault: true, Run: afterWait(confirmed)},
		{Name: "WAIT 1, link cut: no lock", Fault: true, Run: afterWait(unconfirmed)},
		{Name: "WAIT 1, another replica is promoted", Expect: experiments.Sometimes, Strategy: "v3 with WAIT", Fault: true, Run: afterWait(confirmedByOne)},
		{Name: "min-replicas-to-write 1, after the lag: no lock", Fault: true, Run: afterWait(afterLag)},
		{Name: "min-replicas-to-write 1, within the lag", Expect: experiments.Sometimes, Fault: true, Run: afterWait(withinLag)},
	},
})

// afterWait runs a way to lose a master against a master with three replicas.
func afterWait(loses func(context.Context, *replicated) error) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		x, err := masterSlave(ctx, t)
		if err != nil {
			return err
		}
		x.replace = func(ctx context.Context, x *replicated) error {
			best, err := x.mostComplete(ctx)
			if err != nil {
				return err
			}
			return x.promote(ctx, best)
		}
		if err := x.inStep(ctx); err != nil {
			return err
		}
		return loses(ctx, x)
	}
}

func confirmed(ctx context.Context, x *replicated) error {
	err := contest(ctx, x.t,
		func(ctx context.Context) (*client, error) { return x.comesWaiting(ctx, "A", time.Second, willConfirm) },
		x.afterFailure("B"),
	)
	return errors.Join(err, refused(x.t))
}

// unconfirmed lets A ask for a lock that no replica hears of. It does not get it, and B is alone.
func unconfirmed(ctx context.Context, x *replicated) error {
	return contest(ctx, x.t,
		func(ctx context.Context) (*client, error) {
			if err := x.cutReplicas(ctx, x.replicas...); err != nil {
				return nil, err
			}
			a, err := x.comesWaiting(ctx, "A", longLease, cannot)
			if err != nil {
				return nil, err
			}
			_, err = a.acquire(ctx, lockstrategy.TryOnce())
			return nil, x.refuses(err, func(err error) bool { return errors.Is(err, errUnconfirmed) })
		},
		x.afterFailure("B"),
	)
}

// confirmedByOne lets the replica that confirmed the lock die with the master.
func confirmedByOne(ctx context.Context, x *replicated) error {
	return contest(ctx, x.t,
		func(ctx context.Context) (*client, error) {
			if err := x.cutReplicas(ctx, x.replicas[1:]...); err != nil {
				return nil, err
			}
			return x.comesWaiting(ctx, "A", longLease, willConfirm)
		},
		func(ctx context.Context) (*client, error) {
			if err := kill(x.t, x.replicas[0]); err != nil {
				return nil, err
			}
			x.replicas = x.replicas[1:]
			return x.afterFailure("B")(ctx)
		},
	)
}

// withinLag cuts the replicas off a master that takes no writes without them, before it has missed them.
func withinLag(ctx context.Context, x *replicated) error {
	if err := x.takesNoWritesAlone(ctx, 10*time.Second); err != nil {
		return err
	}
	return contest(ctx, x.t, x.cutOff("A"), x.afterFailure("B"))
}

// afterLag lets A come when the master has missed its replicas. It does not get the lock, and B is alone.
func afterLag(ctx context.Context, x *replicated) error {
	if err := x.takesNoWritesAlone(ctx, 2*time.Second); err != nil {
		return err
	}
	return contest(ctx, x.t,
		func(ctx context.Context) (*client, error) {
			a, err := x.cutOff("A")(ctx)
			if err != nil {
				return nil, err
			}
			if err := x.master.Await(ctx, x.missesReplicas); err != nil {
				return nil, err
			}
			_, err = a.acquire(ctx, lockstrategy.TryOnce())
			return nil, x.refuses(err, func(err error) bool { return strings.Contains(err.Error(), "NOREPLICAS") })
		},
		x.afterFailure("B"),
	)
}

// alone is what must not be where a replica is asked for.
const alone = "the lock was granted, and no replica has it"

// refuses notes a grant that no replica has heard of. Another refusal than the one that is looked for shows nothing.
func (x *replicated) refuses(err error, wanted func(error) bool) error {
	switch {
	case err == nil:
		x.t.Note(x.master.Name, alone)
		return nil
	case wanted(err):
		return nil
	}
	return fmt.Errorf("it was refused, and not for want of a replica: %w", err)
}

// takesNoWritesAlone lets the master refuse writes that no replica will have: when it has heard from none for longer than lag.
func (x *replicated) takesNoWritesAlone(ctx context.Context, lag time.Duration) error {
	err := x.master.WithClient(func(c *redis.Client) error {
		seconds := fmt.Sprint(int(lag.Seconds()))
		return errors.Join(c.ConfigSet(ctx, "min-replicas-to-write", "1").Err(), c.ConfigSet(ctx, "min-replicas-max-lag", seconds).Err())
	})
	if err != nil {
		return err
	}
	good, err := x.master.Info(ctx, "replication", "min_slaves_good_slaves") // it says so only while the setting is in force
	if err == nil {
		x.t.Note(x.master.Name, fmt.Sprintf("min-replicas-to-write 1, min-replicas-max-lag %.0f: it has heard from %s replicas within that", lag.Seconds(), good))
	}
	return err
}

func (x *replicated) missesReplicas(ctx context.Context) error {
	good, err := x.master.Info(ctx, "replication", "min_slaves_good_slaves")
	if err == nil && good != "0" {
		err = fmt.Errorf("it still counts %s replicas", good)
	}
	return err
}

// mostComplete is the replica with the most of the master's writes, which is whom Sentinel promotes.
func (x *replicated) mostComplete(ctx context.Context) (best *stack.Node, err error) {
	most := int64(-1)
	for _, n := range x.replicas {
		has, err := n.Number(ctx, "replication", "slave_repl_offset")
		if err != nil {
			return nil, err
		}
		if has > most {
			best, most = n, has
		}
	}
	return best, nil
}

// errUnconfirmed says that no replica has confirmed a lock in time. It was given back.
var errUnconfirmed = errors.New("no replica has confirmed it")

// waiting is the Redis lock that counts only when a replica has it: v3 with WAIT.
type waiting struct {
	lockstrategy.Strategy
	client   *redis.Client
	patience time.Duration // for a replica to confirm
}

// How long a replica may take to confirm: one that is there, and one that is known to be cut off.
const (
	willConfirm = 10 * time.Second
	cannot      = 200 * time.Millisecond
)

// Acquire takes the lock, and then waits for one replica.
func (w waiting) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	lease, err := w.Strategy.Acquire(ctx, key, options...)
	if err != nil {
		return nil, err
	}
	n, err := w.confirmations(ctx)
	if err == nil && n > 0 {
		return lease, nil
	}
	return nil, errors.Join(lockstrategy.ErrNotAcquired, errUnconfirmed, err, lease.Release(ctx))
}

// confirmations counts the replicas that have all that the master had when it was asked. WAIT speaks of the last write of its own
// connection, and the lock was taken over another one: so it comes behind a write, which the replicas have after the lock.
func (w waiting) confirmations(ctx context.Context) (int64, error) {
	own := w.client.Conn()
	defer own.Close()
	if err := own.Set(ctx, "wait:{"+lockKey+"}", "1", time.Minute).Err(); err != nil {
		return 0, err
	}
	return own.Do(ctx, "WAIT", 1, w.patience.Milliseconds()).Int64()
}

// comesWaiting is comes with WAIT.
func (x *replicated) comesWaiting(ctx context.Context, lane string, lease, patience time.Duration) (*client, error) {
	opened, err := connect(ctx, x.t, x.servers)
	if err != nil {
		return nil, err
	}
	single, ok := opened.(*redis.Client)
	if !ok {
		return nil, fmt.Errorf("WAIT needs one connection to one master, not a %T", opened)
	}
	o, err := v3(x.t, single, lease)
	if err != nil {
		return nil, err
	}
	return newClient(x.t, lane, waiting{o.Strategy, single, patience}), nil
}
