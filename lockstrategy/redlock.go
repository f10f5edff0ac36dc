package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// redlockPrefix keeps the keys of the quorum apart from those of the Redis lock, which are hashes.
const redlockPrefix = "redlock:"

// redlockChannel is where a release of the quorum is told, before the lock's key.
const redlockChannel = "redlock_channel:"

// RedLockConfig configures [NewRedLock]. The zero value means the defaults.
type RedLockConfig struct {
	Lease   time.Duration // lifetime of a lease that is not renewed; 0: DefaultLease. Renewal runs at a third of it
	Request time.Duration // longest wait for one node's answer; 0: two seconds, or a third of a shorter lease
}

// RedLock is a lock that a majority of independent Redis nodes has granted (A2, A4; the algorithm
// is redsync's). The key on each node is "redlock:" and the lock's key. Beside redsync, a release is
// told on a channel of each node, so that who waits tries at once; the pauses between tries remain for
// what is not told.
//
// Exclusion holds while a majority of the nodes keeps its keys. It breaks when a node that restarts
// empty, or whose clock jumps ahead, votes again within the lease. It issues no fence. A try waits
// for every node, so one node that hangs slows each down to the request timeout. It is a [Backend]: for one
// contender per process and key, so put a [Cohort] in front.
type RedLock struct {
	sync    *redsync.Redsync
	nodes   []redis.UniversalClient
	news    []*news // one per node
	undo    *undo
	lease   time.Duration
	request time.Duration
}

var _ Backend = (*RedLock)(nil)

// NewRedLock returns a lock over nodes, which must be independent of each other: no replicas. Close it before them.
func NewRedLock(nodes []redis.UniversalClient, cfg RedLockConfig) (*RedLock, error) {
	lease, request, err := timing(cfg.Lease, cfg.Request)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, errors.New("lock: redlock needs at least one node, five in earnest")
	}
	r := &RedLock{nodes: nodes, undo: newUndo(), lease: lease, request: request}
	var pools []pool.Pool
	for _, node := range nodes {
		pools = append(pools, goredis.NewPool(node))
		r.news = append(r.news, newNews(node, ""))
	}
	r.sync = redsync.New(pools...)
	return r, nil
}

// Close ends the subscriptions and the attempts to release what no majority has confirmed. Who still waits gets
// [ErrUnavailable].
func (r *RedLock) Close() error {
	r.undo.close()
	for _, n := range r.news {
		_ = n.close()
	}
	return nil
}

// Grant tries until a majority of the nodes has granted key: when a release is told, and after random
// pauses, so that contenders who have shared the nodes between them do not meet again. It gives
// up when a majority of the nodes cannot be reached.
func (r *RedLock) Grant(ctx context.Context, key string, ask Ask) (Terms, error) {
	at := &place{ear: newEar(redlockChannel + key)}
	listening := false
	defer func() {
		if listening {
			r.leave(at.ear)
		}
	}()
	for pause := ask.Defer; ; pause = shortPause + rand.N(longPause-shortPause) {
		if pause > 0 && !listening && !ask.AtOnce {
			listening = true
			r.join(at.ear)
		}
		if err := at.wait(ctx, pause); err != nil {
			return Terms{}, notAcquired(key, err)
		}
		terms, err := r.try(ctx, key, ask)
		switch {
		case err == nil:
			return terms, nil
		case r.silent(err) > len(r.nodes)-r.majority():
			return Terms{}, notAcquired(key, r.unavailable("acquire", err))
		case ask.AtOnce:
			return Terms{}, notAcquired(key, fmt.Errorf("%w: %w", ErrTaken, err))
		}
	}
}

// Pauses between tries when nothing is told.
const (
	shortPause = 5 * time.Millisecond
	longPause  = 25 * time.Millisecond
)

func (r *RedLock) join(e *ear) {
	for _, n := range r.news {
		n.join(e, false)
	}
}

func (r *RedLock) leave(e *ear) {
	for _, n := range r.news {
		n.leave(e)
	}
}

// try asks every node once. redsync takes a failed try back under the context of the try, so that
// context must not be the caller's: under one that has ended, the taking back would do nothing and
// leave the key until its lease ends.
func (r *RedLock) try(ctx context.Context, key string, ask Ask) (Terms, error) {
	lease := r.lease
	if ask.Lease > 0 {
		lease = ask.Lease
	}
	value := uuid.NewString()
	mutex := r.sync.NewMutex(redlockPrefix+key,
		redsync.WithValue(value), // known before the answers are, or what they say could not be taken back
		redsync.WithGenValueFunc(func() (string, error) { return value, nil }),
		redsync.WithExpiry(lease),
		redsync.WithTimeoutFactor(float64(r.request)/float64(lease)), // per node
	)
	keeper := &redlockKeeper{r: r, mutex: mutex, lease: lease, explicit: ask.Lease > 0, channel: redlockChannel + key}
	if err := mutex.TryLockContext(context.WithoutCancel(ctx)); err != nil {
		if r.mayBlock(err) {
			r.undo.repeat(firstUndo, time.Now().Add(lease+r.request), keeper.release)
		}
		return Terms{}, err
	}
	terms := Terms{Until: mutex.Until(), Keeper: keeper}
	if ask.Lease == 0 {
		terms.Renewal = lease / 3
	}
	return terms, nil
}

// mayBlock reports whether a try that failed with err, and could not be taken back, may keep everybody else from a
// majority until its lease ends.
func (r *RedLock) mayBlock(err error) bool {
	asked := 0
	for _, e := range perNode(err) {
		if !unsent(e.Err) {
			asked++
		}
	}
	return asked > len(r.nodes)-r.majority()
}

func (r *RedLock) majority() int { return len(r.nodes)/2 + 1 }

// unavailable names the nodes that gave no answer.
func (r *RedLock) unavailable(what string, err error) error {
	var named []string
	for _, e := range perNode(err) {
		named = append(named, fmt.Sprintf("%s: %v", address(r.nodes[e.Node]), e.Err))
	}
	if len(named) == 0 {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
	}
	return fmt.Errorf("%w: %s: %d of %d nodes gave no answer: %s", ErrUnavailable, what, len(named), len(r.nodes), strings.Join(named, "; "))
}

func (r *RedLock) silent(err error) int { return len(perNode(err)) }

// perNode lists the nodes in err that gave no answer. redsync joins one error per node.
func perNode(err error) []*redsync.RedisError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*redsync.RedisError
		for _, e := range joined.Unwrap() {
			all = append(all, perNode(e)...)
		}
		return all
	}
	if node := new(redsync.RedisError); errors.As(err, &node) {
		return []*redsync.RedisError{node}
	}
	return nil
}

func address(node redis.UniversalClient) string {
	if single, ok := node.(*redis.Client); ok {
		return single.Options().Addr
	}
	return fmt.Sprint(node)
}
