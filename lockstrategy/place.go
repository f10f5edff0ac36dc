package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// calledFor is how long a freed lock is kept for the process that was called.
	calledFor = 100 * time.Millisecond
	// strangersFor is how long a freed lock is kept for those who are in no queue: Java.
	strangersFor = 5 * time.Millisecond
	// lookAgain is when a process that was not called tries nevertheless: the one that was may be dead.
	lookAgain = 250 * time.Millisecond
	// linger is how long a process listens on when it no longer waits.
	linger = time.Second
	// giveUp is how long at least, and twice that at most, a process stays in the queue when nobody in it waits:
	// another caller may come at once, or is on its way on a busy machine. If the process is called meanwhile, the
	// others lose calledFor.
	giveUp = 100 * time.Millisecond
)

// place is where a process waits for a key, whoever of its callers has the turn.
type place struct {
	ear   *ear
	since atomic.Int64 // in the queue since then, by the server's clock in microseconds; 0: not in the queue
	aside time.Time    // until then a freed lock is left to those who are in no queue

	users   int
	until   time.Time // without users it stays until then
	ticking bool      // a timer runs that looks at that
}

// errClosed answers whoever waits when the strategy is closed.
var errClosed = fmt.Errorf("%w: this strategy has been closed", ErrUnavailable)

// place returns the process's place for key, and makes one if wanted. Whoever takes it must call rest.
func (r *Redis) place(key string, wanted bool) *place {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.places[key]
	switch {
	case p == nil && !wanted:
		return nil
	case p == nil:
		p = &place{ear: r.listen(key)}
		r.places[key] = p
	}
	p.users++
	return p
}

// listen returns an ear for key, which news.leave takes back.
func (r *Redis) listen(key string) *ear {
	e := newEar(channelOf(key))
	r.news.join(e, r.tells.sharded())
	return e
}

// wait returns when it is time to try, or why there is nothing to wait for any more. Without patience it is time
// at once, and what was heard before is forgotten.
func (p *place) wait(ctx context.Context, patience time.Duration) error {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case p == nil:
		return nil
	case p.ear.over():
		return errClosed
	case patience <= 0:
		p.ear.take()
		return nil
	}
	due := time.Now().Add(patience) // whatever is told to others meanwhile
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ended(ctx)
		case <-timer.C:
			return nil
		case <-p.ear.ring:
			switch what := p.ear.take(); {
			case what&over != 0:
				return errClosed
			case what&(began|freed|called) != 0:
				return nil
			case what&passed != 0:
				timer.Reset(min(lookAgain, time.Until(due)))
			}
		}
	}
}

// standAside leaves the lock to those who are in no queue, Java, for as long as the release before has said. Nothing
// ends that sooner but ctx: what is heard meanwhile, our own release first of all, is for them.
func (p *place) standAside(ctx context.Context) {
	if p == nil || !time.Now().Before(p.aside) {
		return
	}
	timer := time.NewTimer(time.Until(p.aside))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
		p.ear.take()
	}
}

// queued notes that the process is in the queue since then; 0: it is not.
func (p *place) queued(since int64) {
	if p != nil {
		p.since.Store(since)
	}
}

func (p *place) queuedSince() int64 {
	if p == nil {
		return 0
	}
	return p.since.Load()
}

// rest ends the use of a place. Without users it is given up, after a while.
func (r *Redis) rest(key string, p *place) {
	if p == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	after := linger
	if p.since.Load() != 0 {
		after = giveUp
	}
	p.until = time.Now().Add(after)
	if !p.ticking {
		r.tick(key, p)
	}
}

// tick looks at a place again and again, until it finds it used; rest starts it again. A timer for each use would wake
// a thread of the runtime each time.
func (r *Redis) tick(key string, p *place) {
	p.ticking = true
	time.AfterFunc(giveUp, func() { r.retire(key, p) })
}

// retire takes an unused place out of the queue when its time has come, and a while later away.
func (r *Redis) retire(key string, p *place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.ticking = false
	switch {
	case p.users > 0 || r.places[key] != p:
		return
	case time.Now().Before(p.until):
	case p.since.Load() != 0:
		p.since.Store(0)
		r.giveUpQueue(key)
		p.until = time.Now().Add(linger)
	default:
		delete(r.places, key)
		r.news.leave(p.ear)
		return
	}
	r.tick(key, p)
}

// leavePlaces gives up all places.
func (r *Redis) leavePlaces() {
	var queued []string
	r.mu.Lock()
	for key := range r.places { // those too that are leaving, or do not know yet that they are in
		queued = append(queued, key)
	}
	clear(r.places)
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), r.request)
	defer cancel()
	for _, key := range queued {
		_ = r.leaveQueue(ctx, key) // or the others wait a moment for nothing
	}
}

// giveUpQueue takes the process out of key's queue as soon as the server can be reached.
func (r *Redis) giveUpQueue(key string) {
	r.undo.repeat(0, time.Now().Add(r.lease), func(ctx context.Context) error {
		err := r.leaveQueue(ctx, key)
		if err == nil {
			r.comeBack(key)
		}
		return err
	})
}

// comeBack lets who has begun to wait again meanwhile try, and so enter the queue again: it may have been taken
// out, and nobody would call it.
func (r *Redis) comeBack(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.places[key]; p != nil && p.users > 0 {
		p.ear.hear(began)
	}
}

// queueLife is how long a queue lives without a word, in milliseconds: longer than who waits says nothing (see Grant).
func (r *Redis) queueLife() int64 { return (r.lease + time.Minute).Milliseconds() }

// leaveIfClosed takes the process out of the queue at once when the strategy has been closed.
func (r *Redis) leaveIfClosed(ctx context.Context, key string, p *place) {
	if r.news.over() && p != nil && p.since.Swap(0) != 0 {
		_ = r.leaveQueue(context.WithoutCancel(ctx), key)
	}
}

// leaveQueue takes the process out of key's queue; if it was called meanwhile, the next one is.
func (r *Redis) leaveQueue(ctx context.Context, key string) error {
	_, err := r.free(ctx, r.scripts.leave, keysOf(key), r.number)
	if err != nil {
		return errors.Join(ErrUnavailable, err)
	}
	return nil
}
