package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redlockPrefix keeps the keys of the quorum apart from those of the Redis lock, which are hashes.
const redlockPrefix = "redlock:"

// RedLockConfig configures [NewRedLock]. The zero value means the defaults.
type RedLockConfig struct {
	Lease   time.Duration // lifetime of a lease that is not renewed; 0: DefaultLease. Renewal runs at a third of it
	Request time.Duration // longest wait for one node's answer; 0: two seconds, or a third of a shorter lease
}

// RedLock is a lock that a majority of independent Redis nodes has granted (A2, A4; the algorithm
// is redsync's). The key on each node is "redlock:" and the lock's key.
//
// Exclusion holds while a majority of the nodes keeps its keys. It breaks when a node that restarts
// empty, or whose clock jumps ahead, votes again within the lease. It issues no fence. A try waits
// for every node, so one node that hangs slows each down to the request timeout.
type RedLock struct {
	sync    *redsync.Redsync
	nodes   int
	lease   time.Duration
	request time.Duration
}

var _ Strategy = (*RedLock)(nil)

// NewRedLock returns a lock over nodes, which must be independent of each other: no replicas.
func NewRedLock(nodes []redis.UniversalClient, cfg RedLockConfig) (*RedLock, error) {
	lease, request, err := timing(cfg.Lease, cfg.Request)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, errors.New("lock: redlock needs at least one node, five in earnest")
	}
	var pools []pool.Pool
	for _, node := range nodes {
		pools = append(pools, goredis.NewPool(node))
	}
	return &RedLock{sync: redsync.New(pools...), nodes: len(nodes), lease: lease, request: request}, nil
}

// Acquire tries until a majority of the nodes has granted key, with random pauses between: RedLock
// has no release message. It gives up when a majority of the nodes cannot be reached.
func (r *RedLock) Acquire(ctx context.Context, key string) (*Lease, error) {
	for {
		if ctx.Err() != nil {
			return nil, notAcquired(key, ended(ctx))
		}
		mutex, err := r.try(ctx, key)
		switch {
		case err == nil && ctx.Err() == nil:
			return hold(ctx, r.term(mutex)), nil
		case err == nil: // granted too late: nobody waits for it any more
			_ = r.term(mutex).release(context.WithoutCancel(ctx))
			continue
		case r.unreachable(err):
			return nil, notAcquired(key, fmt.Errorf("%w: %w", ErrUnavailable, err))
		}
		pause := time.NewTimer(5*time.Millisecond + rand.N(20*time.Millisecond))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// try asks every node once. redsync takes a failed try back under the context of the try, so that
// context must not be the caller's: under one that has ended, the taking back would do nothing and
// leave the key until its lease ends.
func (r *RedLock) try(ctx context.Context, key string) (*redsync.Mutex, error) {
	mutex := r.sync.NewMutex(redlockPrefix+key,
		redsync.WithExpiry(r.lease),
		redsync.WithTimeoutFactor(float64(r.request)/float64(r.lease)), // per node
	)
	return mutex, mutex.TryLockContext(context.WithoutCancel(ctx))
}

func (r *RedLock) term(mutex *redsync.Mutex) term {
	return term{
		until: mutex.Until(),
		every: r.lease / 3,
		renew: func(ctx context.Context) (time.Time, error) {
			ctx, cancel := context.WithTimeout(ctx, r.request)
			defer cancel()
			extended, err := mutex.ExtendContext(ctx)
			if extended {
				return mutex.Until(), nil
			}
			if gone := new(redsync.ErrTaken); errors.As(err, &gone) {
				return time.Time{}, fmt.Errorf("%w: %s has no majority any more: %w", ErrLost, mutex.Name(), err)
			}
			return time.Time{}, fmt.Errorf("%w: renew: %w", ErrUnavailable, err)
		},
		release: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, r.request)
			defer cancel()
			released, err := mutex.UnlockContext(ctx)
			switch {
			case released:
				return nil
			case silent(err) > 0: // it may have released, and it may still have the key
				return fmt.Errorf("%w: release: %w", ErrUnavailable, err)
			}
			return fmt.Errorf("%w: %s had no majority any more when it was released", ErrLost, mutex.Name())
		},
	}
}

// unreachable reports whether so many nodes gave no answer that the others are no majority.
func (r *RedLock) unreachable(err error) bool {
	return r.nodes-silent(err) < r.nodes/2+1
}

// silent counts the nodes in err that gave no answer. redsync joins one error per node.
func silent(err error) int {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		n := 0
		for _, e := range joined.Unwrap() {
			n += silent(e)
		}
		return n
	}
	if node := new(redsync.RedisError); errors.As(err, &node) {
		return 1
	}
	return 0
}
