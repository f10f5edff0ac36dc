package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

var F04 = Experiments.Add(lab.Experiment{
	ID:       "F04-wait-narrows",
	Articles: lab.Articles{"A2", "A3", "A4"},
	Claim:    "WAIT 1 and min-replicas-to-write narrow the window in which a lock is lost with its master, and do not close it.",
	Level:    lab.Advanced,
	Anomaly:  "lost at failover",
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}, Takes: 15 * time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(unreplicated)),
	Variants: []lab.Variant{
		{Name: "WAIT 1, replication healthy", Fault: true, Run: againstLoss(confirmed)},
		{Name: "WAIT 1, replication cut: no lock", Fault: true, Run: againstLoss(unconfirmed)},
		{
			Name: "WAIT 1, another replica is promoted", Expect: lab.Sometimes, Strategy: "v3 with WAIT", Fault: true,
			Run: againstLoss(confirmedByOne),
		},
		{Name: "WAIT 3, another replica is promoted", Fault: true, Run: againstLoss(confirmedByAll)},
		{Name: "WAIT 3, one of three replicas cut off: no lock", Fault: true, Run: againstLoss(oneAway)},
		{Name: "min-replicas-to-write 1, after the lag: no lock", Fault: true, Trials: 1, Run: againstLoss(afterLag)},
		{Name: "min-replicas-to-write 1, within the lag", Expect: lab.Sometimes, Fault: true, Run: againstLoss(withinLag)},
	},
})

// againstLoss runs a scenario against a master with three replicas, of which the most complete one is promoted.
func againstLoss(scenario func(context.Context, *failovers.Replicated)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := failovers.MasterSlave(ctx, t)
		x.Replace = func(ctx context.Context, x *failovers.Replicated) { x.Promote(ctx, mostComplete(ctx, x)) }
		x.AwaitReplication(ctx)
		scenario(ctx, x)
	}
}

func confirmed(ctx context.Context, x *failovers.Replicated) {
	measureWait(ctx, x)
	s := clients.NewSuccession(x.Trial)
	s.Come(ctx, waitingClient(ctx, x, 1, x.Scaled(time.Second), confirmTimeout))
	failOver(ctx, x, s)
	clients.MustRefuse(x.Trial, "B")
}

// measureWait compares v3 with and without WAIT, in turns.
func measureWait(ctx context.Context, x *failovers.Replicated) {
	const turns = 101
	locks, took := map[int]lockstrategy.Strategy{}, map[int][]time.Duration{}
	for _, replicas := range []int{0, 1, 3} {
		locks[replicas] = waitingClient(ctx, x, replicas, clients.LongLease, confirmTimeout).Lock
	}
	for range turns {
		for replicas, lock := range locks {
			began := time.Now()
			lease, err := lock.Acquire(ctx, "lock:measured", lockstrategy.TryOnce())
			x.Must(err)
			x.Must(lease.Release(ctx))
			took[replicas] = append(took[replicas], time.Since(began))
		}
	}
	for replicas, name := range map[int]string{0: "v3", 1: "v3 with WAIT 1", 3: "v3 with WAIT 3"} {
		slices.Sort(took[replicas])
		x.Measure(name, took[replicas][turns/2].Microseconds(), lab.Microseconds.Of("to lock and unlock, the median of 101"))
	}
}

// failOver kills the master. B comes when it was replaced.
func failOver(ctx context.Context, x *failovers.Replicated, s *clients.Succession) {
	x.FailOver(ctx)
	s.Come(ctx, x.NewClient(ctx, "B", clients.LongLease))
	s.Finish(ctx)
}

// unconfirmed lets A request a lock that no replica receives. It is not granted, and B is alone.
func unconfirmed(ctx context.Context, x *failovers.Replicated) {
	x.CutReplication(ctx, x.Replicas...)
	refuseUnconfirmed(ctx, x, 1)
}

// refuseUnconfirmed lets A request a lock that too few replicas receive.
func refuseUnconfirmed(ctx context.Context, x *failovers.Replicated, replicas int) {
	_, err := waitingClient(ctx, x, replicas, clients.LongLease, cutTimeout).TryAcquire(ctx, lockstrategy.TryOnce())
	noteGrant(x, err, func(err error) bool { return errors.Is(err, errUnconfirmed) })
	failOver(ctx, x, clients.NewSuccession(x.Trial))
}

// confirmedByAll lets a replica die with the master, as confirmedByOne does. The others have the lock, too.
func confirmedByAll(ctx context.Context, x *failovers.Replicated) {
	s := clients.NewSuccession(x.Trial)
	s.Come(ctx, waitingClient(ctx, x, len(x.Replicas), x.Scaled(time.Second), confirmTimeout))
	clients.Kill(x.Trial, x.Replicas[0])
	x.Replicas = x.Replicas[1:]
	failOver(ctx, x, s)
	clients.MustRefuse(x.Trial, "B")
}

// oneAway lets A request a lock that one replica of three does not receive. It is not granted, and B is alone.
func oneAway(ctx context.Context, x *failovers.Replicated) {
	x.CutReplication(ctx, x.Replicas[2])
	refuseUnconfirmed(ctx, x, len(x.Replicas))
}

// confirmedByOne lets the replica that confirmed the lock die with the master.
func confirmedByOne(ctx context.Context, x *failovers.Replicated) {
	s := clients.NewSuccession(x.Trial)
	x.CutReplication(ctx, x.Replicas[1:]...)
	s.Come(ctx, waitingClient(ctx, x, 1, clients.LongLease, confirmTimeout))
	clients.Kill(x.Trial, x.Replicas[0])
	x.Replicas = x.Replicas[1:]
	failOver(ctx, x, s)
}

