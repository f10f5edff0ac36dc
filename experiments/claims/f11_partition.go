package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

// partitionLease is renewed until the link is cut, and then has to end.
const partitionLease = 600 * time.Millisecond

var _ = register(experiments.Experiment{
	ID:      "F11-partition",
	Article: "A0, A1, A2",
	Claim:   "A holder that is cut off from the server stops in time: its lease's context ends before the server frees the key.",
	Says:    "A holder that dies, or cannot be reached, blocks the others until its lease ends and no longer. What a living one does meanwhile that cannot renew, the articles leave open.",
	Drawing: `
A       ├─ lock ─ read 0 ──────────┤ its context ends: it must not write
link                  ✗ cut          ┆ the server frees the key
B                     waits …        ├─ lock ─ read 0 ─ write 1`,
	How:    "A reaches the server over a link of ours, B directly. The link is cut while A has the lock: in both directions, or so that requests arrive and answers do not, which is seen by the key's life getting longer once more. From then on B waits. The moment at which A's context ends is recorded, and compared with the moment at which B gets the lock; and until when A relies on its lease is compared with until when the server keeps the key, as the server says. When B is done A writes, if its context is still alive; in other arms it does not look.",
	Docker: true,
	Alone:  true,
	Takes:  10 * time.Second,
	Check: func(events []history.Event) []history.Violation {
		return append(append(history.Counter(events), tooLong(events)...), toldLate(events)...)
	},
	Variants: []experiments.Variant{
		{Name: "link whole", Run: partition(0, true, false)},
		{Name: "cut", Fault: true, Run: partition(faultproxy.Both, true, false)},
		{Name: "answers get lost", Fault: true, Run: partition(faultproxy.ToClient, true, false)},
		{Name: "cut, and A does not look", Expect: experiments.Sometimes, Fault: true, Run: partition(faultproxy.Both, false, false)},
		{Name: "cut, A does not look, the fence is checked", Fault: true, Run: partition(faultproxy.Both, false, true)},
	},
})

// partition cuts A off (not at all: 0) while it has the lock. It looks at its lease before it writes, or does not.
func partition(d faultproxy.Direction, looks, checks bool) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		servers, err := t.Stack.ProxiedTopology(ctx, "single", t.Real)
		if err != nil {
			return err
		}
		node := servers.Nodes[0]
		x := &replicated{t: t, servers: servers, master: node}
		a, err := x.comes(ctx, "A", partitionLease)
		if err != nil {
			return err
		}
		x.servers = servers.At(node.Addr) // past the link
		b, err := x.comes(ctx, "B", partitionLease)
		if err != nil {
			return err
		}
		r := newResource(t, checks)
		defer r.final()
		first, err := a.acquire(ctx)
		if err != nil {
			return err
		}
		value := r.read(first)
		if err := first.settled(ctx); err != nil { // what it asks before would take the connection on which it renews
			return err
		}
		if d == 0 {
			r.write(first, value+1)
			if err := first.release(ctx); err != nil {
				return err
			}
			return last(ctx, r, b)
		}
		first.watch(ctx)
		if err := cut(ctx, t, node.Proxy, d); err != nil {
			return err
		}
		if d == faultproxy.ToClient {
			if err := renewed(ctx, t, node); err != nil {
				return err
			}
		}
		if err := margin(ctx, first, node); err != nil {
			return err
		}
		beside(ctx, t, first.lease.Until())
		if err := last(ctx, r, b); err != nil { // when the server has freed it
			return err
		}
		if !looks || first.lease.Context().Err() == nil {
			r.write(first, value+1)
		}
		if err := first.lost(ctx); err != nil {
			return err
		}
		return inTime(t.Events())
	}
}

// renewed waits until a key has more of its life before it than a moment before: its holder's requests arrive.
func renewed(ctx context.Context, t *experiments.Trial, n *stack.Node) error {
	before := time.Duration(0)
	return n.WithClient(func(c *redis.Client) error {
		return stack.Until(ctx, func(ctx context.Context) error {
			left, err := c.PTTL(ctx, lockKey).Result()
			switch {
			case err != nil:
				return err
			case left > before && before > 0:
				t.Note(n.Name, fmt.Sprintf("a renewal has arrived: the key had %s to live, and has %s", before, left))
				return nil
			case left <= 0:
				return stack.Permanent{Err: errors.New("the key's life has ended, and no renewal was seen to arrive: the machine was busy")}
			}
			before = left
			return errors.New("no renewal has arrived")
		})
	})
}

// lateText names what beside measures.
const lateText = "µs by which a timer of ours was late at the end of the lease"

// beside measures how late a timer is that has nothing to do with the lock, at the moment at which the holder's context must end.
func beside(ctx context.Context, t *experiments.Trial, until time.Time) {
	t.Go(func() {
		select {
		case <-time.After(time.Until(until)):
			measure(t, "lab", time.Since(until).Microseconds(), lateText)
		case <-ctx.Done():
		}
	})
}

// scheduling is by how much a holder may learn of its loss after the next grant without its being the lock's fault: a busy machine delays
// timers that are due. One on which our own timer was that late shows nothing.
const scheduling = partitionLease / 10

// toldLate finds holders whose context was alive when another had been granted the lock.
func toldLate(events []history.Event) (found []history.Violation) {
	ours, ok := measured(events, "lab", lateText)
	if !ok || time.Duration(ours.Value)*time.Microsecond > scheduling/2 {
		return nil
	}
	for _, o := range overlaps(events) {
		if by := o.lose.At - o.grant.At; by > scheduling {
			found = append(found, history.Violation{
				What:   fmt.Sprintf("%s's context ended %s after %s was granted the lock", o.lose.Timeline, by.Round(time.Microsecond), o.grant.Timeline),
				Events: []int{o.grant.Seq, o.lose.Seq},
			})
		}
	}
	return found
}

// inTime says when toldLate shows nothing: a timer may have been late.
func inTime(events []history.Event) error {
	for _, o := range overlaps(events) {
		return fmt.Errorf("%s's context ended %s after %s's grant: a late timer on a busy machine, maybe", o.lose.Timeline, (o.lose.At - o.grant.At).Round(time.Microsecond), o.grant.Timeline)
	}
	return nil
}

// overlap is a grant at which another had not learnt of its loss.
type overlap struct{ grant, lose history.Event }

func overlaps(events []history.Event) (all []overlap) {
	for _, lose := range events {
		for _, grant := range events {
			if lose.Kind == history.Lose && grant.Kind == history.Grant && grant.Timeline != lose.Timeline && grant.Seq < lose.Seq {
				all = append(all, overlap{grant, lose})
			}
		}
	}
	return all
}
