package scorecard

import (
	"context"
	"errors"
	"math"
	"time"

	"locklab/lab/clients"
)

// The keys of the trials.
const (
	key       = clients.LockKey
	secondKey = key + ":2"
)

// freed lets B have the key after its holder's end, and measures how long that took.
func (b *bench) freed(ctx context.Context, p *process, after string) *holder {
	began := time.Now()
	switch h, err := p.settle(ctx, key); {
	case errors.Is(err, clients.ErrSilent):
		b.violates(p.Name, "has neither a grant nor a refusal after %s, although its wait has ended", after)
	case errors.Is(err, clients.ErrRefused), errors.Is(err, clients.ErrAnswer):
		b.violates(p.Name, "was not granted the key within %s after %s: %s", b.settling(), after, err)
	default:
		b.Must(err)
		b.Measure(p.Name, time.Since(began).Milliseconds(), untilFree)
		return h
	}
	return nil
}

// twoCopies starts A and B, and lets A hold the key.
func (b *bench) twoCopies(ctx context.Context) (a, other *process, h *holder) {
	all, h := b.warm(ctx, 2)
	return all[0], all[1], h
}

// warm starts copies, and lets the first hold the key. Each has held it before, so that its connections and scripts are there.
func (b *bench) warm(ctx context.Context, n int) (all []*process, h *holder) {
	all = b.startAll(ctx, n)
	b.mustServe(ctx, all)
	return all, all[0].holds(ctx, key)
}

// Ends of a holder.
const (
	holderReleases = iota
	holderDies     // after its grant
	holderDiesLate // after a renewal
)

// deadHolder ends the holder, or lets it release. Until the time that the holder was told nobody else may be granted the key.
func deadHolder(end int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		switch end {
		case holderReleases:
			release(ctx, h)
		case holderDiesLate:
			pause(ctx, b.lease*6/5) // a renewal was due before the lease was over
		}
		if end != holderReleases {
			a.Kill()
		}
		next := b.freed(ctx, other, "its holder's end")
		if next != nil && end == holderDies {
			b.mustNotRely(h, next)
		}
	}
}

// mustNotRely demands that a former holder may not rely on the key any more, as its program said, when the next one was granted it.
func (b *bench) mustNotRely(former, next *holder) {
	if early := former.ReliesUntil().Sub(next.Granted); early > 0 {
		b.violates(next.Name, "was granted the key %s before the time until which %s may rely on it", early.Round(time.Millisecond), former.Name)
	}
}

// deadHolderAwaited kills A while B waits, longer than the key may stay locked: no message will tell it.
func deadHolderAwaited(ctx context.Context, b *bench) {
	a, other, _ := b.twoCopies(ctx)
	var next *holder
	var err error
	granted := b.Go(func() { next, err = other.insist(ctx, key, 3*b.settling(), clients.ErrRefused, clients.ErrAnswer) })
	pause(ctx, b.lease/4) // it has begun to wait
	a.Kill()
	died := time.Now()
	granted()
	switch {
	case errors.Is(err, clients.ErrSilent), errors.Is(err, clients.ErrRefused), errors.Is(err, clients.ErrAnswer):
		b.violates(other.Name, "was not granted the key of a dead holder within %s: %s", 3*b.settling(), err)
	case err != nil:
		b.Must(err)
	case next.Granted.Sub(died) > b.settling():
		b.violates(other.Name, "was granted the key of a dead holder after %s, and %s are allowed: no message tells it that the lease is over",
			next.Granted.Sub(died).Round(time.Millisecond), b.settling())
	}
}

// oddLease gives a lease a part of a second, which a lock may lose when it counts whole seconds, and pauses the holder.
func oddLease(lease time.Duration) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		slower := time.Duration(math.Ceil((b.lease - ownLease).Seconds())) * time.Second // of a slow machine
		b.lease = slower + lease
		a, other, h := b.twoCopies(ctx)
		b.outlivesPause(ctx, a, other, h, h.Asked)
	}
}

