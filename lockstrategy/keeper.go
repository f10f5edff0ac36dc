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

// validUntil is when the holder must stop: a lease after asked, less what the two clocks may drift
// apart meanwhile (one per cent and the millisecond to which Redis keeps expiries).
func (k *redisKeeper) validUntil(asked time.Time) time.Time {
	return asked.Add(k.lease - k.lease/100 - time.Millisecond)
}

// Renew extends the lease; an explicit one it only confirms.
func (k *redisKeeper) Renew(ctx context.Context) (time.Time, error) {
	if k.ear != nil && k.ear.take()&^(began|over) != 0 {
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
		k.undo(firstUndo)
		if again { // it may be in the queue, and not know since when
			k.r.giveUpQueue(k.key)
		}
	}
	return wait, err
}

// undo releases in the background what the server may have granted, or may not have released.
func (k *redisKeeper) undo(first time.Duration) {
	k.r.undo.repeat(first, time.Now().Add(k.lease+k.r.request), func(ctx context.Context) error {
		_, err := k.release(ctx, false)
		return err
	})
}

func (k *redisKeeper) release(ctx context.Context, again bool) (time.Duration, error) {
	number := ""
	if again {
		number = k.r.number
	}
	at := k.r.place(k.key, false)
	defer func() { k.r.rest(k.key, at) }()
	if again && at != nil { // then nobody else waits at this place; in the background somebody may
		at.ear.take()
	}
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
		at.since.Store(reply[1])
		return lookAgain, nil
	case again && reply[2] > k.r.news.hearing(channelOf(k.key)): // Java listens: who calls nobody, is not called
		if at == nil {
			at = k.r.place(k.key, true)
		}
		at.aside = time.Now().Add(time.Millisecond + 2*time.Since(asked))
	}
	return 0, nil
}
