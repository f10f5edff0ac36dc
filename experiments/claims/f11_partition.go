package claims

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/history"
	"locklab/stack"
)

// partitionLease is renewed until the link is cut, and then has to end.
const partitionLease = 600 * time.Millisecond

var _ = register(experiments.Experiment{
	ID:      "F11-partition",
	Article: "A0, A1, A2",
	Claim:   "A holder that is cut off from the server stops in time: its lease's context ends before the server frees the key.",
	Says:    "A holder that dies, or cannot be reached, blocks the others until its lease ends and no longer. What a living one does meanwhile that cannot renew, the articles leave open.",
	Drawing: `
A       ├─ lock ─ read 0 ─ write 1 ┤ its context ends
link         ✗ cut                    ┆ the server frees the key
B                                     ├─ lock ─ read 1 ─ write 2`,
	How:    "A reaches the server over a link of ours, B directly. The link is cut while A has the lock: in both directions, or so that requests arrive and answers do not. Until when A relies on its lease is compared with until when the server keeps the key, as the server says. One who does not look at its context writes when B has had the lock.",
	Docker: true,
	Takes:  12 * time.Second,
	Breach: func(events []history.Event) []history.Finding {
		return append(history.Counter(events), tooLong(events)...)
	},
	Arms: []experiments.Arm{
		{Name: "link whole", Run: partition(0, true, false)},
		{Name: "cut", Fault: true, Run: partition(stack.Both, true, false)},
		{Name: "answers get lost", Fault: true, Run: partition(stack.ToClient, true, false)},
		{Name: "cut, and A does not look", Expect: experiments.Sometimes, Fault: true, Run: partition(stack.Both, false, false)},
		{Name: "cut, A does not look, the fence is checked", Fault: true, Run: partition(stack.Both, false, true)},
	},
})

// partition cuts A off (not at all: 0) while it has the lock. It looks at its lease before it writes, or does not.
func partition(d stack.Direction, looks, checks bool) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		servers, err := t.Stack.Linked(ctx, "single", t.Real)
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
		if d == 0 {
			r.write(first, value+1)
			if err := first.release(ctx); err != nil {
				return err
			}
			return last(ctx, r, b)
		}
		if err := cut(ctx, t, node.Link, d); err != nil {
			return err
		}
		if looks && first.alive() {
			r.write(first, value+1)
		}
		if err := margin(ctx, first, node); err != nil {
			return err
		}
		if err := last(ctx, r, b); err != nil { // when the server has freed it
			return err
		}
		if !looks {
			r.write(first, value+1)
		}
		return first.lost(ctx)
	}
}

// marginText names what margin measures.
const marginText = "µs for which the server keeps the key after its holder has stopped to rely on it, at least"

// margin compares until when a holder relies on its lease with until when the server keeps the key. The server says for how many
// whole milliseconds it will, counted from before it was asked: so the margin is this much or more. Of several answers the
// fastest says most.
func margin(ctx context.Context, h *held, n *stack.Node) error {
	const answers = 20
	until, kept := h.lease.Until(), time.Time{}
	err := n.Ask(func(c *redis.Client) error {
		for range answers {
			asked := time.Now()
			left, err := c.PTTL(ctx, lockKey).Result()
			if err != nil {
				return err
			}
			if left > 0 && asked.Add(left-time.Millisecond).After(kept) {
				kept = asked.Add(left - time.Millisecond)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if kept.IsZero() {
		return fmt.Errorf("the lock was gone before it was looked at: nothing is measured")
	}
	h.client.t.Record(h.event(history.Event{Kind: history.Measure, Value: kept.Sub(until).Microseconds(), Text: marginText}))
	return nil
}

// tooLong finds holders that rely on a lease for longer than the server keeps the key.
func tooLong(events []history.Event) (found []history.Finding) {
	for _, e := range events {
		if e.Kind == history.Measure && e.Text == marginText && e.Value < 0 {
			found = append(found, history.Finding{What: fmt.Sprintf("%s relies on its lease for %d µs after the server has freed the key", e.Lane, -e.Value), Events: []int{e.Seq}})
		}
	}
	return found
}
