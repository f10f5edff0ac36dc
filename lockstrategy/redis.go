package lockstrategy

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
	"locklab/lockstrategy/pubsub"
)

var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed renew.lua
	renewSource string
	//go:embed release.lua
	releaseSource string
)

// Redis is a lock on one Redis: a single server, a master, or the key's master in a cluster. It speaks the wire protocol of
// Redisson's RLock (A1), so Java services can use the same locks.
//
// There may be two holders when one pauses past its lease or ignores its context. There may be two when the server loses the key:
// in a failover, a restart with data loss, an eviction, or a clock jump. A key may be deleted by hand.
// Callers compete on the server without a queue: a [Cohort] queues those of one process.
type Redis struct {
	server
	owners
	timing Timing
	hub    *pubsub.Hub

	acquireScript, renewScript, releaseScript script
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
		server: server{client: client, timeout: timing.Request, sessions: NewSessions()},
		owners: newOwners(), timing: timing, hub: pubsub.New(client, cluster),
		acquireScript: newScript("acquire", acquireSource),
		renewScript:   newScript("renew", renewSource),
		releaseScript: newScript("release", releaseSource),
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
	request, err := NewRequest(options...)
	if err == nil {
		err = checkKey(key)
	}
	if err != nil {
		return nil, notAcquired(key, err)
	}
	ctx, cancel := request.within(ctx)
	defer cancel()
	w := waiter{hubs: []*pubsub.Hub{r.hub}, channel: channelOf(key), life: r.sessions.ctx, interval: pollInterval}
	defer w.stop()
	if err := w.yield(ctx, request.Yield); err != nil {
		return nil, notAcquired(key, err)
	}
	o := r.newOwner(key, request)
	for {
		grant, left, err := o.acquire(ctx)
		w.tried(request, left, err) // for the error of a wait that ends
		switch {
		case replies.NotNow(err) && !request.Once:
			left = pollInterval // the server may execute the request then
		case err != nil:
			return nil, notAcquired(key, err)
		case grant.Number > 0:
			return r.sessions.Begin(ctx, request, grant)
		case request.Once:
			return nil, notAcquired(key, w.taken())
		}
		if err := w.wait(ctx, left); err != nil {
			return nil, notAcquired(key, err)
		}
	}
}

// owner is one call of Acquire, and the owner of its grant. No other call has its name, so a request that the server executes
// twice is harmless. A second acquire grants again, with a newer number. A second release frees nothing more, but answers [ErrGone].
type owner struct {
	*Redis
	key, name string
	expiry    time.Duration
	renewed   bool
}

func (r *Redis) newOwner(key string, request Request) *owner {
	o := &owner{Redis: r, key: key, name: r.newName()}
	o.expiry, o.renewed = request.expiry(r.timing.Expiry)
	return o
}

// acquire sends one request. A grant without a number is a refusal: another owner has the key. left is the rest of that owner's lease; 0:
// its key has no expiry.
func (o *owner) acquire(ctx context.Context) (g Grant, left time.Duration, err error) {
	if err := o.ready(ctx); err != nil {
		return g, 0, unavailable(o.acquireScript, o.key, err)
	}
	g = Grant{
		Key: o.key, Asked: time.Now(), Expiry: o.expiry, Renewed: o.renewed, Renew: o.renew, Release: o.release,
		// The hub notifies true when a release of the key is published, and false when messages may have been lost.
		Watch: func(notify func(released bool)) (stop func()) { return o.hub.Listen(channelOf(o.key), notify) },
	}
	reply, err := o.run(ctx, o.acquireScript, []string{o.key, grantKey(o.key)}, o.expiry.Milliseconds(), o.name)
	if err != nil {
		if mayHaveRun(err) {
			o.sessions.compensate(o.late(g))
		}
		return g, 0, err
	}
	g.Number = uint64(reply[0])
	return g, time.Duration(reply[1]+1) * time.Millisecond, nil
}

func (o *owner) renew(ctx context.Context) error {
	var extension time.Duration // 0: the script only asks whether the owner still holds the key
	if o.renewed {
		extension = o.expiry
	}
	reply, err := o.run(ctx, o.renewScript, []string{o.key}, extension.Milliseconds(), o.name)
	switch {
	case err != nil:
		return err
	case reply[0] == 0:
		return fmt.Errorf("%w: %s", ErrGone, o.key)
	}
	return nil
}

// release frees the key, and returns the number of other processes that were notified: the hub leaves this process's own subscription out.
// While the server refuses to execute the release for now, it is repeated for the time of one request.
func (o *owner) release(ctx context.Context) (listeners int, err error) {
	published := o.hub.Publishing(channelOf(o.key))
	deadline := time.Now().Add(o.timeout)
	var reply []int64
	for {
		reply, err = o.run(ctx, o.releaseScript, []string{o.key}, o.name, o.hub.PublishCommand(), channelOf(o.key))
		if !replies.NotNow(err) || time.Now().After(deadline) || !o.pause(ctx) {
			break
		}
	}
	if err != nil {
		published(pubsub.Unpublished)
		return 0, err
	}
	listeners = published(int(reply[1]))
	if reply[0] == 0 {
		return 0, fmt.Errorf("%w: %s, when it was released", ErrGone, o.key)
	}
	return listeners, nil
}

// pause waits before a release is repeated. It reports false when ctx ends, or the strategy is closed.
func (r *Redis) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.sessions.ctx.Done():
		return false
	case <-time.After(pollInterval):
		return true
	}
}

// tryNotify implements a step of [Probe].
func (r *Redis) tryNotify(ctx context.Context, key string) error {
	return r.ask(ctx, func(ctx context.Context) error { return r.hub.Try(ctx, channelOf(key)) })
}

// owners makes the names of owners: no two are alike.
type owners struct {
	process string        // the first half of each
	calls   atomic.Uint64 // the second half: decimal, as Redisson's thread id
}

func newOwners() owners { return owners{process: uuid.NewString()} }

func (o *owners) processName() string { return o.process }

func (o *owners) newName() string { return o.process + ":" + strconv.FormatUint(o.calls.Add(1), 10) }

// grantKey is the key of the number of a lock's last grant, of which fencing tokens are made.
func grantKey(key string) string { return prefixed(grantPrefix, key) }

// grantPrefix begins the keys of the numbers of last grants.
const grantPrefix = "locklab_grant"

// channelOf names the channel on which the release of key is published.
func channelOf(key string) string { return prefixed("redisson_lock__channel", key) }

// prefixed builds a name in the cluster slot of key, as Redisson does.
func prefixed(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + ":" + key
	}
	return prefix + ":{" + key + "}"
}

// checkKey refuses keys with braces that are no tag. In a cluster their counter and channel would lie in another slot, and Redisson's too.
// It refuses them on every topology, so that a key that works on one works on all.
func checkKey(key string) error {
	if key == "" {
		return errors.New("a lock needs a name")
	}
	_, tag, _ := strings.Cut(key, "{")
	if strings.ContainsAny(key, "{}") && strings.Index(tag, "}") < 1 { // Redis hashes only a tag: from the first brace that opens
		return fmt.Errorf("%q has a brace but no {tag}, so its token counter and channel would lie in another slot of a cluster: "+
			"use no braces, or put text in braces, as in lock:order:{7}", key)
	}
	return nil
}
