package scorecard

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
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

// deadHolder ends the holder, or lets it release. Until the time that the holder was told nobody else may be granted the key.
func deadHolder(dies bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		if !dies {
			release(ctx, h)
			b.freed(ctx, other, "its holder's end")
			return
		}
		a.Kill()
		next := b.freed(ctx, other, "its holder's end")
		if next == nil {
			return
		}
		if early := h.ReliesUntil.Sub(next.Granted); early > 0 {
			b.violates(other.Name, "was granted the key %s before the time until which A may rely on it", early.Round(time.Millisecond))
		}
	}
}

// intruder lets C try, between the read and the write of a holder. A grant is one too many: an update is lost.
func (b *bench) intruder(ctx context.Context, c *process, r *clients.Resource, first *holder, wait time.Duration) {
	value := r.Read(first)
	if h := c.acquire(ctx, wait); h != nil {
		b.mustKeep(first, h.Granted)
		r.Add(h)
		release(ctx, h)
	}
	r.Write(first, value+1)
	release(ctx, first)
}

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
		next := other.holds(ctx, key)
		if keysLost {
			release(ctx, h)
		}
		b.intruder(ctx, c, clients.NewResource(b.Trial, false), next, b.lease/10)
	}
}

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
			if checks && next.Token <= h.Token {
				b.violates(other.Name, "was granted token %d, which is not larger than token %d of the holder before", next.Token, h.Token)
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
				wait = 2 * b.lease
			}
			if h.AwaitLoss(ctx, wait) {
				b.violates(a.Name, "told of a loss, and nobody else was granted the key")
			}
			release(ctx, h)
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

// lostAcquire loses the reply to A's acquire. The key must become free, whatever A says of it.
func lostAcquire(lost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		release(ctx, h)
		mustBeLost := func() {}
		if lost {
			mustBeLost = a.loseReply()
		}
		if h = a.acquire(ctx, b.lease/2); h != nil {
			release(ctx, h)
		}
		mustBeLost()
		b.freed(ctx, other, "an acquire whose reply was lost")
	}
}

