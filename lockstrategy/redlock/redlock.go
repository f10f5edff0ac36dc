// Package redlock is RedLock over redsync: a lock that a majority of independent Redis nodes grants. redlock.go is the lock, votes.go hears
// nodes that answer late, and notify.go tells those that wait of a release.
package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock/pubsub"
	"locklab/lockstrategy/session"
)

// Lock is a lock that a majority of independent Redis nodes has granted (A2, A4). redsync asks the nodes, counts their votes, and
// compares before it deletes. The key on each node is "redlock:" and the lock's key. In addition to redsync, the lease is renewed, a
// release is published on every node, and a node that did not answer a try that failed is released in the background.
//
// Exclusion holds while a majority of the nodes keeps its keys. It breaks when a node that restarts empty, or whose clock jumps
// ahead, votes again within the lease (Kleppmann 2016; antirez, "Is Redlock safe?"). It issues no fencing token. Every caller competes,
// without a queue: package localqueue queues those of one process.
type Lock struct {
	nodes  []redis.UniversalClient
	hubs   []*pubsub.Hub // one for each node
	timing lockstrategy.Timing
	keeper *session.Keeper
}

// DefaultNodeTimeout is far below a lease, and longer than a busy machine delays an answer. A2 and A4 ask the nodes one after another. A4
// gives each 5 to 50 ms for a lease of 10 s, A2 some tens of milliseconds for 30 s. All nodes are asked simultaneously here, so a longer
// timeout costs nothing while a majority answers.
const DefaultNodeTimeout = 500 * time.Millisecond

// New returns a lock over nodes, which must be independent of each other: no replicas. Close it before them. [lockstrategy.Timing.Request]
// bounds the answer of one node. Its default is [DefaultNodeTimeout], or a third of a shorter lease.
func New(nodes []redis.UniversalClient, timing lockstrategy.Timing) (*Lock, error) {
	timing.Request = cmp.Or(timing.Request, min(DefaultNodeTimeout, cmp.Or(timing.Expiry, lockstrategy.DefaultLease)/3))
	timing, err := timing.WithDefaults()
	if err != nil {
		return nil, fmt.Errorf("lock: redlock: the timeout of a node (--node-timeout) counts as request timeout: %w", err)
	}
	if len(nodes) == 0 {
		return nil, errors.New("lock: redlock needs at least one node, and five to be of use")
	}
	r := &Lock{nodes: nodes, timing: timing, keeper: session.NewKeeper()}
	for _, client := range nodes {
		r.hubs = append(r.hubs, pubsub.New(client, false))
	}
	return r, nil
}

// Close ends the subscriptions and the repeated releases. Callers that wait get [lockstrategy.ErrUnavailable]. Leases that are held stay
// held, and can be released.
func (r *Lock) Close() error {
	r.keeper.Close()
	for _, hub := range r.hubs {
		hub.Close()
	}
	return nil
}

// Process returns the first part of the names of this lock's owners.
func (r *Lock) Process() string { return r.keeper.Process }

// Pauses between two tries when nothing is notified: a tenth of redsync's 50 to 250 ms, because a notification usually comes first. They
// are random, so contenders that have shared the nodes between them do not meet again.
const (
	shortPause = 5 * time.Millisecond
	longPause  = 25 * time.Millisecond
)

// Acquire tries until a majority of the nodes has granted key: when a release is notified, and after random pauses. It returns an error
// when a majority of the nodes gives no answer.
func (r *Lock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	wake := make(chan struct{}, 1)
	return r.keeper.Acquire(ctx, key, request, wake, func(context.Context) (*session.Grant, time.Duration, error) {
		q := r.newQuorum(key, request)
		g := session.Grant{Key: key, Asked: time.Now(), Expiry: q.expiry, Renewed: q.renewed, Owner: q}
		err := q.mutex.TryLock()
		if err == nil {
			return &g, 0, nil
		}
		r.keeper.InBackground(func() { q.takeBack(g) })
		if len(unanswered(err)) > len(r.nodes)-r.majority() {
			return nil, 0, r.unavailable("acquire", err)
		}
		for i := len(stops); i < len(r.hubs) && !request.Once; i++ {
			stops = append(stops, r.hubs[i].Listen(ChannelOf(key), func(bool) { session.Wake(wake) }))
		}
		return nil, shortPause + rand.N(longPause-shortPause), lockstrategy.OtherHolder{}
	})
}

