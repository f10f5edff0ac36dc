package scorecard

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab/clients"
	"locklab/lab/servers"
)

// cutWaiter closes the connections of B while it waits. B may stop, and must not wait for ever.
func cutWaiter(closed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		granted := other.begin(key, b.settling())
		pause(ctx, b.lease/4)
		if closed {
			other.cut(ctx, other.wires...)
			other.mend()
		}
		released := time.Now()
		release(ctx, h)
		switch next, err := granted(ctx); {
		case errors.Is(err, clients.ErrSilent):
			b.violates(other.Name, "has neither a grant nor a refusal although its wait has ended")
			return
		case next != nil:
			b.mustFollow(h, next, released)
			release(ctx, next)
		case !errors.Is(err, clients.ErrAnswer):
			b.Must(err)
		}
		b.freed(ctx, other, "both had left")
	}
}

// Ends of a wait.
const (
	noWait = iota
	timedOut
	siblingTimedOut // in the holder's process
	waiterKilled
)

// endedWait lets the wait of B end. Its remains must not keep C out. When B has died they may do so for as long as those of a dead holder.
func endedWait(end int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		other, c := all[1], all[2]
		switch end {
		case timedOut:
			other.mustWait(ctx, h, b.lease/5)
		case siblingTimedOut:
			for _, p := range []*process{all[0], all[0], other} {
				p.mustWait(ctx, h, b.lease/10)
			}
		case waiterKilled:
			other.begin(key, 3*b.settling())
			pause(ctx, b.lease/4)
			other.Kill()
		}
		release(ctx, h)
		if end == waiterKilled {
			b.freed(ctx, c, "a waiter had died")
			return
		}
		pause(ctx, b.lease/10) // time for what is left of B's wait to take the key
		switch _, err := c.insist(ctx, key, b.lease/2, clients.ErrRefused); {
		case errors.Is(err, clients.ErrRefused):
			b.violates(c.Name, "was not granted the key within half a lease, although nobody wants it")
		default:
			b.Must(err)
		}
	}
}

// mustWait lets a copy wait for a key that another caller holds. It must not be granted it.
func (p *process) mustWait(ctx context.Context, h *holder, wait time.Duration) {
	if next := p.acquire(ctx, wait); next != nil {
		p.bench.mustKeep(h, next.Granted)
		p.bench.violates(p.Name, "was granted a key that another caller, of %s, holds", h.Name)
	}
}

// Bounds of a copy that waits by message.
const (
	mostPackets = 10                    // that it sends in half a lease: the renewals of a session, and a try when a lease may be over
	notified    = 50 * time.Millisecond // from a release to its grant, at most, beside what a grant of a free key takes
	rounds      = 5                     // a copy that polls is granted the key so soon by chance, but not each time
)

// quietWait lets A and B hand the key over, and counts what B sends for half a lease while it waits for the first time. Without waits each
// requests the key when it is free.
func quietWait(waits bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		first, waiter, h := b.twoCopies(ctx)
		var free time.Duration // what a grant of a free key takes, at most: a server with a slow disk needs longer for each
		for range rounds {
			release(ctx, h)
			asked := time.Now()
			h = first.holds(ctx, key)
			free = max(free, time.Since(asked))
		}
		most := b.Scaled(notified) + free
		var took []time.Duration
		for n := range rounds {
			granted := func(ctx context.Context) (*holder, error) { return waiter.acquire(ctx, b.settling()), nil }
			if waits {
				granted = waiter.begin(key, b.settling())
			}
			pause(ctx, b.lease/4+time.Duration(n)*notified/3) // the waiter has begun to wait
			if n == 0 {
				waiter.wantQuiet(ctx)
			}
			next, grant := waiter.takesOver(ctx, h, granted)
			if next == nil {
				return
			}
			took = append(took, grant)
			first, waiter, h = waiter, first, next
		}
		release(ctx, h)
		slices.Sort(took)
		second := took[rounds-2] // one may be slow because the machine was busy for a moment
		b.Measure("lab", second.Microseconds(), slowGrant)
		if waits && second > most {
			b.violates("lab", "two of %d hand-overs took %s or longer, and %s are allowed: the waiter polls", rounds, second,
				most.Round(time.Millisecond))
		}
	}
}

