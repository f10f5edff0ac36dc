package lockstrategy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/pubsub"
)

// RedLock is a lock that a majority of independent Redis nodes has granted (A2, A4; the algorithm is redsync's). The key on each
// node is "redlock:" and the lock's key. In addition to redsync, a release is published on every node, and nothing waits for the
// other nodes once a majority has answered.
//
// Exclusion holds while a majority of the nodes keeps its keys. It breaks when a node that restarts empty, or whose clock jumps
// ahead, votes again within the lease (Kleppmann 2016; antirez, "Is Redlock safe?"). It issues no fencing token. Every caller competes,
// without a queue: a [Cohort] queues those of one process.
type RedLock struct {
	base
	nodes  []*node
	hubs   []*pubsub.Hub // one for each node
	expiry time.Duration
}

// DefaultNodeTimeout is far below a lease, and longer than a busy machine delays an answer. A2 and A4 ask the nodes one after another. A4
// gives each 5 to 50 ms for a lease of 10 s, A2 some tens of milliseconds for 30 s. All nodes are asked simultaneously here, so a longer
// timeout costs nothing while a majority answers.
const DefaultNodeTimeout = 500 * time.Millisecond

// NewRedLock returns a lock over nodes, which must be independent of each other: no replicas. Close it before them. [Timing.Request] bounds
// the answer of one node; 0: [DefaultNodeTimeout], or a third of a shorter lease.
func NewRedLock(nodes []redis.UniversalClient, timing Timing) (*RedLock, error) {
	timing.Request = cmp.Or(timing.Request, min(DefaultNodeTimeout, cmp.Or(timing.Expiry, DefaultLease)/3))
	timing, err := timing.checked()
	if err != nil {
		return nil, fmt.Errorf("lock: redlock: the timeout of a node (--node-timeout) counts as request timeout: %w", err)
	}
	if len(nodes) == 0 {
		return nil, errors.New("lock: redlock needs at least one node, and five to be of use")
	}
	r := &RedLock{base: newBase(), expiry: timing.Expiry}
	for _, client := range nodes {
		r.nodes = append(r.nodes, &node{server{client: client, timeout: timing.Request, sessions: r.sessions}})
		r.hubs = append(r.hubs, pubsub.New(client, false))
	}
	return r, nil
}

// Close ends the subscriptions and the repeated releases. Callers that wait get [ErrUnavailable]. Leases that are held stay held, and
// can be released.
func (r *RedLock) Close() error {
	r.sessions.Close()
	for _, hub := range r.hubs {
		hub.Close()
	}
	return nil
}

// Acquire tries until a majority of the nodes has granted key: when a release is notified, and after random pauses. So contenders
// that have shared the nodes between them do not meet again. It returns an error when a majority of the nodes gives no answer.
func (r *RedLock) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	request, err := NewRequest(options...)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	ctx, cancel := request.within(ctx)
	defer cancel()
	w := waiter{hubs: r.hubs, channel: redlockChannel(key), life: r.sessions.ctx, interval: pollInterval}
	defer w.stop()
	if err := w.yield(ctx, request.Yield); err != nil {
		return nil, notAcquired(key, err)
	}
	for {
		grant, err := r.try(key, request)
		switch {
		case err == nil:
			return r.sessions.Begin(ctx, request, grant)
		case len(unanswered(err)) > len(r.nodes)-r.majority():
			return nil, notAcquired(key, r.unavailable("acquire", err))
		case request.Once:
			return nil, notAcquired(key, w.taken())
		}
		if err := w.wait(ctx, shortPause+rand.N(longPause-shortPause)); err != nil {
			return nil, notAcquired(key, err)
		}
	}
}

// Pauses between tries when nothing is notified: a tenth of redsync's 50 to 250 ms, because a notification usually comes first.
const (
	shortPause = 5 * time.Millisecond
	longPause  = 25 * time.Millisecond
)

// try asks every node once.
func (r *RedLock) try(key string, request Request) (Grant, error) {
	g := Grant{Key: key, Asked: time.Now()}
	g.Expiry, g.Renewed = request.expiry(r.expiry)
	a := r.newAttempt(key, g.Expiry)
	g.Renew, g.Release = a.renew, a.release
	err := a.mutex.TryLock()
	if err != nil {
		r.sessions.inBackground(func() { a.takeBack(g) })
	}
	return g, err
}