// quorum is one try on all nodes, and the owner of its grant.
type quorum struct {
	lock       *Lock
	key, value string
	expiry     time.Duration
	renewed    bool
	votes      []*vote
	mutex      *redsync.Mutex
	released   atomic.Pointer[released]
}

func (r *Lock) newQuorum(key string, request lockstrategy.Request) *quorum {
	q := &quorum{lock: r, key: key, value: r.keeper.NewName()}
	q.expiry, q.renewed = request.Lease(r.timing.Expiry)
	pools := make([]redsyncredis.Pool, len(r.nodes))
	for i, client := range r.nodes {
		q.votes = append(q.votes, &vote{Pool: goredis.NewPool(client), timeout: r.timing.Request, asked: make(chan struct{})})
		pools[i] = q.votes[i]
	}
	q.mutex = q.over(pools...)
	return q
}

// over is redsync's mutex on some of the nodes. Its value is known before the answers: a late one is taken back by it.
func (q *quorum) over(pools ...redsyncredis.Pool) *redsync.Mutex {
	return redsync.New(pools...).NewMutex(Prefix+q.key, redsync.WithExpiry(q.expiry), redsync.WithFailFast(true),
		redsync.WithValue(q.value), redsync.WithGenValueFunc(func() (string, error) { return q.value, nil }))
}

// Renew implements [session.Owner]. It extends the lease on the nodes that still have it.
func (q *quorum) Renew(ctx context.Context) error {
	extended, err := q.mutex.ExtendContext(ctx)
	refused := new(redsync.ErrTaken) // by a majority; the state of the silent nodes is not known
	switch {
	case extended:
		return nil
	case errors.As(err, &refused):
		return fmt.Errorf("%w: no majority has %s: %w", lockstrategy.ErrGone, q.mutex.Name(), err)
	}
	return q.lock.unavailable("renew", err)
}

// Release implements [session.Owner]. It frees the nodes, and notifies the others.
func (q *quorum) Release(ctx context.Context) error {
	released, err := q.mutex.UnlockContext(ctx)
	switch {
	case released:
		q.publish(ctx)
		return nil
	case len(unanswered(err)) > 0: // it may have released, and may still have the key
		return q.lock.unavailable("release", err)
	}
	q.publish(ctx)
	return fmt.Errorf("%w: no majority had %s when it was released", lockstrategy.ErrGone, q.mutex.Name())
}

// Prefix and the lock's key are the key on each node.
const Prefix = "redlock:"

func (r *Lock) majority() int { return len(r.nodes)/2 + 1 }

// unavailable names the nodes that gave no answer.
func (r *Lock) unavailable(what string, err error) error {
	var reasons []string
	for _, e := range unanswered(err) {
		reasons = append(reasons, fmt.Sprintf("%v: %v", r.nodes[e.Node], e.Err))
	}
	if len(reasons) == 0 {
		return fmt.Errorf("%w: %s: %w", lockstrategy.ErrUnavailable, what, err)
	}
	return fmt.Errorf("%w: %s: %d of %d nodes gave no answer: %s",
		lockstrategy.ErrUnavailable, what, len(reasons), len(r.nodes), strings.Join(reasons, "; "))
}

// unanswered lists the nodes in err that gave no answer. redsync joins one error per node.
func unanswered(err error) []*redsync.RedisError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*redsync.RedisError
		for _, e := range joined.Unwrap() {
			all = append(all, unanswered(e)...)
		}
		return all
	}
	if one := new(redsync.RedisError); errors.As(err, &one) {
		return []*redsync.RedisError{one}
	}
	return nil
}