// takesOver releases a key, and waits until a waiter is granted it, which took so long. nil: it is not, which is a violation.
func (p *process) takesOver(
	ctx context.Context, h *holder, granted func(context.Context) (*holder, error), freed ...func(),
) (next *holder, took time.Duration) {
	released := time.Now()
	p.bench.mustKeep(h, released)
	release(ctx, h)
	for _, then := range freed {
		then()
	}
	free := time.Now()
	next, err := granted(ctx)
	if next == nil && (err == nil || errors.Is(err, clients.ErrSilent)) {
		p.bench.violates(p.Name, "was not granted the key that %s had released, although it waited for %s", h.Name, p.bench.settling())
		return nil, 0
	}
	p.Must(err)
	p.bench.mustFollow(h, next, released)
	return next, next.Granted.Sub(free)
}

// wantQuiet counts for half a lease what a copy sends that does not hold the key.
func (p *process) wantQuiet(ctx context.Context) {
	var sent atomic.Int64
	p.eachPacket(func(w *servers.Proxy, c faultproxy.Chunk) {
		if c.Direction == faultproxy.ToServer && (w.Control == nil || !w.Control(c)) {
			sent.Add(1)
		}
	})
	pause(ctx, p.Lease/2)
	packets, most := sent.Load(), int64(mostPackets*len(p.wires))
	p.Measure(p.Name, packets, packetsWaiting)
	if packets > most {
		p.bench.violates(p.Name, "sent %d packets in half a lease without the key, and %d are allowed", packets, most)
	}
}

// singleTry lets B try once for a key that A holds. It must be refused.
func singleTry(ctx context.Context, b *bench) {
	b.longLease()
	_, other, h := b.twoCopies(ctx)
	next, err := other.begin(key, 0)(ctx)
	switch {
	case errors.Is(err, clients.ErrSilent):
		b.violates(other.Name, "has no answer to a single try for a key that %s holds", h.Name)
	case next != nil:
		b.mustFollow(h, next, time.Now())
	default:
		b.Must(err)
	}
	release(ctx, h)
}

// opposite lets A and B each hold one key and request the other's. Both must be refused in time.
func opposite(crossed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		b.longLease() // it does not end the deadlock in place of the refusals
		a, other, first := b.twoCopies(ctx)
		theirs := other.holds(ctx, secondKey)
		if crossed {
			wait := b.Scaled(ownLease) / 4
			wantsSecond, wantsFirst := a.begin(secondKey, wait), other.begin(key, wait)
			for of, wants := range map[*holder]func(context.Context) (*holder, error){theirs: wantsSecond, first: wantsFirst} {
				next, err := wants(ctx)
				switch {
				case errors.Is(err, clients.ErrSilent):
					b.violates(of.Name, "holds a key that another copy requests, and that copy has no answer although its wait has ended")
					return
				case next != nil:
					b.mustKeep(of, next.Granted)
					b.violates(next.Name, "was granted a key that another copy holds")
				}
				b.Must(err)
			}
		}
		release(ctx, first)
		release(ctx, theirs)
		b.freed(ctx, other, "both had released")
	}
}

// quicker lets A and B hand the key over, once each, and returns the shorter time: one may be long because the machine was busy for a
// moment. nil: a hand-over is not possible.
func quicker(
	a, other *process, h *holder, handOver func(waiter *process, h *holder) (next *holder, took time.Duration),
) (last *holder, shorter time.Duration) {
	last, first := handOver(other, h)
	if last == nil {
		return nil, 0
	}
	last, second := handOver(a, last)
	return last, min(first, second)
}