// withinLag cuts off the replicas of a master that takes no writes without them, before it has missed them.
func withinLag(ctx context.Context, x *failovers.Replicated) {
	requireReplica(ctx, x, 10*time.Second)
	s := clients.NewSuccession(x.Trial)
	s.Come(ctx, x.BeforeReplication(ctx, "A"))
	failOver(ctx, x, s)
}

// afterLag lets A come when the master has missed its replicas. It is not granted the lock, and B is alone.
func afterLag(ctx context.Context, x *failovers.Replicated) {
	requireReplica(ctx, x, 2*time.Second)
	a := x.BeforeReplication(ctx, "A")
	x.Must(x.Master.Await(ctx, func(ctx context.Context) error {
		good, err := goodReplicas(ctx, x)
		if err == nil && good != "0" {
			err = fmt.Errorf("it still counts %s replicas", good)
		}
		return err
	}))
	_, err := a.TryAcquire(ctx, lockstrategy.TryOnce())
	noteGrant(x, err, func(err error) bool { return strings.Contains(err.Error(), "NOREPLICAS") })
	failOver(ctx, x, clients.NewSuccession(x.Trial))
}

// unreplicated is noted of a grant that must not be where replicas are required.
var unreplicated = history.Mark{Name: "the lock was granted, and no replica has it", Words: "too few replicas have the lock"}

// noteGrant notes a grant that too few replicas have received. A refusal for another reason than the one in question ends the trial.
func noteGrant(x *failovers.Replicated, err error, wanted func(error) bool) {
	switch {
	case err == nil:
		x.Mark(x.Master.Name, unreplicated)
	case !wanted(err):
		x.Must(fmt.Errorf("it was refused, and not for lack of a replica: %w", err))
	}
}

// requireReplica lets the master refuse writes when no replica has reported for longer than lag.
func requireReplica(ctx context.Context, x *failovers.Replicated, lag time.Duration) {
	x.Must(x.Master.WithClient(func(c *redis.Client) error {
		seconds := fmt.Sprint(int(lag.Seconds()))
		return errors.Join(c.ConfigSet(ctx, "min-replicas-to-write", "1").Err(), c.ConfigSet(ctx, "min-replicas-max-lag", seconds).Err())
	}))
	good, err := goodReplicas(ctx, x)
	x.Must(err)
	text := "min-replicas-to-write 1, min-replicas-max-lag %.0f: %s replicas have reported within that"
	x.Note(x.Master.Name, fmt.Sprintf(text, lag.Seconds(), good))
}

// goodReplicas is how many replicas have reported to the master within the lag. It says so only while the setting is in force.
func goodReplicas(ctx context.Context, x *failovers.Replicated) (string, error) {
	return x.Master.Info(ctx, "replication", "min_slaves_good_slaves")
}

// mostComplete is the replica with the most of the master's writes. Sentinel would promote it.
func mostComplete(ctx context.Context, x *failovers.Replicated) (best *servers.Node) {
	most := int64(-1)
	for _, n := range x.Replicas {
		has, err := n.Number(ctx, "replication", "slave_repl_offset")
		x.Must(err)
		if has > most {
			best, most = n, has
		}
	}
	return best
}

// errUnconfirmed says that too few replicas have confirmed a lock in time. It was released.
var errUnconfirmed = errors.New("too few replicas have confirmed it")

// waiting is the Redis lock that counts only when so many replicas have it: v3 with WAIT.
type waiting struct {
	lockstrategy.Strategy
	conn     *redis.Client
	replicas int
	timeout  time.Duration // of the confirmation
}

// How long a replica may take to confirm: one that is there, and one that is known to be cut off.
const (
	confirmTimeout = 10 * time.Second
	cutTimeout     = 200 * time.Millisecond
)

// Acquire takes the lock, and then waits for the replicas.
func (w waiting) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	lease, err := w.Strategy.Acquire(ctx, key, options...)
	if err != nil || w.replicas == 0 {
		return lease, err
	}
	n, err := w.confirmations(ctx)
	if err == nil && n >= int64(w.replicas) {
		return lease, nil
	}
	return nil, errors.Join(lockstrategy.ErrNotAcquired, errUnconfirmed, err, lease.Release(ctx))
}

// confirmations counts the replicas that have everything that the master had when it was asked. WAIT speaks of the last write
// of its own connection, and the lock was taken over another one. So it follows a write, which the replicas have after the lock.
func (w waiting) confirmations(ctx context.Context) (int64, error) {
	own := w.conn.Conn()
	defer own.Close()
	if err := own.Set(ctx, "wait:{"+clients.LockKey+"}", "1", time.Minute).Err(); err != nil {
		return 0, err
	}
	return own.Do(ctx, "WAIT", w.replicas, w.timeout.Milliseconds()).Int64()
}

// waitingClient is A with WAIT.
func waitingClient(ctx context.Context, x *failovers.Replicated, replicas int, lease, timeout time.Duration) *clients.Client {
	conn, ok := clients.Connect(ctx, x.Trial, x.Servers).(*redis.Client)
	if !ok {
		x.Must(errors.New("WAIT needs one connection to one master"))
	}
	a := clients.RedisLock(x.Trial, "A", conn, lease)
	a.Lock = waiting{a.Lock, conn, replicas, timeout}
	return a
}
