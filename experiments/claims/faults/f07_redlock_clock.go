package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/stack"
)

var F07 = experiments.Experiment{
	ID:       "F07-redlock-clock",
	Title:    "RedLock: a clock jumps",
	Articles: experiments.Articles{"A2", "A4"},
	Claim:    "In RedLock a node whose clock jumps ahead ends its key early and lets a second majority form.",
	Says: `
		The nodes count the lease, and nothing is said of their clocks.`,
	Elsewhere: `
		RedLock assumes that the clocks run at about the same speed ("Is the algorithm asynchronous?" in
		https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/). A clock that is set forward violates that, as
		Martin Kleppmann wrote in 2016 (https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html).`,
	Lesson: experiments.Lesson{
		Question: `
			A client holds a RedLock on nodes 1, 2 and 3 of five. An operator corrects the clock of node 3, which was slow: it jumps
			ahead. Another client asks all five nodes for the lock. Is it refused?`,
		Predict: `
			(a) Yes: a lease is counted from its start, whatever the clock says. (b) Yes: two other nodes still have the key. (c) No:
			node 3 has ended its key and votes again.`,
		Why: `
			(c). Redis ends a key when the node's own clock has passed its expiry. After the jump the key on node 3 is over, and the node
			votes for B. Then nodes 3, 4 and 5 are a second majority while A's lease goes on. Where A holds all five nodes, one jump
			leaves it four, and B is refused. A single Redis has no other nodes: one jump is enough. A database
			keeps the expiry of a row by its own clock, and has the same weakness.`,
		Fix: `
			Configure NTP to change the speed of the clock (slew), and never to set it (step) while Redis runs. Check a fencing token where
			the lock has one; RedLock has none.`,
		Limits: `
			The run sets no clock: it shortens the life of the keys, which has the same effect on them. Any jump longer than the rest of
			the lease would do. A clock that is set back keeps keys for longer, and others wait: that is not shown.`,
		Next:  "F06 (a restart makes a node forget), F08 (one node counts twice), L13 (an eviction ends the key).",
		Level: experiments.Advanced,
	},
	Drawing: `
A        ├─ 1 2 3 of 5 ─ read 0 ──────────────────────── write 1
node 3   ───────────────── ✗ an hour ahead: its key expires  ↑ one update is lost
B                            ├─ 3 4 5 of 5 ─ read 0 ─ write 1`,
	How: `
		A does not reach nodes 4 and 5, and holds the lock by 1, 2 and 3. A jump of node 3's clock is imitated: the life of its keys is
		shortened by an hour, and its clock is left alone. B asks all five. Where A holds the lock on all five, the same node's jump
		changes nothing. In a database the rows of the locks end an hour earlier. The naive locks of the articles run on one Redis.`,
	Anomaly:  "clock jump",
	Schedule: experiments.Schedule{Takes: 16 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat([]experiments.Variant{
		{Name: "no jump", Run: failovers.OnDecidingNode(clients.NoFault)},
		{Name: "a jump that does not decide", Fault: true, Run: failovers.OnThirdNode(hourAhead)},
		{
			Name: "a jump on the deciding node", Expect: experiments.Sometimes, Strategy: "v4", Fault: true,
			Run: failovers.OnDecidingNode(hourAhead),
		},
		{Name: "a jump on the only Redis", Expect: experiments.Sometimes, Strategy: "v3", Fault: true, Run: clients.OnSingle(hourAhead)},
	}, clients.NaiveVariants("a jump on the only Redis", clients.LostAfter(hourAhead), "SET NX PX", "SET NX PX, DEL"), []experiments.Variant{
		{
			Name: "a jump of the database's clock", Expect: experiments.Sometimes, Strategy: "v5", Fault: true, Trials: 1,
			Needs: []experiments.Need{experiments.MariaDB}, Run: clients.OnMariaDB(jumpOfDatabase),
		},
	}),
}

// hourAhead makes a node end its keys an hour early.
func hourAhead(ctx context.Context, t *experiments.Trial, n *stack.Node) {
	const by = time.Hour
	proof, err := t.Stack.ClockAhead(ctx, n, by)
	t.Must(err)
	t.Fault(n.Name, fmt.Sprintf("acts as if %s more had passed: its keys live shorter, its clock is untouched", by), proof)
}

func jumpOfDatabase(ctx context.Context, x *clients.MariaDB) {
	s := clients.NewSuccession(x.Trial)
	s.Come(ctx, x.NewClient(ctx, "A", clients.LongLease))
	const left = "SELECT expires - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) FROM locklab_locks"
	before := x.Ask(ctx, left)
	x.Execute(ctx, "UPDATE locklab_locks SET expires = expires - ?", time.Hour.Microseconds())
	after := x.Ask(ctx, left)
	proof := ""
	if before > 0 && after <= 0 {
		proof = fmt.Sprintf("the row had %d µs left and has %d µs", before, after)
	}
	x.Fault("database", "acts as if an hour more had passed: rows live shorter, its clock is untouched", proof)
	s.Come(ctx, x.NewClient(ctx, "B", clients.LongLease))
	s.Finish(ctx)
}
