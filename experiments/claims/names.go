package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/topology"
)

// names is A2's RedLock: Redisson's lock under each of several names, of which a majority decides. Each lock can be entered again by who
// has it, so a node that is named twice counts twice. It breaks in F08.
type names struct {
	locks []redis.UniversalClient
	owner string
}

// reentrant is how Redisson takes its lock, and giveBack how it gives it back, whatever the count.
var (
	reentrant = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0`)
	giveBack = redis.NewScript("return redis.call('hdel', KEYS[1], ARGV[1])")
)

// named is a client with A2's RedLock over the nodes in a list.
func (q *quorum) named(ctx context.Context, lane string, list []int) (*client, error) {
	addrs := make([]string, len(list))
	for i, n := range list {
		addrs[i] = q.nodes[n-1].Addr
	}
	independent, err := topology.OpenIndependent(ctx, addrs, topology.Access{})
	if err != nil {
		return nil, err
	}
	q.t.Cleanup(independent.Close)
	gate, err := lockstrategy.NewCohort(names{independent.Nodes, uuid.NewString()}, lockstrategy.HandOff{})
	if err != nil {
		return nil, err
	}
	return newClient(q.t, lane, gate), nil
}

// Grant asks under every name; where a majority does not grant, it takes back what it got, and waits unless it is not to.
func (n names) Grant(ctx context.Context, key string, ask lockstrategy.Ask) (lockstrategy.Terms, error) {
	again := time.NewTicker(stepLease)
	defer again.Stop()
	for {
		asked := time.Now()
		granted, err := n.try(ctx, key)
		switch {
		case granted > len(n.locks)/2:
			return lockstrategy.Terms{Until: asked.Add(longLease), Keeper: keptNames{n, key}}, nil
		case err != nil:
			err = fmt.Errorf("%w: %w", lockstrategy.ErrUnavailable, err)
		case ask.AtOnce:
			err = lockstrategy.ErrTaken
		}
		_, failed := n.release(ctx, key)
		if err != nil {
			return lockstrategy.Terms{}, errors.Join(lockstrategy.ErrNotAcquired, err, failed)
		}
		select {
		case <-ctx.Done():
			return lockstrategy.Terms{}, errors.Join(lockstrategy.ErrNotAcquired, ctx.Err())
		case <-again.C:
		}
	}
}

func (n names) try(ctx context.Context, key string) (granted int, err error) {
	for _, lock := range n.locks {
		one, failed := reentrant.Run(ctx, lock, []string{key}, n.owner, longLease.Milliseconds()).Int()
		granted, err = granted+one, errors.Join(err, failed)
	}
	return granted, err
}

func (n names) release(ctx context.Context, key string) (released int, err error) {
	for _, lock := range n.locks {
		one, failed := giveBack.Run(ctx, lock, []string{key}, n.owner).Int()
		released, err = released+one, errors.Join(err, failed)
	}
	return released, err
}

// keptNames is what was granted. Its lease is not renewed: it is longer than the experiment.
type keptNames struct {
	names
	key string
}

// Renew confirms what was granted.
func (k keptNames) Renew(context.Context) (time.Time, error) { return time.Now().Add(longLease), nil }

// Release gives all names back.
func (k keptNames) Release(ctx context.Context, _ bool) (time.Duration, error) {
	released, err := k.release(ctx, k.key)
	if err == nil && released == 0 {
		err = lockstrategy.ErrGone
	}
	return 0, err
}

// Watch hears nothing.
func (k keptNames) Watch() (ring <-chan struct{}, stop func()) { return nil, func() {} }
