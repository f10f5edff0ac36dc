package try

import (
	"context"
	"errors"
	"time"

	"locklab/experiments/clients"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

const key = clients.LockKey

// freed lets B have the key after its holder's end, and measures how long that took.
func (b *bench) freed(ctx context.Context, p *process, after string) *held {
	began := time.Now()
	h := p.settle(ctx, key)
	if h == nil {
		b.violates(p.name, "was not granted the key within %s after %s", b.settling(), after)
		return nil
	}
	b.Measure(p.name, time.Since(began).Milliseconds(), untilFree)
	return h
}

// twoCopies starts A and B, and lets A hold the key.
func (b *bench) twoCopies(ctx context.Context) (a, other *process, h *held) {
	all, h := b.warm(ctx, 2)
	return all[0], all[1], h
}

// warm starts copies, and lets the first hold the key. Each has held it before, so that its connections and scripts are there.
func (b *bench) warm(ctx context.Context, n int) (all []*process, h *held) {
	all = b.startAll(ctx, n)
	for _, p := range all {
		p.holds(ctx, key).release(ctx)
	}
	return all, all[0].holds(ctx, key)
}

// deadHolder ends the holder, or lets it release.
func deadHolder(killed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		if killed {
			a.kill()
		} else {
			h.release(ctx)
		}
		b.freed(ctx, other, "its holder's end")
	}
}

// intruder lets C try once, between the read and the write of a holder. A grant is one too many: an update is lost.
func (b *bench) intruder(ctx context.Context, c *process, r *clients.Resource, holder *held) {
	value := r.Read(holder.Holder)
	if h := c.acquire(ctx, b.lease/10); h != nil {
		holder.keeps()
		r.Add(h.Holder)
		h.release(ctx)
	}
	r.Write(holder.Holder, value+1)
	holder.release(ctx)
}

// lateRelease lets A release a lock that its server has lost, and that B holds.
func lateRelease(keysLost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		other, c := all[1], all[2]
		if keysLost {
			b.loseKeys(ctx)
		} else {
			h.release(ctx)
		}
		next := other.holds(ctx, key)
		if keysLost {
			h.release(ctx)
		}
		b.intruder(ctx, c, clients.NewResource(b.Trial, false), next)
	}
}

// longWork lets A work for three leases while B tries.
func longWork(long bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		r := clients.NewResource(b.Trial, false)
		value := r.Read(h.Holder)
		for end := time.Now().Add(3 * b.lease); long && time.Now().Before(end) && ctx.Err() == nil; pause(ctx, b.lease/20) {
			if next := other.acquire(ctx, time.Until(end)); next != nil {
				r.Add(next.Holder)
				next.release(ctx)
				break
			}
		}
		r.Write(h.Holder, value+1)
		h.release(ctx)
	}
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
		value := r.Read(h.Holder)
		switch fault {
		case paused:
			a.freeze()
			defer a.running.Resume()
		case restarted:
			b.restart(ctx)
		}
		if fault != noFault {
			next := other.holds(ctx, key)
			if checks && next.token <= h.token {
				b.violates(other.name, "was granted token %d, which is not larger than token %d of the holder before", next.token, h.token)
			}
			r.Add(next.Holder)
			next.release(ctx)
		}
		if fault == paused {
			a.thaw()
		}
		r.Write(h.Holder, value+1)
		if fault == noFault {
			h.release(ctx)
		}
	}
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
			if h.told(ctx, b.lease/2) {
				b.violates(a.name, "told of a loss, and nobody else was granted the key")
			}
			h.release(ctx)
			return
		case keysGone:
			b.loseKeys(ctx)
		case cutOff:
			a.partition(ctx)
		}
		other.holds(ctx, key)
		granted := time.Now()
		if !h.told(ctx, b.settling()) {
			b.violates(a.name, "was not told of its loss within %s after the next grant", b.settling())
			return
		}
		b.Measure(a.name, time.Since(began).Milliseconds(), untilToldOf)
		b.Measure(a.name, time.Since(granted).Milliseconds(), afterNextGrant)
	}
}

