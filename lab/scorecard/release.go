package scorecard

import (
	"context"
	"errors"
	"time"

	"locklab/lab/clients"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
)

// lateRelease lets A release a lock that its server has lost, and that B holds.
func lateRelease(keysLost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		other, c := all[1], all[2]
		if keysLost {
			b.loseKeys(ctx)
		} else {
			release(ctx, h)
		}
		next, wait := other.holds(ctx, key), b.lease/10
		if keysLost {
			wait = b.lease * 6 / 10 // a release in the background may come later than its answer
		}
		if keysLost {
			b.mustNotRelease(ctx, h)
		}
		b.intruder(ctx, c, clients.NewResource(b.Trial, false), next, wait)
	}
}

// lostRelease loses the reply to A's release. The key must become free, and A must not release the lock of B.
func lostRelease(lost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		mustBeLost, after := func() {}, "its release"
		if lost {
			mustBeLost, after = a.loseReply(1), "a release whose reply was lost"
		}
		sent := b.Now()
		release(ctx, h)
		mustBeLost()
		b.Must(b.lostBefore(sent))
		if next := b.freed(ctx, other, after); next != nil {
			release(ctx, h) // a careful client repeats it
			b.intruder(ctx, a, clients.NewResource(b.Trial, false), next, b.lease/10)
		}
	}
}

// lostBefore is an error when a reply was lost before a moment: then it was that to a renewal.
func (b *bench) lostBefore(release time.Duration) error {
	for _, e := range b.Events() {
		if e.Kind == history.Fault && e.Text == replyLost && e.At < release {
			return errors.New("the reply to a renewal was lost before the release: run it again")
		}
	}
	return nil
}

// mustNotRelease lets a holder release a lock that it has lost. It must be told, unless the program says that a release does not tell.
// ZooKeeper's session goes on, and nobody promises to notice that its node was deleted.
func (b *bench) mustNotRelease(ctx context.Context, h *holder) {
	claims := b.program.Claims
	if release(ctx, h) && !claims.Silent && claims.Store != protocol.ZooKeeper {
		b.violates(h.Name, `answered "released" to the release of a lock that it had lost`)
	}
}

// freeRelease lets A release a lock that its server has lost, and that nobody holds.
func freeRelease(ctx context.Context, b *bench) {
	_, other, h := b.twoCopies(ctx)
	b.loseKeys(ctx)
	b.mustNotRelease(ctx, h)
	b.freed(ctx, other, "its release")
}

// siblingRelease lets a caller of A release a lock that its server has lost, and that another caller of A holds. A lock that lets the
// callers of a process wait for each other grants it only then.
func siblingRelease(ctx context.Context, b *bench) {
	all, h := b.warm(ctx, 3)
	a, c := all[0], all[2]
	b.loseKeys(ctx)
	next := a.acquire(ctx, b.lease/2)
	release(ctx, h)
	if next != nil {
		b.intruder(ctx, c, clients.NewResource(b.Trial, false), next, b.lease/10)
	}
}

// siblingAwaits lets A release a lock after a pause that was longer than its lease, while B holds the lock and another caller of A waits
// for it. That one must not be granted it: a process may pass its lock on to its next caller only while it holds it.
func siblingAwaits(ctx context.Context, b *bench) {
	a, other, h := b.twoCopies(ctx)
	r := clients.NewResource(b.Trial, false)
	granted := a.begin(key, b.lease*17/10)
	pause(ctx, b.lease/20) // it has begun to wait
	a.Hit = true           // after the pause an error is an answer, too
	a.Pause()
	next, err := other.settle(ctx, key)
	if err != nil {
		b.Note(other.Name, "was not granted the key of a process that pauses, so nothing can be tried") // such as one that a connection keeps
		a.Kill()
		return
	}
	value := r.Read(next)
	a.Resume()
	release(ctx, h)
	sibling, err := granted(ctx)
	switch {
	case sibling != nil && !b.program.Claims.Renews && next.MayHaveEnded(sibling.Granted): // it has waited for longer than it should
		release(ctx, sibling)
	case sibling != nil:
		r.Add(sibling)
		release(ctx, sibling)
	case !errors.Is(err, clients.ErrAnswer):
		b.Must(err)
	}
	r.Write(next, value+1)
	release(ctx, next)
}

// slowRelease keeps a packet of A's release back, after so many, until the key is lost and B holds it. A release without such a packet, or
// one that keeps B out until it is over, as a transaction may, is safe from that.
func slowRelease(packets int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		a, other, c := all[0], all[1], all[2]
		held, pass := a.holdBack(packets, a.names)
		done := make(chan struct{})
		released := b.Go(func() { defer close(done); release(ctx, h) })
		var next *holder
		select {
		case <-held:
			if next = other.acquire(ctx, 0); next == nil { // the packet may have come after the end of the lock
				b.loseKeys(ctx)
				next = other.acquire(ctx, b.lease/10)
			}
		case <-done:
		}
		pass()
		released()
		if next != nil {
			b.intruder(ctx, c, clients.NewResource(b.Trial, false), next, b.lease/10)
		}
	}
}

// undeliveredRelease closes A's connections while it releases. The key must become free, and A must not release the lock of B.
func undeliveredRelease(ctx context.Context, b *bench) {
	a, other, h := b.twoCopies(ctx)
	a.cut(ctx, a.wires...)
	released := b.Go(func() { release(ctx, h) })
	pause(ctx, b.lease/4)
	a.mend()
	next := b.freed(ctx, other, "a release that did not arrive")
	released()
	if next != nil {
		release(ctx, h) // a careful client repeats it
		b.intruder(ctx, a, clients.NewResource(b.Trial, false), next, b.lease/10)
	}
}
