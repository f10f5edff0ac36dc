package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "F07-redlock-clock",
	Article: "A2, A4",
	Claim:   "A node whose clock jumps ahead expires its key early and lets a second majority form.",
	Says:    "The articles let the nodes count the lease, and say nothing of their clocks. RedLock assumes that they go at about the same speed; one that is set forward breaks it, as it breaks a single Redis.",
	Drawing: `
A        ├─ 1 2 3 of 5 ─ read 0 ──────────────────────── write 1
node 3   ───────────────── ✗ an hour ahead: its key expires  ↑ one update is lost
B                            ├─ 3 4 5 of 5 ─ read 0 ─ write 1`,
	How:     "A does not reach nodes 4 and 5, and has the lock by 1, 2 and 3. What node 3 does with its clock is to end keys, so the life of its keys is shortened by an hour; its clock itself is left alone. B asks all five. Where A has all five, the same node's jump changes nothing.",
	Anomaly: "clock jump",
	Takes:   5 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "no jump", Run: onThree(nothing)},
		{Name: "a jump that does not decide", Fault: true, Run: onFive(hourAhead)},
		{Name: "a jump on the deciding node", Expect: experiments.Sometimes, Strategy: "v4", Fault: true, Run: onThree(hourAhead)},
		{Name: "a jump on the only Redis", Expect: experiments.Sometimes, Strategy: "v3", Fault: true, Run: onSingle(hourAhead)},
	},
})

func hourAhead(ctx context.Context, t *experiments.Trial, n *stack.Node) error {
	return clockAhead(ctx, t, n, time.Hour)
}