// partition drops what a copy and its servers send each other. The lab's own request is the proof: an idle program sends nothing.
func (p *process) partition(ctx context.Context) {
	cut := stack.Cut(p.name, p.wires...)
	for _, w := range p.wires {
		conn, err := faultproxy.TCP(w.Addr)(ctx)
		p.Must(err)
		_, err = conn.Write([]byte("PING\r\n"))
		_ = conn.Close()
		p.Must(err)
	}
	proof, err := cut.Await(ctx)
	p.Must(err)
	p.Fault(p.name, "cut off", proof)
}

// lostAcquire loses the reply to A's acquire. The key must become free, whatever A says of it.
func lostAcquire(lost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		h.release(ctx)
		if lost {
			a.loseReply()
		}
		if h = a.acquire(ctx, b.lease/2); h != nil {
			h.release(ctx)
		}
		b.freed(ctx, other, "an acquire whose reply was lost")
	}
}

// lostRelease loses the reply to A's release. The key must become free, and A must not release the lock of B.
func lostRelease(lost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		if lost {
			a.loseReply()
		}
		h.release(ctx)
		if next := b.freed(ctx, other, "a release whose reply was lost"); next != nil {
			h.release(ctx) // a careful client repeats it
			b.intruder(ctx, a, clients.NewResource(b.Trial, false), next)
		}
	}
}

// cutHolder closes the connections of A for less than a lease, while it holds the lock.
func cutHolder(closed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		r := clients.NewResource(b.Trial, false)
		if closed {
			a.cut(ctx)
			pause(ctx, b.lease/10)
			a.mend()
		}
		b.intruder(ctx, other, r, h)
		b.freed(ctx, other, "its release")
	}
}

// cutWaiter closes the connections of B while it waits. B may stop, and must not wait for ever.
func cutWaiter(closed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		granted := other.begin(key, b.settling())
		pause(ctx, b.lease/4)
		if closed {
			other.cut(ctx)
			other.mend()
		}
		h.release(ctx)
		switch next, err := granted(ctx); {
		case errors.Is(err, errSilent):
			b.violates(other.name, "has neither a grant nor a refusal although its wait has ended")
			return
		case next != nil:
			next.release(ctx)
		case !errors.Is(err, errAnswer):
			b.Must(err)
		}
		b.freed(ctx, other, "both had left")
	}
}

// endedWait lets B wait and time out. Its remains must not keep C out.
func endedWait(waits bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		other, c := all[1], all[2]
		if waits {
			if next := other.acquire(ctx, b.lease/5); next != nil {
				h.keeps()
				b.violates(other.name, "was granted a key that A holds")
			}
		}
		h.release(ctx)
		pause(ctx, b.lease/10) // time for what is left of B's wait to take the key
		if c.acquire(ctx, b.lease/2) == nil {
			b.violates(c.name, "was not granted the key within half a lease, although nobody wants it")
		}
	}
}

// opposite lets A and B each hold one key and request the other's. Both must be refused in time.
func opposite(crossed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		const second = key + ":2"
		a, other, first := b.twoCopies(ctx)
		theirs := other.holds(ctx, second)
		if crossed {
			wantsSecond, wantsFirst := a.begin(second, b.lease/4), other.begin(key, b.lease/4)
			for of, wants := range map[*held]func(context.Context) (*held, error){theirs: wantsSecond, first: wantsFirst} {
				next, err := wants(ctx)
				switch {
				case errors.Is(err, errSilent):
					b.violates(of.p.name, "holds a key that another copy requests, and that copy has no answer although its wait has ended")
					return
				case next != nil:
					of.keeps()
					b.violates(next.p.name, "was granted a key that another copy holds")
				}
				b.Must(err)
			}
		}
		first.release(ctx)
		theirs.release(ctx)
		b.freed(ctx, other, "both had released")
	}
}

// twoDown ends two of five nodes.
func twoDown(killed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		h.release(ctx)
		if killed {
			for _, n := range b.nodes[:2] {
				clients.Kill(b.Trial, n)
			}
		}
		b.freed(ctx, other, "two of five servers had ended")
	}
}

// oneEmpty restarts one of five nodes empty while A holds the lock.
func oneEmpty(restarted bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		if restarted {
			clients.Restart(ctx, b.Trial, b.nodes[0])
		}
		b.intruder(ctx, other, clients.NewResource(b.Trial, false), h)
	}
}
