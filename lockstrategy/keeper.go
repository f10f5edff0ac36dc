package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// redisKeeper keeps one grant of a [Redis]. Its owner is one attempt: to acquire again for the same owner
// changes nothing, so a request that a server executes twice is harmless.
type redisKeeper struct {
	r        *Redis
	key      string
	keys     []string // of every script
	owner    string
	lease    time.Duration
	explicit bool      // not to be renewed
	until    time.Time // as last confirmed
	since    int64     // the process is in the queue since then, in the server's microseconds; 0: it is not
	ear      *ear      // nil: not watched
	told     bool      // something was heard since the server last confirmed the owner
}

var _ Keeper = (*redisKeeper)(nil)

func (r *Redis) newKeeper(key string, explicit time.Duration) *redisKeeper {
	k := &redisKeeper{r: r, key: key, keys: keysOf(key), lease: r.lease, owner: r.owner(r.attempt.Add(1))}
	if explicit > 0 {
		k.lease, k.explicit = explicit, true
	}
	return k
}

// acquire asks once, from the process's place if it has one. It returns terms, or for how long another has the key.
func (k *redisKeeper) acquire(ctx context.Context, at *place, ask Ask) (Terms, time.Duration, error) {
	since, queue := int64(0), k.r.queueLife()
	if at != nil {
		since = at.since
	}
	if ask.AtOnce {
		queue = 0
	}
	if err := k.r.learnTells(ctx); err != nil {
		return Terms{}, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	asked := time.Now() // the server cannot have started the expiry earlier
	reply, err := k.r.run(context.WithoutCancel(ctx), k.r.scripts.acquire, k.keys,
		k.lease.Milliseconds(), k.owner, k.r.number, ask.Block, since, queue)
	switch {
	case err != nil:
		if !unsent(err) { // it may have been executed, and then it may have been granted, or be in the queue
			_, _ = k.Release(ctx, false)
			k.r.giveUpQueue(k.key)
		}
		return Terms{}, 0, fmt.Errorf("%w: acquire: %w", ErrUnavailable, err)
	case reply[0] == 0:
		return Terms{}, k.refused(at, reply), nil
	}
	k.until = k.validUntil(asked)
	if at != nil {
		at.since = 0
	}
	terms := Terms{Fence: uint64(reply[0]), Block: ask.Block, Until: k.until, Keeper: k}
	if !k.explicit {
		terms.Renewal = k.lease / 3
	}
	return terms, 0, nil
}

// refused returns for how long another has the key.
func (k *redisKeeper) refused(at *place, reply []int64) time.Duration {
	if k.since = reply[2]; at != nil {
		at.since = k.since
	}
	if reply[1] < 0 {
		return k.r.lease // a key without expiry, not made by us: look again now and then
	}
	return time.Duration(reply[1]+1) * time.Millisecond
}

// validUntil is when the holder must stop: a lease after asked, less what the two clocks may drift
// apart meanwhile (one per cent and the millisecond to which Redis keeps expiries).
func (k *redisKeeper) validUntil(asked time.Time) time.Time {
	return asked.Add(k.lease - k.lease/100 - time.Millisecond)
}

// Renew extends the lease; an explicit one it only confirms.
func (k *redisKeeper) Renew(ctx context.Context) (time.Time, error) {
	if k.ear != nil && k.ear.take()&^began != 0 {
		k.told = true
	}
	lease := k.lease.Milliseconds()
	if k.explicit {
		lease = 0
	}
	asked := time.Now()
	reply, err := k.r.run(ctx, k.r.scripts.renew, k.keys, lease, k.owner)
	switch {
	case err != nil:
		return time.Time{}, fmt.Errorf("%w: renew: %w", ErrUnavailable, err)
	case reply[0] == 0 && k.told:
		return time.Time{}, fmt.Errorf("%w: %s", ErrForced, k.key)
	case reply[0] == 0:
		return time.Time{}, fmt.Errorf("%w: %s", ErrGone, k.key)
	}
	k.told = false
	if !k.explicit {
		k.until = k.validUntil(asked)
	}
	return k.until, nil
}

// Watch listens where releases are told: nobody else has to release what is held here.
func (k *redisKeeper) Watch() (ring <-chan struct{}, stop func()) {
	k.ear = k.r.listen(k.key)
	return k.ear.ring, func() { k.r.news.leave(k.ear) }
}

// Release frees the lock, and goes on trying in the background when there is no answer. A renewal that was
// under way may be executed last: a lease after it the key has expired.
func (k *redisKeeper) Release(ctx context.Context, again bool) (time.Duration, error) {
	wait, err := k.release(context.WithoutCancel(ctx), again)
	if errors.Is(err, ErrUnavailable) {
		k.r.undo.repeat(firstUndo, time.Now().Add(k.lease+k.r.request), func(ctx context.Context) error {
			_, err := k.release(ctx, false)
			return err
		})
		if again { // it may be in the queue, and not know since when
			k.r.giveUpQueue(k.key)
		}
	}
	return wait, err
}

func (k *redisKeeper) release(ctx context.Context, again bool) (time.Duration, error) {
	number := ""
	if again {
		number = k.r.number
	}
	at := k.r.place(k.key, false)
	defer func() { k.r.rest(k.key, at) }()
	at.listen(ctx, 0)
	asked := time.Now()
	reply, err := k.r.free(ctx, k.r.scripts.release, k.keys, k.owner, number, k.r.queueLife())
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: release: %w", ErrUnavailable, err)
	case reply[0] == 0 && k.explicit && time.Now().After(k.until):
		return 0, fmt.Errorf("%w: %s, when it was released", ErrExpired, k.key)
	case reply[0] == 0:
		return 0, fmt.Errorf("%w: %s, when it was released", ErrGone, k.key)
	case reply[1] > 0: // another process was called, and this one is in the queue
		if at == nil {
			at = k.r.place(k.key, true)
		}
		at.since = reply[1]
		return lookAgain, nil
	case again && reply[2] > k.r.news.hearing(channelOf(k.key)): // Java listens: who calls nobody, is not called
		return time.Millisecond + 2*time.Since(asked), nil
	}
	return 0, nil
}
