package stores

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
)

var D03 = experiments.Experiment{
	ID:       "D03-connection-ends",
	Title:    "The connection of a holder ends",
	Articles: experiments.Articles{"A2"},
	Claim:    "A GET_LOCK ends with its connection while the holder works on, and a lease in a row does not.",
	Says: `
		A2 names a lock in the database as one of three ways. It does not say what happens when the connection ends.`,
	Lesson: experiments.Lesson{
		Question: `
			A client has taken GET_LOCK on a connection of its own, and works. A proxy, a timeout or an administrator ends the connection. Does
			another client get the lock before the work is done?`,
		Predict: `
			(a) No: the lock is released only by RELEASE_LOCK. (b) Yes, immediately. (c) Yes, after a timeout of the server.`,
		Why: `
			(b). The server frees the lock when it sees the end of the connection. The holder sees it when it sends the next statement, and
			work outside of the database sends none. A lease in a row belongs to no connection. The holder's next request takes another
			connection, and the row is still its own.`,
		Fix: `
			Let the work be in the transaction that locks the row (SELECT … FOR UPDATE), so that a lost connection rolls it back. Where the
			work is outside of the database, use a lease in a row, and check its token (v5).`,
		Limits: `
			The connection is killed, so the server sees its end immediately. When the network drops everything, the server keeps the lock until
			its timeouts end the connection (wait_timeout, 8 hours by default). That is not tried here.`,
		Next: `
			D01-database-lock uses GET_LOCK through a pool. L11 pauses a holder past its lease, and L05 works longer than the lease. By hand: a
			mysql client that runs SELECT GET_LOCK('a', 0), and another one that kills its connection.`,
		Level: experiments.Medium,
	},
	Drawing: `
A        ├─ GET_LOCK ─ read 0 ──────────────────────────────────── write 1
server                  ✗ connection killed: the lock is free
B                           ├─ GET_LOCK: granted ─ read 0 ─ write 1: one update is lost`,
	How: `
		A takes the lock and reads. An administrator kills A's connection, and B tries. Then A writes and releases, and B takes the lock and
		adds one. If B was granted the lock before, both write the same value. Each step waits for the one before.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.MariaDB},
		Takes:  4 * time.Second,
		Trials: 1, // each starts a database, and nothing here is random
	},
	Check: clients.Any(history.Counter, clients.Noted(clients.LockedByNobody)),
	Variants: []experiments.Variant{
		{Name: "GET_LOCK, nothing is killed", Run: clients.OnDatabase(clients.Pinned, clients.TryInBetween)},
		{
			Name: "GET_LOCK, connection killed", Expect: experiments.Sometimes, Fault: true,
			Run: clients.OnDatabase(clients.Pinned, killedInBetween),
		},
		{Name: "lease in a row, connection killed", Strategy: "v5", Fault: true, Run: clients.OnDatabase(clients.RowLocks, killedInBetween)},
	},
}

// killedInBetween kills A's connection before B tries.
func killedInBetween(ctx context.Context, x clients.DatabasePair) {
	x.Around(ctx, func(*clients.Holder) {
		id := x.Ask(ctx, "SELECT COALESCE(IS_USED_LOCK(?), 0)", clients.LockKey)
		if id == 0 { // no connection has the lock: A's is any one of its pool
			x.Must(x.Pool.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id))
		}
		x.KillConnection(ctx, id, "A")
	})
}
