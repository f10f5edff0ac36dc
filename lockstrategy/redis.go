package lockstrategy

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/pubsub"
)

// Redis is a lock on one Redis: a single server, a master, or the key's master in a cluster. It speaks the wire protocol of
// Redisson's RLock (A1), so Java services can use the same locks.
//
// There may be two holders when one pauses past its lease or ignores its context. There may be two when the server loses the key:
// in a failover, a restart with data loss, an eviction, or a clock jump.
// Callers compete on the server in no order: a [Cohort] queues those of one process.
type Redis struct {
	client   redis.UniversalClient
	timing   Timing
	process  string        // the first half of every owner of this process
	attempt  atomic.Uint64 // the second half of an owner: decimal, as Redisson's thread id
	hub      *pubsub.Hub
	sessions *Sessions

	acquireScript, renewScript, releaseScript *redis.Script
}

// NewRedis returns a lock on client. Close it before client.
// The client must let a context bound its commands (ContextTimeoutEnabled), or [Timing.Request] bounds nothing. It must not
// repeat commands (MaxRetries: -1): a release that was executed twice says [ErrGone].
func NewRedis(client redis.UniversalClient, timing Timing) (*Redis, error) {
	timing, err := timing.checked()
	if err != nil {
		return nil, err
	}
	_, cluster := client.(*redis.ClusterClient)
	return &Redis{
		client: client, timing: timing, process: uuid.NewString(), sessions: NewSessions(),
		hub:           pubsub.New(client, cluster),
		acquireScript: redis.NewScript(acquireSource), renewScript: redis.NewScript(renewSource), releaseScript: redis.NewScript(releaseSource),
	}, nil
}

// Close ends the subscriptions and the repeated releases. Callers that wait, or ask from now on, get [ErrUnavailable]. Leases that
// are held stay held, and can be released.
func (r *Redis) Close() error {
	r.sessions.Close()
	r.hub.Close()
	return nil
}

// Acquire tries. While another holds key it waits for a notification, or until the other's lease ends, and tries again.
func (r *Redis) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	if err := checkKey(key); err != nil {
		return nil, notAcquired(key, err)
	}
	w := waiter{hubs: []*pubsub.Hub{r.hub}, channel: channelOf(key), life: r.sessions.ctx, interval: pollInterval}
	o := owner{Redis: r, key: key, name: r.process + ":" + strconv.FormatUint(r.attempt.Add(1), 10)}
	return w.acquire(ctx, key, options, func(request Request) (*Lease, time.Duration, error) {
		grant, rest, err := o.acquire(ctx, request)
		if err != nil || grant.Token == 0 {
			return nil, rest, err
		}
		lease, err := r.sessions.Lease(ctx, request, grant)
		return lease, 0, err
	})
}

// owner is one call of Acquire. No other call has its name, so an acquire or a renewal that is executed twice changes nothing. A release
// that is executed twice frees nothing more, but answers [ErrGone].
type owner struct {
	*Redis
	key, name     string
	lease, extend time.Duration // extend: what a renewal sets; 0: it only asks
}

// acquire sends one request. A token of 0 is a refusal: another owner has the key, and rest is what is left of its lease.
func (o *owner) acquire(ctx context.Context, request Request) (g Grant, rest time.Duration, err error) {
	if o.lease, o.extend = o.timing.Lease, o.timing.Lease; request.Lease != nil {
		o.lease, o.extend = *request.Lease, 0
	}
	g = Grant{
		Key: o.key, Tokens: request.Tokens, Asked: time.Now(), Lease: o.lease, Renewed: o.extend > 0,
		Renew: o.renew, Release: o.release, Watch: o.watch,
	}
	reply, err := o.run(ctx, o.acquireScript, []string{o.key, tokenKey(o.key)}, o.lease.Milliseconds(), o.name, request.Tokens).Int64Slice()
	if err != nil {
		if mayHaveRun(err) {
			o.sessions.compensate(g)
		}
		return g, 0, unavailable("acquire", o.key, err)
	}
	g.Token = uint64(reply[0])
	if rest = time.Duration(reply[1]+1) * time.Millisecond; reply[1] == -1 { // that key has no expiry
		rest = o.timing.Lease
	}
	return g, rest, nil
}

func (o *owner) renew(ctx context.Context) error {
	held, err := o.run(ctx, o.renewScript, []string{o.key}, o.extend.Milliseconds(), o.name).Bool()
	switch {
	case err != nil:
		return unavailable("renew", o.key, err)
	case !held:
		return fmt.Errorf("%w: %s", ErrGone, o.key)
	}
	return nil
}

// release frees the key, and says how many other processes were notified: published leaves this process's own subscription out.
func (o *owner) release(ctx context.Context) (others int, err error) {
	published := o.hub.Publishing(channelOf(o.key))
	reply, err := o.run(ctx, o.releaseScript, []string{o.key, channelOf(o.key)}, o.name, o.hub.Publish()).Int64Slice()
	if err != nil {
		published(pubsub.Unpublished)
		return 0, unavailable("release", o.key, err)
	}
	others = published(int(reply[1])) // pubsub.Refused is Unknown
	if reply[0] == 0 {
		return 0, fmt.Errorf("%w: %s, when it was released", ErrGone, o.key)
	}
	return others, nil
}

// watch calls notify(true) when a release of the key is published, and notify(false) when messages may have been lost.
func (o *owner) watch(notify func(released bool)) (stop func()) {
	return o.hub.Listen(channelOf(o.key), notify)
}

// run executes a script within the time for one request, whatever becomes of ctx: an answer must not get lost.
func (r *Redis) run(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timing.Request)
	defer cancel()
	return script.Run(ctx, r.client, keys, args...)
}
