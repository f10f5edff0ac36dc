package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "F07-redlock-clock",
	Article: "A2, A4",
	Claim:   "A node whose clock jumps ahead expires its key early and lets a second majority form.",
	Says: `
		The articles let the nodes count the lease, and say nothing of their clocks. RedLock assumes that they go at about the same speed. A
		clock that is set forward violates it, as it violates a single Redis.`,
	Drawing: `
A        ├─ 1 2 3 of 5 ─ read 0 ──────────────────────── write 1
node 3   ───────────────── ✗ an hour ahead: its key expires  ↑ one update is lost
B                            ├─ 3 4 5 of 5 ─ read 0 ─ write 1`,
	How: `
		A does not reach nodes 4 and 5, and holds the lock by 1, 2 and 3. Node 3 uses its clock to end keys, so the life of its keys is
		shortened by an hour; its clock itself is left alone. B asks all five. Where A holds the lock on all five, the same node's jump changes
		nothing.`,
	Anomaly: "clock jump",
	Takes:   5 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "no jump", Run: kit.OnDecidingNode(kit.NoFault)},
		{Name: "a jump that does not decide", Fault: true, Run: kit.OnThirdNode(kit.HourAhead)},
		{
			Name: "a jump on the deciding node", Expect: experiments.Sometimes, Strategy: "v4", Fault: true,
			Run: kit.OnDecidingNode(kit.HourAhead),
		},
		{Name: "a jump on the only Redis", Expect: experiments.Sometimes, Strategy: "v3", Fault: true, Run: kit.OnSingle(kit.HourAhead)},
	},
})