// extendedPause pauses the holder after an extension in the middle of the lease.
func extendedPause(ctx context.Context, b *bench) {
	a, other, h := b.twoCopies(ctx)
	pause(ctx, b.lease/2)
	asked := time.Now()
	b.extend(ctx, h)
	b.outlivesPause(ctx, a, other, h, asked)
}

// outlivesPause pauses the holder, which renews nothing then, and lets B wait for the key. It must not be granted it before the lease that
// was asked for is over, nor while A may rely on it, and must be soon then. A lock that its connection keeps is free when the holder has
// died.
func (b *bench) outlivesPause(ctx context.Context, a, other *process, h *holder, asked time.Time) {
	a.Pause()
	next, err := other.settle(ctx, key)
	a.Kill()
	switch {
	case errors.Is(err, clients.ErrRefused):
		b.freed(ctx, other, "its holder's end")
	case err != nil:
		b.Must(err)
	default:
		b.Measure(other.Name, time.Since(asked).Milliseconds(), untilFree)
		if early := asked.Add(b.lease).Sub(next.Granted); early > b.lease/50 {
			b.violates(other.Name, "was granted the key %s before a lease of %s was over", early.Round(time.Millisecond), b.lease)
		}
		b.mustNotRely(h, next)
	}
}

// intruder lets C try, between the read and the write of a holder. A grant is one too many: an update is lost. told: there was none, and
// the holder's program has told of a loss.
func (b *bench) intruder(ctx context.Context, c *process, r *clients.Resource, first *holder, wait time.Duration) (told bool) {
	value := r.Read(first)
	if h := c.acquire(ctx, wait); h != nil {
		b.mustKeep(first, h.Granted)
		r.Add(h)
		release(ctx, h)
	} else {
		told = first.IsLost() // before its release: after that the program may tell of a loss
	}
	r.Write(first, value+1)
	release(ctx, first)
	return told
}

// Faults by which A loses its lock to B.
const (
	noFault   = iota
	paused    // A, past its lease
	restarted // the servers, empty
)

// staleWrite lets A write after B has had the lock. With checks the resource refuses it by its token.
func staleWrite(fault int, checks bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		r := clients.NewResource(b.Trial, checks)
		value := r.Read(h)
		switch fault {
		case paused:
			a.Pause()
		case restarted:
			b.restart(ctx)
		}
		if fault != noFault {
			next := other.holds(ctx, key)
			if checks {
				b.mustGrow(h, next)
			}
			r.Add(next)
			release(ctx, next)
		}
		if fault == paused {
			a.Resume()
		}
		r.Write(h, value+1)
		if fault == noFault {
			release(ctx, h)
		}
	}
}

// mustGrow demands a larger token than that of the holder before.
func (b *bench) mustGrow(before, next *holder) {
	if next.Token <= before.Token {
		b.violates(next.Name, "was granted token %d, which is not larger than token %d of the holder before", next.Token, before.Token)
	}
}

// inTurn lets both copies hold the key in turn, as soon as it is free.
func inTurn(ctx context.Context, b *bench) {
	a, other, h := b.twoCopies(ctx)
	for range 5 {
		for _, p := range []*process{other, a} {
			release(ctx, h)
			next := p.holds(ctx, key)
			b.mustGrow(h, next)
			h = next
		}
	}
	release(ctx, h)
}

// Faults of which a holder is told.
const (
	keysGone = iota + 1
	cutOff
)