// soon is how long a hand-over may take that needs a second look.
func (b *bench) soon() time.Duration { return max(b.lease/4, b.Scaled(4*notified)) }

// lateWaiter keeps back what a waiter sends after its first packets of a wait, until the key was released. It begins to listen too late to
// hear of that, so it must look once more.
func lateWaiter(ctx context.Context, b *bench) {
	const firstPackets = 3 // of a first try
	a, other, h := b.twoCopies(ctx)
	for packets := 1; packets <= firstPackets; packets++ {
		next, took := quicker(a, other, h, func(waiter *process, h *holder) (*holder, time.Duration) {
			held, pass := waiter.holdBack(packets, func(faultproxy.Chunk) bool { return true })
			granted := waiter.begin(key, b.settling())
			select {
			case <-held:
			case <-time.After(b.lease / 8): // it waits, and has sent no more
			}
			return waiter.takesOver(ctx, h, granted, pass)
		})
		if next == nil {
			return
		}
		if took > b.soon() {
			b.violates("lab", "a waiter was granted the key %s after its release, which had come after its packet %d: it does not look again "+
				"when it listens", took.Round(time.Millisecond), packets)
		}
		h = next
	}
	release(ctx, h)
}

// secondWait lets a copy wait again when a wait of it has ended. The message of the release is for the caller that waits.
func secondWait(ctx context.Context, b *bench) {
	a, other, h := b.twoCopies(ctx)
	next, took := quicker(a, other, h, func(waiter *process, h *holder) (*holder, time.Duration) {
		if next, err := waiter.begin(key, b.lease/8)(ctx); errors.Is(err, clients.ErrSilent) {
			b.Note(waiter.Name, "its wait does not end, so it cannot wait again") // T13 judges that
			release(ctx, h)
			return nil, 0
		} else if b.Must(err); next != nil {
			b.mustFollow(h, next, time.Now())
		}
		granted := waiter.begin(key, b.settling())
		pause(ctx, b.lease/4) // it has begun to wait
		return waiter.takesOver(ctx, h, granted)
	})
	if next == nil {
		return
	}
	release(ctx, next)
	if took > b.soon() {
		b.violates("lab", "a waiter was granted the key %s after its release, of which a caller may have heard whose wait had ended",
			took.Round(time.Millisecond))
	}
}

// failOpen lets B request a key that A holds while B's server does not answer as it should. No answer is no grant.
func failOpen(fault int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		if fault == serverRefuses && !b.Real {
			b.Note("lab", "miniredis answers no such error, so nothing is tried")
			return
		}
		mend := other.breakServer(ctx, fault)
		answers := []func(context.Context) (*holder, error){other.begin(key, 0), other.begin(key, b.lease/5)}
		pause(ctx, b.lease*2/5)
		mend()
		for _, answer := range answers {
			next, err := answer(ctx)
			switch {
			case next != nil:
				b.mustKeep(h, next.Granted)
				b.violates(other.Name, "was granted a key that %s holds, while its server did not answer as it should", a.Name)
			case !errors.Is(err, clients.ErrAnswer):
				b.Must(err)
			}
		}
		release(ctx, h)
		b.freed(ctx, other, "its holder's release")
	}
}

// breakServer breaks what a copy hears from its servers, until mend. Errors are those of the server, to every copy.
func (p *process) breakServer(ctx context.Context, fault int) (mend func()) {
	switch fault {
	case linesSilent:
		p.hang()
	case serverRefuses:
		for _, copied := range p.bench.processes {
			copied.Hit = true
		}
		for _, n := range p.bench.servers.Nodes {
			p.Must(n.Configure(ctx, "min-replicas-to-write", 1))
			p.Fault(n.Name, "refuses writes", "it needs a replica, and has none")
		}
		return func() {
			for _, n := range p.bench.servers.Nodes {
				p.Must(n.Configure(ctx, "min-replicas-to-write", 0))
			}
		}
	default:
		p.cut(ctx, p.wires...)
	}
	return p.mend
}
