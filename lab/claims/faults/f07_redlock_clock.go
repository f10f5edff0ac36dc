package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

var F07 = Experiments.Add(lab.Experiment{
	ID:       "F07-redlock-clock",
	Articles: lab.Articles{"A2", "A4"},
	Claim:    "In RedLock a node whose clock jumps ahead ends its key early and lets a second majority form.",
	Level:    lab.Advanced,
	Anomaly:  "clock jump",
	Schedule: lab.Schedule{Takes: 16 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat([]lab.Variant{
		{Name: "no jump", Run: failovers.OnDecidingNode(clients.NoFault)},
		{Name: "a jump that does not decide", Fault: true, Run: failovers.OnThirdNode(hourAhead)},
		{
			Name: "a jump on the deciding node", Expect: lab.Sometimes, Strategy: "v4", Fault: true,
			Run: failovers.OnDecidingNode(hourAhead),
		},
		{Name: "a jump on the only Redis", Expect: lab.Sometimes, Strategy: "v3", Fault: true, Run: clients.OnSingle(hourAhead)},
	}, clients.NaiveVariants("a jump on the only Redis", clients.LostAfter(hourAhead), "SET NX PX", "SET NX PX, DEL"), []lab.Variant{
		{
			Name: "a jump of the database's clock", Expect: lab.Sometimes, Strategy: "v5", Fault: true, Trials: 1,
			Needs: []lab.Need{lab.MariaDB}, Run: clients.OnMariaDB(jumpOfDatabase),
		},
	}),
})

// hourAhead makes a node end its keys an hour early.
func hourAhead(ctx context.Context, t *lab.Trial, n *servers.Node) {
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
