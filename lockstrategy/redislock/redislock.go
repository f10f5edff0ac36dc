package redislock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock/pubsub"
	"locklab/lockstrategy/redislock/script"
	"locklab/lockstrategy/session"
)

// Lock is a lock on one Redis: a single server, a master, or the key's master in a cluster. It speaks the wire protocol of
// Redisson's RLock, so Java services can use the same locks.
//
// There may be two holders when one pauses past its lease or ignores its context, and when the server loses the key: in a failover, a
// restart with data loss, an eviction, a clock jump, or because somebody deletes it.
// Callers compete on the server without a queue: package localqueue queues those of one process.
type Lock struct {
	client redis.UniversalClient
	timing lockstrategy.Timing
	keeper *session.Keeper
	hub    *pubsub.Hub

	acquireScript, renewScript, releaseScript *redis.Script
}

// New returns a lock on client. Close it before client.
// The client must let a context bound its commands (ContextTimeoutEnabled), or [lockstrategy.Timing.Request] bounds nothing. It must not
// repeat commands (MaxRetries: -1): a release that was executed twice says [lockstrategy.ErrGone].
func New(client redis.UniversalClient, timing lockstrategy.Timing) (*Lock, error) {
	timing, err := timing.WithDefaults()
	switch {
	case err != nil:
		return nil, err
	case client == nil:
		return nil, errors.New("lock: no Redis to keep locks in")
	}
	_, cluster := client.(*redis.ClusterClient)
	return &Lock{
		client: client, timing: timing, keeper: session.NewKeeper(), hub: pubsub.New(client, cluster),
		acquireScript: redis.NewScript(script.Acquire), renewScript: redis.NewScript(script.Renew),
		releaseScript: redis.NewScript(script.Release),
	}, nil
}

// Close ends the subscriptions and the repeated releases. Callers that wait, or ask from now on, get [lockstrategy.ErrUnavailable]. Leases
// that are held stay held, are renewed, and can be released. But a release that is not confirmed is not repeated, so the key may stay until
// its lease ends, and a forced unlock is noticed at the next renewal.
func (r *Lock) Close() error {
	r.keeper.Close()
	r.hub.Close()
	return nil
}

// Process returns the first part of the names of this lock's owners.
func (r *Lock) Process() string { return r.keeper.Process }

const (
	pollInterval = 50 * time.Millisecond // the longest pause of a caller that is not notified (TestAWaiterThatIsNotSubscribedPolls)
	longestWait  = time.Second           // the longest wait for a message, which may get lost
)

// Acquire tries. While another holds key it waits for a message, or until the other's lease ends, and tries again.
func (r *Lock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err == nil {
		err = checkKey(key)
	}
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	o := &owner{lock: r, key: key, name: r.keeper.NewName(), once: request.Once, wake: make(chan struct{}, 1)}
	o.expiry, o.renewed = request.Lease(r.timing.Expiry)
	defer o.unsubscribe()
	return r.keeper.Acquire(ctx, key, request, o.wake, o.try)
}

// owner is one call of Acquire, and the owner of its grant. No other call has its name, so a request that the server executes twice cannot
// touch another's lock. A second acquire begins the owner's lease anew, with a newer number. A second release frees nothing, and answers
// [lockstrategy.ErrGone].
type owner struct {
	lock      *Lock
	key, name string
	expiry    time.Duration
	renewed   bool
	once      bool // it does not wait

	wake     chan struct{} // a message came, or may have been missed
	stop     func()        // ends the subscription; nil before there is one
	released atomic.Pointer[pubsub.Published]
}

// ---- Acquire ----

// try asks the server once. A refusal says for how long to wait for a message.
func (o *owner) try(ctx context.Context) (*session.Grant, time.Duration, error) {
	g := session.Grant{Key: o.key, Asked: time.Now(), Expiry: o.expiry, Renewed: o.renewed, Owner: o}
	reply, err := o.run(ctx, o.lock.acquireScript, []string{o.key, script.GrantKey(o.key)}, o.expiry.Milliseconds(), o.name)
	switch {
	case replies.NotNow(err):
		return nil, pollInterval, o.wrap("acquire", err)
	case err != nil:
		if replies.MayHaveRun(err) {
			g.Unanswered = true
			o.lock.keeper.GiveBack(g)
		}
		return nil, 0, o.wrap("acquire", err)
	case reply[0] > 0:
		g.Number = uint64(reply[0])
		return &g, 0, nil
	}
	left := time.Duration(reply[1]+1) * time.Millisecond // Redis rounds down; 0: the other's key has no expiry
	return nil, o.timeToWait(left), lockstrategy.OtherHolder{Left: left}
}

