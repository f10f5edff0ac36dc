package stores

import (
	"context"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var D03 = Experiments.Add(lab.Experiment{
	ID:       "D03-connection-ends",
	Articles: lab.Articles{"A2"},
	Claim:    "A GET_LOCK ends with its connection while the holder works on, and a lease in a row does not.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.MariaDB},
		Takes:  4 * time.Second,
		Trials: 1, // each starts a database, and nothing here is random
	},
	Check: clients.Any(history.Counter, clients.Noted(lockedByNobody)),
	Variants: []lab.Variant{
		{Name: "GET_LOCK, nothing is killed", Run: onDatabase(pinned, tryInBetween)},
		{
			Name: "GET_LOCK, connection killed", Expect: lab.Sometimes, Fault: true,
			Run: onDatabase(pinned, killedInBetween),
		},
		{Name: "lease in a row, connection killed", Fault: true, Run: onDatabase(rowLocks, killedInBetween)},
	},
})

// killedInBetween kills A's connection before B tries.
func killedInBetween(ctx context.Context, x pair) {
	x.around(ctx, func() {
		id := x.Ask(ctx, "SELECT COALESCE(IS_USED_LOCK(?), 0)", clients.LockKey)
		if id == 0 { // no connection has the lock: A's is any one of its pool
			x.Must(x.pool.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id))
		}
		x.KillConnection(ctx, id, "A")
	})
}