// lostRelease loses the reply to A's release. The key must become free, and A must not release the lock of B.
func lostRelease(lost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		mustBeLost := func() {}
		if lost {
			mustBeLost = a.loseReply()
		}
		sent := b.Now()
		release(ctx, h)
		mustBeLost()
		b.Must(b.lostBefore(sent))
		if next := b.freed(ctx, other, "a release whose reply was lost"); next != nil {
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

// cutHolder closes the connections of A for less than a lease, while it holds the lock.
func cutHolder(closed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		r, wait := clients.NewResource(b.Trial, false), b.lease/10
		if b.program.Claims.Renews {
			wait = 2 * b.lease // a renewal that ended with the connection is noticed when the lease is over
		}
		if closed {
			a.cut(ctx, a.wires...)
			pause(ctx, b.lease/10)
			a.mend()
		}
		b.intruder(ctx, other, r, h, wait)
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
	waiterKilled
)

// endedWait lets the wait of B end. Its remains must not keep C out. When B has died they may do so for as long as those of a dead holder.
func endedWait(end int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		other, c := all[1], all[2]
		switch end {
		case timedOut:
			if next := other.acquire(ctx, b.lease/5); next != nil {
				b.mustKeep(h, next.Granted)
				b.violates(other.Name, "was granted a key that A holds")
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
		if c.acquire(ctx, b.lease/2) == nil {
			b.violates(c.Name, "was not granted the key within half a lease, although nobody wants it")
		}
	}
}

// Bounds of a copy that waits by message.
const (
	mostPackets = 10                    // that it sends in half a lease: the renewals of a session, and a try when a lease may be over
	notified    = 50 * time.Millisecond // from a release to its grant, at most
	rounds      = 5                     // a copy that polls is granted the key so soon by chance, but not each time
)

// quietWait lets A and B hand the key over, and counts what B sends for half a lease while it waits for the first time. Without waits each
// requests the key when it is free.
func quietWait(waits bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		first, waiter, h := b.twoCopies(ctx)
		slowest := time.Duration(0)
		for n := range rounds {
			granted := func(ctx context.Context) (*holder, error) { return waiter.acquire(ctx, b.settling()), nil }
			if waits {
				granted = waiter.begin(key, b.settling())
			}
			pause(ctx, b.lease/4+time.Duration(n)*notified/3) // the waiter has begun to wait
			if n == 0 {
				waiter.wantQuiet(ctx)
			}
			released := time.Now()
			b.mustKeep(h, released)
			release(ctx, h)
			freed := time.Now()
			next, err := granted(ctx)
			b.Must(err)
			if next == nil {
				b.violates(waiter.Name, "was not granted the key that %s had released", first.Name)
				return
			}
			b.mustFollow(h, next, released)
			slowest = max(slowest, next.Granted.Sub(freed))
			first, waiter, h = waiter, first, next
		}
		release(ctx, h)
		b.Measure("lab", slowest.Microseconds(), slowestGrant)
		if most := b.Scaled(notified); slowest > most {
			b.violates("lab", "one of %d hand-overs took %s, and %s are allowed: the waiter polls", rounds, slowest, most)
		}
	}
}

// wantQuiet counts for half a lease what a copy sends that waits.
func (p *process) wantQuiet(ctx context.Context) {
	var sent atomic.Int64
	for _, w := range p.wires {
		w.Delay(func(c faultproxy.Chunk) time.Duration {
			if c.Direction == faultproxy.ToServer && (w.Control == nil || !w.Control(c)) {
				sent.Add(1)
			}
			return 0
		})
	}
	pause(ctx, p.Lease/2)
	packets, most := sent.Load(), int64(mostPackets*len(p.wires))
	p.Measure(p.Name, packets, packetsWaiting)
	if packets > most {
		p.bench.violates(p.Name, "sent %d packets in half a lease while it waited, and %d are allowed: it polls", packets, most)
	}
}

// opposite lets A and B each hold one key and request the other's. Both must be refused in time.
func opposite(crossed bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, first := b.twoCopies(ctx)
		theirs := other.holds(ctx, secondKey)
		if crossed {
			wait, asked := b.lease/4, time.Now()
			wantsSecond, wantsFirst := a.begin(secondKey, wait), other.begin(key, wait)
			for of, wants := range map[*holder]func(context.Context) (*holder, error){theirs: wantsSecond, first: wantsFirst} {
				next, err := wants(ctx)
				switch {
				case errors.Is(err, clients.ErrSilent):
					b.violates(of.Name, "holds a key that another copy requests, and that copy has no answer although its wait has ended")
					return
				case next != nil && next.Granted.Sub(asked) > 2*wait:
					b.violates(next.Name, "was granted a key long after its wait had ended")
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

// twoDown lets two of five nodes end or hang. They hang until the end of the trial.
func twoDown(how func(*bench, *servers.Node)) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		_, other, h := b.twoCopies(ctx)
		release(ctx, h)
		if how != nil {
			for _, n := range b.servers.Nodes[:2] {
				how(b, n)
			}
		}
		b.freed(ctx, other, "two of five servers had failed")
	}
}

func killed(b *bench, n *servers.Node) { clients.Kill(b.Trial, n) }

func hanging(b *bench, n *servers.Node) {
	b.Must(n.Pause())
	b.Cleanup(func() error { n.Resume(); return nil })
	b.Fault(n.Name, "hangs", "no thread of its process runs")
}

// oneEmpty lets A hold the lock by the votes of three servers, as it cannot reach the others. One of the three restarts empty: its vote is
// free for B, which reaches all five.
func oneEmpty(restarted bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all := b.startAll(ctx, 2)
		for _, p := range all { // it connects; what it may leave behind is no vote for the key of the trial
			release(ctx, p.holds(ctx, secondKey))
		}
		a, other, r := all[0], all[1], clients.NewResource(b.Trial, false)
		a.cut(ctx, a.wires[3:]...)
		asked := time.Now()
		h := a.holds(ctx, key)
		value := r.Read(h)
		reached := func() bool { return true }
		if restarted {
			clients.Restart(ctx, b.Trial, b.servers.Nodes[2])
			reached = watchRequests(other.wires[2])
			release(ctx, other.holds(ctx, secondKey)) // B notices that a connection has ended
		}
		if time.Since(asked) > b.lease/2 {
			b.Must(errors.New("the lease of the holder may end before the end of the trial: this machine is too slow; run it again"))
		}
		switch next := other.acquire(ctx, b.lease/4); {
		case next == nil && !reached():
			b.Must(fmt.Errorf("%s has not connected again to the server that has restarted, so nothing is shown", other.Name))
		case next != nil && !h.IsLost(): // a holder that has told of its loss has stopped
			r.Add(next)
			release(ctx, next)
		}
		r.Write(h, value+1)
		release(ctx, h)
	}
}

// watchRequests returns what reports whether a request has passed since then.
func watchRequests(w *servers.Proxy) (sent func() bool) {
	var seen atomic.Bool
	w.Delay(func(c faultproxy.Chunk) time.Duration {
		if c.Direction == faultproxy.ToServer {
			seen.Store(true)
		}
		return 0
	})
	return seen.Load
}