// loss waits until A tells that it lost its lock. Without a fault it must not tell that.
func loss(fault int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		began := time.Now()
		switch fault {
		case noFault:
			wait := b.lease / 2
			if b.program.Claims.Renews {
				wait = b.lease * 21 / 10 // no renewal is due when it releases: every third or half of a lease is usual
			}
			if h.AwaitLoss(ctx, wait) {
				b.violates(a.Name, "told of a loss, and nobody else was granted the key")
			}
			release(ctx, h)
			pause(ctx, b.lease/10) // what it tells may cross its answer
			if crossed := h.IsLost(); !crossed && h.AwaitLoss(ctx, b.lease/2) {
				b.violates(a.Name, "told of the loss of a lock that it had released")
			}
			return
		case keysGone:
			b.loseKeys(ctx)
		case cutOff:
			a.partition(ctx)
		}
		other.holds(ctx, key)
		granted := time.Now()
		if !h.AwaitLoss(ctx, b.settling()) {
			b.violates(a.Name, "was not told of its loss within %s after the next grant", b.settling())
			return
		}
		b.Measure(a.Name, time.Since(began).Milliseconds(), untilToldOf)
		b.Measure(a.Name, time.Since(granted).Milliseconds(), afterNextGrant)
	}
}

// lostAcquire loses the nth reply to A's acquire, or none: 0. The key must become free, whatever A says of it.
func lostAcquire(nth int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		release(ctx, h)
		mustBeLost, after := func() {}, "its release"
		if nth > 0 {
			mustBeLost, after = a.loseReply(nth), "an acquire whose reply was lost"
		}
		if h = a.acquire(ctx, b.lease/2); h != nil {
			release(ctx, h)
		}
		mustBeLost()
		b.freed(ctx, other, after)
	}
}

// Faults of the connections of a copy.
const (
	linesClosed     = iota + 1 // and open again after a tenth of a lease
	linesClosedLong            // almost half a lease
	linesForgotten             // they carry nothing more, and new ones do
	linesSilent                // nothing arrives for a while
	serverRefuses              // it answers each write with an error
)

// outage lasts long enough for a renewal, and leaves time for another one before the lease is over.
const outage = 0.45 // of a lease

// cutHolder breaks the connections of A for less than a lease, while it holds the lock.
func cutHolder(fault int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		r, wait := clients.NewResource(b.Trial, false), b.lease/10
		if b.program.Claims.Renews {
			wait = b.lease * 3 / 2 // a renewal that ended with the connection is noticed when the lease is over
		}
		switch fault {
		case linesClosed:
			a.cut(ctx, a.wires...)
			pause(ctx, b.lease/10)
			a.mend()
		case linesClosedLong:
			a.cut(ctx, a.wires...)
			pause(ctx, b.part(outage))
			a.mend()
		case linesForgotten:
			pause(ctx, b.lease/2) // a renewal has opened its connection
			a.forget()
		}
		if told := b.intruder(ctx, other, r, h, wait); told && b.program.Claims.Renews {
			b.violates(a.Name, "told of a loss, and nobody else was granted the key")
		}
		b.freed(ctx, other, "its release")
	}
}

// lateGrant keeps the nth reply to A's acquire back until its lease is over and B holds the key, or none: 0.
func lateGrant(nth int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		release(ctx, h)
		if nth == 0 {
			release(ctx, a.holds(ctx, key))
			return
		}
		r := clients.NewResource(b.Trial, false)
		held, pass := a.holdReply(nth)
		var again *holder
		var failed error
		done := make(chan struct{})
		answered := b.Go(func() { defer close(done); again, failed = a.begin(key, b.lease/2)(ctx) })
		select {
		case <-held:
			b.Fault(a.Name, "reply under way", "the proxy keeps the reply to a request that names the key")
		case <-done:
			if nth == 1 {
				b.Must(a.noRequest("held back"))
			}
			return // its acquire has no such request
		}
		settling, cancel := context.WithTimeout(ctx, b.settling())
		defer cancel()
		next, err := other.settle(settling, key)
		if err == nil {
			value := r.Read(next)
			defer func() { r.Write(next, value+1); release(ctx, next) }()
		}
		pass()
		answered()
		switch {
		case failed != nil && !errors.Is(failed, clients.ErrAnswer):
			b.Must(failed)
		case err != nil:
			b.Note(other.Name, "was not granted the key in the meantime, so nobody can work beside it") // T07 judges that
		case again != nil && again.Granted.After(next.Granted):
			b.mustKeep(next, again.Granted)
			r.Add(again)
		}
	}
}
