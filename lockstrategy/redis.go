package lockstrategy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// RedisClient is what the Redis lock needs of go-redis: scripts and subscriptions.
type RedisClient interface {
	redis.Scripter
	HGetAll(ctx context.Context, key string) *redis.MapStringStringCmd
	PTTL(ctx context.Context, key string) *redis.DurationCmd
	Pipelined(ctx context.Context, fn func(redis.Pipeliner) error) ([]redis.Cmder, error)
	PubSubShardNumSub(ctx context.Context, channels ...string) *redis.MapStringIntCmd
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	SSubscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// RedisConfig configures [NewRedis]. The zero value means the defaults.
type RedisConfig struct {
	Lease   time.Duration // lifetime of a lease that is not renewed; 0: DefaultLease. Renewal runs at a third of it
	Request time.Duration // longest wait for one answer; 0: two seconds, or a third of a shorter lease
	// PlainPublish tells releases on plain channels in a cluster, too, where Redis 7 and Redisson since 3.22 use
	// sharded ones: for Java services with subscriptions that are not sharded.
	PlainPublish bool
}

// Redis is a lock on one Redis (a single server, a master, or the key's master in a cluster) on the
// wire protocol of Redisson's RLock (A1): Java services that use the same key are excluded, and
// woken, and exclude and wake us. Beside Redisson's keys it has a queue of the Go processes that wait,
// so that a release wakes one of them, the one that has waited longest.
//
// Exclusion holds while the server keeps the key for its whole expiry and the holder stops when its
// lease's context ends. It breaks when a replica that has not got the key is promoted, when the key
// is evicted, and when a holder ignores its context. It is a [Backend]: for one contender per process
// and key, so put a [Cohort] in front.
type Redis struct {
	client  RedisClient
	lease   time.Duration
	request time.Duration
	process string        // the first half of every owner of this process
	number  string        // the process in the queue, and in messages: an integer, because Java reads messages as such
	attempt atomic.Uint64 // the second half of an owner: decimal, as Redisson's thread id
	tells   tells         // by which command releases are told
	repeats bool          // the client may send a command more than once
	news    *news
	undo    *undo
	scripts scripts

	mu     sync.Mutex
	places map[string]*place // by key: where this process waits, or has waited just now
}

var (
	_ Backend = (*Redis)(nil)
	_ Admin   = (*Redis)(nil)
)

// NewRedis returns a lock on client. Close it before client.
//
// The client must let a context bound its commands (ContextTimeoutEnabled), or [RedisConfig.Request] bounds
// nothing. It should not repeat commands (MaxRetries: -1): a release that was executed twice says [ErrGone].
func NewRedis(client RedisClient, cfg RedisConfig) (*Redis, error) {
	lease, request, err := timing(cfg.Lease, cfg.Request)
	if err != nil {
		return nil, err
	}
	id := uuid.New()
	r := &Redis{
		client: client, lease: lease, request: request, process: id.String(), number: processNumber(id),
		news: newNews(client, processNumber(id)), undo: newUndo(), scripts: newScripts(), places: make(map[string]*place),
	}
	if _, cluster := client.(*redis.ClusterClient); !cluster || cfg.PlainPublish {
		r.tells.settle(plain)
	}
	if c, ok := client.(*redis.Client); ok {
		r.repeats = c.Options().MaxRetries > 0
	}
	return r, nil
}

// Close ends the subscriptions and the attempts to release what no server has confirmed. Who still waits gets
// [ErrUnavailable], as does who asks from now on, and the process leaves the queues. Leases that are held stay held, and
// can be released. With a server that accepts connections and says nothing it takes as long as the client's own timeouts.
func (r *Redis) Close() error {
	r.news.stop() // whoever waits hears it, or will
	r.leavePlaces()
	r.undo.close()
	return r.news.close()
}

// Grant tries; while another holds key it waits until this process is called, until it hears that the lock
// was freed by somebody who calls nobody (Java), or until the other's lease ends, whichever comes first,
// and tries again. Messages may get lost; the timer may not.
func (r *Redis) Grant(ctx context.Context, key string, ask Ask) (Terms, error) {
	if err := checkKey(key); err != nil {
		return Terms{}, notAcquired(key, err)
	}
	if r.news.over() {
		return Terms{}, notAcquired(key, errClosed)
	}
	k := r.newKeeper(key, ask.Lease)
	at := r.place(key, ask.Defer > 0)
	defer func() { r.rest(key, at) }()
	patience := ask.Defer
	if at.queuedSince() == 0 { // it has left the queue since the release: nobody would call it
		patience = 0
	}
	if !ask.AtOnce {
		at.standAside(ctx)
	}
	for {
		if err := at.wait(ctx, patience); err != nil {
			r.leaveIfClosed(ctx, key, at)
			return Terms{}, notAcquired(key, err)
		}
		reply, asked, err := k.acquire(ctx, at.queuedSince(), ask)
		switch {
		case err != nil:
			return Terms{}, notAcquired(key, err)
		case reply[0] > 0:
			at.queued(0)
			return k.granted(uint64(reply[0]), ask.Block, asked), nil
		case ask.AtOnce:
			return Terms{}, notAcquired(key, ErrTaken)
		}
		if at == nil { // the first refusal. Listening begins with a word that makes us try again
			at = r.place(key, true)
		}
		at.queued(reply[2])
		patience = r.lease // also when the key has no expiry, or a long one: the queue lives on by our asking
		if left := time.Duration(reply[1]+1) * time.Millisecond; left > 0 {
			patience = min(patience, left)
		}
	}
}

// acquire asks once, for a process that is in the queue since then, or not (0).
func (k *redisKeeper) acquire(ctx context.Context, since int64, ask Ask) (reply []int64, asked time.Time, err error) {
	queue := k.r.queueLife()
	if ask.AtOnce {
		queue = 0
	}
	if err := k.r.learnTells(ctx); err != nil {
		return nil, asked, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	asked = time.Now() // the server cannot have started the expiry earlier
	reply, err = k.r.run(context.WithoutCancel(ctx), k.r.scripts.acquire, k.keys,
		k.lease.Milliseconds(), k.owner, k.r.number, ask.Block, since, queue)
	if err == nil {
		return reply, asked, nil
	}
	if k.r.uncertain(err) { // it may have been granted, or be in the queue
		k.undo(0)
		k.r.giveUpQueue(k.key)
	}
	return nil, asked, fmt.Errorf("%w: acquire: %w", ErrUnavailable, err)
}

// granted is what the server's answer to a question that was asked then means.
func (k *redisKeeper) granted(fence, block uint64, asked time.Time) Terms {
	k.until = k.validUntil(asked)
	terms := Terms{Fence: fence, Block: block, Until: k.until, Keeper: k}
	if !k.explicit {
		terms.Renewal = k.lease / 3
	}
	return terms
}
