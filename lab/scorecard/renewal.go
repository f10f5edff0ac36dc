package scorecard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab/clients"
)

// longWork lets A work for some leases while B tries.
func longWork(leases int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		b.work(ctx, other, h, leases)
		release(ctx, h)
	}
}

// longWorkBeside lets A work while another caller of its process waits for the same key.
func longWorkBeside(ctx context.Context, b *bench) {
	const leases = 3
	a, other, h := b.twoCopies(ctx)
	granted := a.begin(key, (leases+1)*b.lease)
	b.work(ctx, other, h, leases)
	released := time.Now()
	release(ctx, h)
	next, err := granted(ctx)
	if next != nil {
		b.mustFollow(h, next, released)
		release(ctx, next)
	} else if !errors.Is(err, clients.ErrAnswer) {
		b.Must(err)
	}
}

// work lets the holder read, work for some leases while another copy tries, and write. It does not release.
func (b *bench) work(ctx context.Context, other *process, h *holder, leases int) {
	r := clients.NewResource(b.Trial, false)
	value := r.Read(h)
	end := time.Now().Add(time.Duration(leases) * b.lease)
	for ; time.Now().Before(end) && ctx.Err() == nil; pause(ctx, b.lease/20) {
		if next := other.acquire(ctx, time.Until(end)); next != nil {
			b.mustKeep(h, next.Granted)
			r.Add(next)
			release(ctx, next)
			break
		}
		if h.IsLost() {
			b.violates(h.Name, "told of a loss, and nobody else was granted the key")
			break
		}
	}
	r.Write(h, value+1)
}

// extendedWork lets the lab extend the lease while A works for some leases, or once.
func extendedWork(leases int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		b.extend(ctx, h)
		stop := func() {}
		if leases > 0 {
			stop = b.every(b.lease/4, func() { b.extend(ctx, h) })
		}
		b.work(ctx, other, h, leases)
		stop() // the release has the id of the last extension, and an answer names no request
		release(ctx, h)
	}
}

// extend lets the program extend a lock that it holds.
func (b *bench) extend(ctx context.Context, h *holder) {
	b.mustKeep(h, time.Now())
	if !h.Extend(ctx) {
		b.violates(h.Name, "was not granted an extension of a lock that it holds")
	}
}

// lateExtension lets A extend a lock that its server has lost, and that B holds, or has held.
func lateExtension(released bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		other, c := all[1], all[2]
		b.loseKeys(ctx)
		next := other.holds(ctx, key)
		if released {
			release(ctx, next)
		}
		if h.Extend(ctx) {
			b.violates(h.Name, "was granted an extension of a lock that it had lost to B")
		}
		if released {
			b.freed(ctx, c, "its release")
		} else {
			b.intruder(ctx, c, clients.NewResource(b.Trial, false), next, b.lease/10)
		}
	}
}

// keysHeld is how many keys one process holds: more than the workers of a small pool.
const keysHeld = 12

// manyKeys lets A hold many keys for two leases while B tries each. When one of them is lost, A must keep the others.
func manyKeys(loses bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all := b.startAll(ctx, 2)
		b.mustServe(ctx, all)
		a, other := all[0], all[1]
		var held []*holder
		name := 100
		acquire := func() {
			held = append(held, a.holds(ctx, fmt.Sprintf("%s:%d", key, name)))
			name++ // A does not request the one again that it has lost, and has not released
		}
		for len(held) < keysHeld/2 {
			acquire()
		}
		if lost := len(held); loses {
			b.loseKeysOf(ctx, acquire)
			held = append(held[:lost], held[lost+1:]...)
		}
		for len(held) < keysHeld {
			acquire()
		}
		pause(ctx, 2*b.lease)
		for _, h := range held {
			if next, err := other.begin(h.Key, 0)(ctx); next != nil {
				b.violates(other.Name, "was granted %q, one of %d keys that A holds", h.Key, keysHeld)
			} else {
				b.Must(err)
			}
			if h.IsLost() {
				b.violates(a.Name, "told of the loss of %q, and nobody else was granted it", h.Key)
			}
			release(ctx, h)
		}
	}
}

// Ends of a grant that was renewed.
const (
	grantReleased = iota
	grantLost     // by its server
)

// staleRenewal lets B hold a key that A has renewed, and that A may still renew. C is granted it when B has released it, or has died, and
// not before.
func staleRenewal(end int, killed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		_, other, c := all[0], all[1], all[2]
		var next *holder
		if end == grantReleased {
			pause(ctx, b.lease*3/5) // a renewal has run, and another one is due
			release(ctx, h)
			next = other.holds(ctx, key)
		} else {
			next = b.takes(ctx, other)
		}
		if killed {
			other.Kill()
			b.freed(ctx, c, "the next holder's end")
			return
		}
		b.keeps(ctx, next, c)
		b.freed(ctx, c, "the release of the next holder")
	}
}

// takes lets another copy be granted the key when the servers have lost it. A renewal that writes the key again may come first, once.
func (b *bench) takes(ctx context.Context, other *process) (next *holder) {
	for range 3 {
		b.loseKeys(ctx)
		if next = other.acquire(ctx, b.lease/10); next != nil {
			return next
		}
	}
	b.Must(errors.New("the former holder has written the key again three times before another process was granted it"))
	return nil
}

// keeps lets a holder work for one and a half leases while another copy tries, and release. It must not have lost the lock.
func (b *bench) keeps(ctx context.Context, h *holder, other *process) {
	r := clients.NewResource(b.Trial, false)
	value := r.Read(h)
	if next := other.acquire(ctx, b.lease*3/2); next != nil {
		r.Add(next)
		release(ctx, next)
	}
	r.Write(h, value+1)
	isLost := h.IsLost()
	if !release(ctx, h) || isLost {
		b.violates(h.Name, "did not hold its lock any more when it released it")
	}
}

// deployment lets A hold a lock while B, which has held it before, is stopped, and C starts. The lease is long: a start takes a while.
func deployment(others bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		b.longLease()
		all, h := b.warm(ctx, 2)
		r := clients.NewResource(b.Trial, false)
		c := all[1]
		if others {
			b.Note("B", "is asked to end")
			if !all[1].Stop() {
				all[1].Kill()
			}
			c = b.start(ctx, "C")
		}
		b.intruder(ctx, c, r, h, b.Scaled(ownLease)/10)
		b.freed(ctx, c, "its release")
	}
}
