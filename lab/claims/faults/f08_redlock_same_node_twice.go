package faults

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var F08 = Experiments.Add(lab.Experiment{
	ID:       "F08-redlock-same-node-twice",
	Articles: lab.Articles{"A2"},
	Claim:    "A2's RedLock names one of its nodes twice: the loss of that node ends the lock, and that node alone is a majority.",
	Level:    lab.Advanced,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    clients.Any(failovers.Available(3), history.Counter),
	Variants: []lab.Variant{
		{Name: "three nodes, node 2 lost", Fault: true, Run: lostOf(1, 2, 3)},
		{Name: "three nodes, node 2 restarts empty", Fault: true, Run: emptyOf(1, 2, 3)},
		{Name: "A2's list, node 2 lost", Expect: lab.Sometimes, Fault: true, Run: lostOf(1, 2, 2)},
		{Name: "A2's list, node 2 restarts empty", Expect: lab.Sometimes, Fault: true, Run: emptyOf(1, 2, 2)},
	},
})

// lostOf kills node 2, and A requests the lock on the nodes in the list.
func lostOf(list ...int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		q := failovers.StartQuorum(ctx, t, 3)
		a := namedClient(ctx, q, "A", list)
		clients.Kill(t, q.Nodes[1])
		a.TryUpdate(ctx, clients.NewResource(t, false))
	}
}

// emptyOf restarts node 2 while A holds the lock.
func emptyOf(list ...int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
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
