package faults

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
)

var F08 = experiments.Experiment{
	ID:       "F08-redlock-same-node-twice",
	Title:    "RedLock: the same node twice",
	Articles: experiments.Articles{"A2"},
	Claim:    "A2's RedLock names one of its nodes twice: the loss of that node ends the lock, and that node alone is a majority.",
	Says:     "The listing builds RedLock of three locks. The text asks for nodes that are completely independent.",
	Errata: []experiments.Erratum{
		{
			Article: "A2",
			What: `
				A2's listing passes node 2 twice (red1, red2, red2): three locks, two nodes. The loss of node 2 alone ends the quorum,
				and node 2 alone is a quorum.`,
			Where: "method 3, lines 19 to 22 of the listing: `rLock3 = redissonRed2.getLock(lockKey)`",
		},
	},
	Lesson: experiments.Lesson{
		Question: `
			A RedLock over three nodes survives the loss of one. A configuration names node 2 twice and node 3 not at all. Nobody
			notices it, because all nodes run. What happens when node 2 fails?`,
		Predict: `
			(a) Nothing: two of the three locks remain. (b) No client is granted the lock. (c) When node 2 restarts empty, two clients
			hold the lock. More than one may be right.`,
		Why: `
			Both (b) and (c) happen. A majority of three names is two, and node 2 has two names. Without node 2 one name remains, so
			every client is refused, although one failure should be allowed. When node 2 restarts empty, it alone is a majority. So B is
			granted the lock while A holds it. With three different nodes, both faults change nothing.`,
		Fix: "Compare the nodes before the lock is opened: `app serve` refuses an address that is named twice.",
		Limits: `
			The run does not execute Redisson: its scripts do what Redisson's do with the key and the count. Two different addresses can
			lead to the same server, and a comparison of addresses does not notice that.`,
		Next:  "F05 (nodes that are down), F06 (a node that restarts empty), G4 (RedLock when nothing fails).",
		Level: experiments.Advanced,
	},
	Drawing: `
names   red1   red2   red2
A       node 1 node 2 node 2     ├─ read 0 ───────────────────── write 1
node 2                ✗ restarts, empty                            ↑ one update is lost
B              node 2 node 2       ├─ two of three ─ read 0 ─ write 1`,
	How: `
		The lock on each name is Redisson's, as in the listing: its owner enters again, so node 2 counts twice. (v4 uses redsync, whose
		lock is not re-entrant: it would count node 2 once.) Node 2 is lost, or restarts empty, with three names for three nodes and
		with A2's list. Lost: A requests the lock once. Empty: A holds the lock on all names, and B requests it.`,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    clients.Any(failovers.Available(3), history.Counter),
	Variants: []experiments.Variant{
		{Name: "three nodes, node 2 lost", Fault: true, Run: lostOf(1, 2, 3)},
		{Name: "three nodes, node 2 restarts empty", Fault: true, Run: emptyOf(1, 2, 3)},
		{Name: "A2's list, node 2 lost", Expect: experiments.Sometimes, Fault: true, Run: lostOf(1, 2, 2)},
		{Name: "A2's list, node 2 restarts empty", Expect: experiments.Sometimes, Fault: true, Run: emptyOf(1, 2, 2)},
	},
}

// lostOf kills node 2, and A requests the lock on the nodes in the list.
func lostOf(list ...int) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		q := failovers.StartQuorum(ctx, t, 3)
		a := namedClient(ctx, q, "A", list)
		clients.Kill(t, q.Nodes[1])
		a.TryUpdate(ctx, clients.NewResource(t, false))
	}
}

// emptyOf restarts node 2 while A holds the lock.
func emptyOf(list ...int) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		q := failovers.StartQuorum(ctx, t, 3)
		s := clients.NewSuccession(t)
		s.Come(ctx, namedClient(ctx, q, "A", list))
		clients.Restart(ctx, t, q.Nodes[1])
		s.Come(ctx, namedClient(ctx, q, "B", list))
		s.Finish(ctx)
	}
}

// namedClient is a client of A2's RedLock: Redisson's lock under each of several names, of which a majority decides. The owner
// of a lock can enter it again, so a node that is named twice counts twice.
func namedClient(ctx context.Context, q *failovers.Quorum, name string, list []int) *clients.Client {
	addrs := make([]string, len(list))
	for i, n := range list {
		addrs[i] = q.Nodes[n-1].Addr
	}
	names, owner := q.Connect(ctx, addrs), uuid.NewString()
	release := func(ctx context.Context, key string) (bool, error) {
		n, err := onAll(ctx, names, leaveScript, key, owner)
		return n > 0, err
	}
	return clients.NewPolling(q.Trial, name, clients.Polling{
		Try: func(ctx context.Context, key string) (bool, error) {
			granted, err := onAll(ctx, names, enterScript, key, owner, clients.LongLease.Milliseconds())
			if granted > len(names)/2 {
				return true, nil
			}
			_, failed := release(ctx, key)
			return false, errors.Join(err, failed)
		},
		Release: release, Pause: 50 * time.Millisecond, Lease: clients.LongLease,
	})
}

// How Redisson takes its lock, and a release that ignores the count.
var (
	enterScript = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0`)
	leaveScript = redis.NewScript("return redis.call('hdel', KEYS[1], ARGV[1])")
)

// onAll runs a script under every name, and adds up the replies.
func onAll(ctx context.Context, names []redis.UniversalClient, script *redis.Script, key string, args ...any) (sum int, err error) {
	for _, conn := range names {
		n, failed := script.Run(ctx, conn, []string{key}, args...).Int()
		sum, err = sum+n, errors.Join(err, failed)
	}
	return sum, err
}
