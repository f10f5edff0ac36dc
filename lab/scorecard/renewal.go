package scorecard

import (
	"context"
	"time"

	"locklab/lab/clients"
)

// longWork lets A work for three leases while B tries.
func longWork(long bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		b.work(ctx, other, h, long)
		release(ctx, h)
	}
}

// work lets the holder read, work for three leases while another copy tries, and write. It does not release.
func (b *bench) work(ctx context.Context, other *process, h *holder, long bool) {
	r := clients.NewResource(b.Trial, false)
	value := r.Read(h)
	for end := time.Now().Add(3 * b.lease); long && time.Now().Before(end) && ctx.Err() == nil; pause(ctx, b.lease/20) {
		if next := other.acquire(ctx, time.Until(end)); next != nil {
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

// extendedWork lets the lab extend the lease while A works: for three leases, or once.
func extendedWork(long bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		b.extend(ctx, h)
		ends := make(chan struct{})
		wait := b.Go(func() {
			for tick := time.NewTicker(b.lease / 4); long; {
				select {
				case <-ends:
					tick.Stop()
					return
				case <-tick.C:
					b.extend(ctx, h)
				}
			}
		})
		b.Cleanup(func() error { wait(); return nil })
		b.work(ctx, other, h, long)
		close(ends)
		wait() // the release has the id of the last extension, and an answer names no request
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

// lateExtension lets A extend a lock that its server has lost, and that B holds.
func lateExtension(ctx context.Context, b *bench) {
	all, h := b.warm(ctx, 3)
	other, c := all[1], all[2]
	b.loseKeys(ctx)
	next := other.holds(ctx, key)
	if h.Extend(ctx) {
		b.violates(h.Name, "was granted an extension of a lock that B holds")
	}
	b.intruder(ctx, c, clients.NewResource(b.Trial, false), next, b.lease/10)
}