// timeToWait is the longest time to the next try. The first refusal subscribes. Until the server has confirmed that, and whenever the
// connection of the subscription is lost, the caller polls.
func (o *owner) timeToWait(left time.Duration) time.Duration {
	if o.stop == nil && !o.once {
		o.stop = o.lock.hub.Listen(script.Channel(o.key), func(bool) { session.Wake(o.wake) })
	}
	most := longestWait
	if !o.lock.hub.Subscribed(script.Channel(o.key)) {
		most = session.Jitter(pollInterval)
	}
	if left > 0 {
		most = min(most, left)
	}
	return most
}

func (o *owner) unsubscribe() {
	if o.stop != nil {
		o.stop()
	}
}

// ---- Keep ----

// Renew implements [session.Owner].
func (o *owner) Renew(ctx context.Context) error {
	var extension time.Duration // with 0 the script only asks whether the owner still holds the key
	if o.renewed {
		extension = o.expiry
	}
	reply, err := o.run(ctx, o.lock.renewScript, []string{o.key}, extension.Milliseconds(), o.name)
	switch {
	case err != nil:
		return o.wrap("renew", err)
	case reply[0] == 0:
		return fmt.Errorf("%w: %s", lockstrategy.ErrGone, o.key)
	}
	return nil
}

// Watch implements [session.Watcher].
func (o *owner) Watch(notify func(released bool)) (stop func()) {
	return o.lock.hub.Listen(script.Channel(o.key), notify)
}

// ---- Release ----

// Release implements [session.Owner]. The script publishes the release, and says how many processes received that.
func (o *owner) Release(ctx context.Context) error {
	var held int64
	channel := script.Channel(o.key)
	message, err := o.lock.hub.Publish(channel, func() (received int64, err error) {
		reply, err := o.run(ctx, o.lock.releaseScript, []string{o.key}, o.name, o.lock.hub.PublishCommand(), channel)
		if err != nil {
			return 0, err
		}
		held = reply[0]
		return reply[1], nil
	})
	o.released.Store(message)
	switch {
	case err != nil:
		return o.wrap("release", err)
	case held == 0:
		return fmt.Errorf("%w: %s, when it was released", lockstrategy.ErrGone, o.key)
	}
	return nil
}

// Others implements [lockstrategy.Yielder]. It is negative if the user may not publish, the release was not confirmed, or another held the
// key.
func (o *owner) Others() int {
	if message := o.released.Load(); message != nil {
		return int(message.Others)
	}
	return 0
}

// Yield implements [lockstrategy.Yielder]. A queue calls it after a release, before its next caller asks. If the release has notified n
// other processes, it waits for n of their releases: then each has had its turn. If n is unknown, it waits for a little longer than they
// poll.
func (o *owner) Yield(ctx context.Context) {
	if o.Others() < 0 {
		session.Polled(pollInterval).Yield(ctx)
		return
	}
	o.lock.hub.Yield(ctx, script.Channel(o.key), o.released.Load(), func() bool {
		ctx, cancel := context.WithTimeout(ctx, o.lock.timing.Request)
		defer cancel()
		return o.lock.client.Exists(ctx, o.key).Val() > 0
	})
}

// ---- The wire ----

// run executes a script, whatever becomes of ctx: an answer must not get lost. A refusal for now (see package replies) comes back to the
// caller, and is not repeated by the client.
func (o *owner) run(ctx context.Context, s *redis.Script, keys []string, args ...any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(replies.SendOnce(context.WithoutCancel(ctx)), o.lock.timing.Request)
	defer cancel()
	return s.Run(ctx, o.lock.client, keys, args...).Int64Slice()
}

// wrap explains the error of a script.
func (o *owner) wrap(what string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %s: %s is no lock of this kind, but perhaps another library's, or its token counter %s is no number: "+
			"delete what is wrong: %w", lockstrategy.ErrUnavailable, what, o.key, script.GrantKey(o.key), err)
	}
	return fmt.Errorf("%w: %s: %w", lockstrategy.ErrUnavailable, what, replies.Explain(err))
}

// TryNotify implements a step of [session.Probe].
func (r *Lock) TryNotify(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Request)
	defer cancel()
	return r.hub.Try(ctx, script.Channel(key))
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