// attempt is one try on all nodes. It also renews and releases its grant.
type attempt struct {
	*RedLock
	key, value string
	lease      time.Duration
	votes      []*vote
	mutex      *redsync.Mutex
}

func (r *RedLock) newAttempt(key string, lease time.Duration) *attempt {
	// The value must be known before the answers: a late answer is taken back by it.
	a := &attempt{RedLock: r, key: key, value: r.newName(), lease: lease}
	pools := make([]redsyncredis.Pool, len(r.nodes))
	for i, n := range r.nodes {
		a.votes = append(a.votes, &vote{node: n, asked: make(chan struct{})})
		pools[i] = a.votes[i]
	}
	a.mutex = a.over(pools...)
	return a
}

// over is the attempt on some of its nodes.
func (a *attempt) over(pools ...redsyncredis.Pool) *redsync.Mutex {
	return redsync.New(pools...).NewMutex(redlockPrefix+a.key, redsync.WithValue(a.value), redsync.WithExpiry(a.lease),
		redsync.WithGenValueFunc(func() (string, error) { return a.value, nil }), redsync.WithFailFast(true))
}

// takeBack compensates a try that was refused, on each node that may have executed it without an answer. redsync releases it, too, but
// once. Two tries that leave the key on two nodes each would keep all others from a majority.
func (a *attempt) takeBack(g Grant) {
	for _, v := range a.votes {
		if <-v.asked; mayHaveRun(v.err) {
			g.Release = func(ctx context.Context) (int, error) {
				_, err := a.over(v).UnlockContext(ctx)
				if len(unanswered(err)) > 0 {
					return 0, fmt.Errorf("%w: %s: %w", ErrUnavailable, v, err)
				}
				return 0, nil
			}
			a.sessions.compensate(v.late(g))
		}
	}
}

// renew extends the lease on the nodes that still have it.
func (a *attempt) renew(ctx context.Context) error {
	extended, err := a.mutex.ExtendContext(ctx)
	refused := new(redsync.ErrTaken) // by a majority; the state of the silent nodes is not known
	switch {
	case extended:
		return nil
	case errors.As(err, &refused):
		return fmt.Errorf("%w: no majority has %s: %w", ErrGone, a.mutex.Name(), err)
	}
	return a.unavailable("renew", err)
}

// release frees the nodes, and says how many other processes were notified.
func (a *attempt) release(ctx context.Context) (listeners int, err error) {
	released, err := a.mutex.UnlockContext(ctx)
	switch {
	case released:
		return a.publish(), nil
	case len(unanswered(err)) > 0: // it may have released, and may still have the key
		return 0, a.unavailable("release", err)
	}
	return a.publish(), fmt.Errorf("%w: no majority had %s when it was released", ErrGone, a.mutex.Name())
}

// publish notifies on every node, and returns when a majority has answered. listeners is the largest number of processes that one of
// them has notified. Unknown: no node of that majority could publish.
func (a *attempt) publish() (listeners int) {
	notified := make(chan int, len(a.nodes))
	for i, n := range a.nodes {
		go func() { notified <- n.publish(a.hubs[i], redlockChannel(a.key)) }()
	}
	listeners = Unknown
	for range a.majority() {
		listeners = max(listeners, <-notified)
	}
	return listeners
}

// tryNotify implements a step of [Probe]. One node that notifies is enough.
func (r *RedLock) tryNotify(_ context.Context, key string) (err error) {
	for i, n := range r.nodes {
		err = n.send(func(ctx context.Context) error { return r.hubs[i].Try(ctx, redlockChannel(key)) })
		if err == nil {
			return nil
		}
	}
	return err
}

// redlockPrefix and the lock's key are the key on each node.
const redlockPrefix = "redlock:"

// redlockChannel names the channel on which the release of key is published on each node.
func redlockChannel(key string) string { return "redlock_channel:" + key }

func (r *RedLock) majority() int { return len(r.nodes)/2 + 1 }

// unavailable names the nodes that gave no answer.
func (r *RedLock) unavailable(what string, err error) error {
	var reasons []string
	for _, e := range unanswered(err) {
		reasons = append(reasons, fmt.Sprintf("%s: %v", r.nodes[e.Node], e.Err))
	}
	if len(reasons) == 0 {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, what, err)
	}
	return fmt.Errorf("%w: %s: %d of %d nodes gave no answer: %s",
		ErrUnavailable, what, len(reasons), len(r.nodes), strings.Join(reasons, "; "))
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
