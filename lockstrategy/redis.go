package lockstrategy

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

var (
	//go:embed acquire.lua
	acquireSource string
	//go:embed renew.lua
	renewSource string
	//go:embed release.lua
	releaseSource string
)

// RedisClient is what the Redis lock needs of go-redis: scripts and a subscription.
type RedisClient interface {
	redis.Scripter
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// RedisConfig configures [NewRedis]. The zero value means the defaults.
type RedisConfig struct {
	Lease   time.Duration // lifetime of a lease that is not renewed; 0: DefaultLease. Renewal runs at a third of it
	Request time.Duration // longest wait for one answer; 0: two seconds, or a third of a shorter lease
}

// Redis is a lock on one Redis (a single server, a master, or the key's master in a cluster) on the
// wire protocol of Redisson's RLock (A1): Java services that use the same key are excluded, and woken
// where they listen as we tell. In a cluster they listen to sharded channels by default, and wait for
// the end of a lease instead, as we do for theirs.
//
// Exclusion holds while the server keeps the key for its whole expiry and the holder stops when its
// lease's context ends. It breaks when a replica that has not got the key is promoted, when the key
// is evicted, and when a holder ignores its context. Re-entrance is not supported: an owner is one
// attempt, and a holder that acquires again waits for itself.
type Redis struct {
	client  RedisClient
	lease   time.Duration
	request time.Duration
	process string        // the first half of every owner of this process
	attempt atomic.Uint64 // the second half: unique per attempt, decimal as Redisson's thread id
	news    *news
	undo    *undo
	scripts struct{ acquire, renew, release *redis.Script }
}

var _ Strategy = (*Redis)(nil)

// NewRedis returns a lock on client. Close it before client.
func NewRedis(client RedisClient, cfg RedisConfig) (*Redis, error) {
	lease, request, err := timing(cfg.Lease, cfg.Request)
	if err != nil {
		return nil, err
	}
	r := &Redis{client: client, lease: lease, request: request, process: uuid.NewString(), news: newNews(client), undo: newUndo()}
	r.scripts.acquire = redis.NewScript(acquireSource)
	r.scripts.renew = redis.NewScript(renewSource)
	r.scripts.release = redis.NewScript(releaseSource)
	return r, nil
}

// Close ends the subscription that waiters share, and the attempts to release what no server has
// confirmed. Leases that are held stay held.
func (r *Redis) Close() error {
	r.undo.close()
	return r.news.close()
}

// Acquire tries; while another holds key it waits for the release message or for the end of the
// other's lease, whichever comes first, and tries again. The message may get lost; the timer may not.
func (r *Redis) Acquire(ctx context.Context, key string) (*Lease, error) {
	owner := fmt.Sprintf("%s:%d", r.process, r.attempt.Add(1))
	var wake <-chan struct{}
	for {
		if ctx.Err() != nil {
			return nil, notAcquired(key, ended(ctx))
		}
		lease, busy, err := r.try(ctx, key, owner)
		if err != nil {
			return nil, notAcquired(key, err)
		}
		if lease != nil && ctx.Err() == nil {
			return lease, nil
		}
		if lease != nil { // granted too late: nobody waits for it any more
			_ = lease.Release(ctx)
			continue
		}
		if wake == nil { // the first refusal: from now on listen. The subscription's start wakes, too
			var leave func()
			wake, leave = r.news.join(channelOf(key))
			defer leave()
		}
		sleep := time.NewTimer(busy)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-sleep.C:
		}
		sleep.Stop()
	}
}

// try asks once. It returns a lease, or for how long another holds the key. A request without an
// answer may have been executed, so its effect is undone before the error is returned.
func (r *Redis) try(ctx context.Context, key, owner string) (*Lease, time.Duration, error) {
	keys := []string{key, prefixed("locklab_fence", key)}
	asked := time.Now() // the server cannot have started the expiry earlier
	request, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.request)
	defer cancel()
	reply, err := r.scripts.acquire.Run(request, r.client, keys, r.lease.Milliseconds(), owner).Int64Slice()
	if err == nil && len(reply) != 2 {
		err = fmt.Errorf("unexpected answer %v", reply)
	}
	if err != nil {
		if !unsent(err) {
			_ = r.giveBack(ctx, key, owner)
		}
		return nil, 0, fmt.Errorf("%w: acquire: %w", ErrUnavailable, err)
	}
	if fence := reply[0]; fence > 0 {
		return hold(ctx, term{
			fence:   uint64(fence),
			until:   r.validUntil(asked),
			every:   r.lease / 3,
			renew:   func(ctx context.Context) (time.Time, error) { return r.renew(ctx, key, owner) },
			release: func(ctx context.Context) error { return r.giveBack(ctx, key, owner) },
		}), 0, nil
	}
	if reply[1] < 0 {
		return nil, r.lease, nil // a key without expiry, not made by us: look again now and then
	}
	return nil, time.Duration(reply[1]+1) * time.Millisecond, nil
}

// validUntil is when the holder must stop: a lease after asked, less what the two clocks may drift
// apart meanwhile (one per cent and the millisecond to which Redis keeps expiries).
func (r *Redis) validUntil(asked time.Time) time.Time {
	return asked.Add(r.lease - r.lease/100 - time.Millisecond)
}

func (r *Redis) renew(ctx context.Context, key, owner string) (time.Time, error) {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.request)
	defer cancel()
	extended, err := r.scripts.renew.Run(ctx, r.client, []string{key}, r.lease.Milliseconds(), owner).Int()
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: renew: %w", ErrUnavailable, err)
	}
	if extended == 0 {
		return time.Time{}, fmt.Errorf("%w: %s is no longer its owner's", ErrLost, key)
	}
	return r.validUntil(asked), nil
}

// giveBack releases, and goes on trying in the background when there is no answer. A renewal that was
// under way may have been executed last: a lease after it the key has expired.
func (r *Redis) giveBack(ctx context.Context, key, owner string) error {
	err := r.release(context.WithoutCancel(ctx), key, owner)
	if errors.Is(err, ErrUnavailable) {
		r.undo.until(time.Now().Add(r.lease+r.request), func(ctx context.Context) error { return r.release(ctx, key, owner) })
	}
	return err
}

func (r *Redis) release(ctx context.Context, key, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, r.request)
	defer cancel()
	released, err := r.scripts.release.Run(ctx, r.client, []string{key, channelOf(key)}, owner).Int()
	if err != nil {
		return fmt.Errorf("%w: release: %w", ErrUnavailable, err)
	}
	if released == 0 {
		return fmt.Errorf("%w: %s was no longer its owner's when it was released", ErrLost, key)
	}
	return nil
}

// channelOf names the channel on which the release of key is told.
func channelOf(key string) string { return prefixed("redisson_lock__channel", key) }

// prefixed names what belongs to key so that it lands in key's cluster slot, as Redisson does.
func prefixed(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + ":" + key
	}
	return prefix + ":{" + key + "}"
}
