package stores

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/lockstrategy"
)

var D01 = experiments.Experiment{
	ID:       "D01-database-lock",
	Title:    "GET_LOCK through a pool",
	Articles: experiments.Articles{"A2"},
	Claim:    "A GET_LOCK belongs to a connection: through a pool it excludes nobody and stays locked.",
	Says: `
		A2 names a lock in the database as one of three ways. It shows none of its forms, and does not compare it with the others.`,
	Lesson: experiments.Lesson{
		Question: `
			A service calls GET_LOCK, works, and calls RELEASE_LOCK, each through its pool of connections. Two requests do so simultaneously in
			one process. Does the second one wait?`,
		Predict: `
			(a) It waits: the lock is in the database. (b) It is granted the lock as well. (c) It is refused, and the lock stays locked.`,
		Why: `
			(b) and (c) both happen. The server gives the lock to a connection, and a connection may take it twice. The pool gives connection 7
			back after GET_LOCK, so the second request may get connection 7, and the lock. At the release, the pool may choose another
			connection. RELEASE_LOCK then answers 0, and connection 7 keeps the lock until it ends. A connection that ends frees its lock, while
			the work goes on. A lease in a row belongs to no connection: it ends by its time.`,
		Fix: `
			Take one connection from the pool (in Go: a sql.Conn), and use it for GET_LOCK, for all work, and for RELEASE_LOCK. Check that
			RELEASE_LOCK answers 1. Better: let the work be in the transaction that locks the row. Or use a lease in a row, and check its
			token (v5).`,
		Limits: `
			The resource is outside of the database here, and checks no token. A failover to a replica loses all of these locks. Neither it nor
			the clock of the database is tried here.`,
		Next: `
			D03-connection-ends kills the connection that has the lock, and D02-released-before-commit releases it too early. P5 puts v5 under
			load. By hand: two mysql clients, and SELECT GET_LOCK('a', 0) in each.`,
		Level: experiments.Medium,
	},
	Drawing: `
request 1   ├─ GET_LOCK on connection 7 ─ read 0 ──────────────────────── write 1
pool           7 is free again ┆
request 2                      ├─ GET_LOCK on connection 7: granted ─ read 0 ─ write 1: one update is lost`,
	How: `
		A takes the lock and reads, and B tries in that moment. Then A writes and releases, and B takes the lock and adds one. If B got in
		before, both write the same value. Through a pool, each statement goes to whichever connection is free. In one variant A and B are
		two requests of one process, and both get the same connection. In another one a third request has A's connection when A releases.
		Each step waits for the one before.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.MariaDB},
		Takes:  7 * time.Second,
		Trials: 1, // each starts a database, and nothing here is random
	},
	Check: clients.Any(history.Counter, clients.Noted(clients.LockedByNobody)),
	Variants: []experiments.Variant{
		{Name: "lease in a row", Strategy: "v5", Run: clients.OnDatabase(clients.RowLocks, clients.TryInBetween)},
		{Name: "SELECT … FOR UPDATE", Run: clients.OnDatabase(selectedRows, clients.TryInBetween)},
		{Name: "GET_LOCK, pinned connection", Run: clients.OnDatabase(clients.Pinned, clients.TryInBetween)},
		{
			Name: "GET_LOCK through a pool, one connection for two", Expect: experiments.Sometimes,
			Run: clients.OnDatabase(pooled, clients.TryInBetween),
		},
		{Name: "GET_LOCK through a pool, unlocked elsewhere", Expect: experiments.Sometimes, Run: clients.OnDatabase(pooled, busyAtRelease)},
	},
}

// pooled are two requests of one process. Its pool has one connection at first.
func pooled(ctx context.Context, x *clients.MariaDB) clients.DatabasePair {
	pool := x.Pool(x.Open(ctx))
	return clients.DatabasePair{A: clients.GetLockOn(x, "A", pool, anyOf), B: clients.GetLockOn(x, "B", pool, anyOf), Pool: pool}
}

// selectedRows are two processes that lock a row by a transaction.
func selectedRows(ctx context.Context, x *clients.MariaDB) clients.DatabasePair {
	x.Execute(ctx, "CREATE TABLE row_locks (name VARCHAR(64) PRIMARY KEY)")
	x.Execute(ctx, "INSERT INTO row_locks VALUES (?)", clients.LockKey)
	a, b := x.Pool(x.Open(ctx)), x.Pool(x.Open(ctx))
	return clients.DatabasePair{
		A: clients.NewClient(x.Trial, "A", selectedRow{a, lockstrategy.NewSessions()}),
		B: clients.NewClient(x.Trial, "B", selectedRow{b, lockstrategy.NewSessions()}), Pool: a,
	}
}

// busyAtRelease lets another request have A's connection when A releases. So B is another process, which asks the server itself.
func busyAtRelease(ctx context.Context, x clients.DatabasePair) {
	h := x.A.Acquire(ctx)
	x.Resource.Add(h)
	busy, err := x.Pool.Conn(ctx)
	x.Must(err)
	x.A.Note("another request of A's process has A's connection")
	_ = h.TryRelease(ctx) // RELEASE_LOCK answers 0
	x.B = clients.GetLockOn(x.MariaDB, "B", x.Admin, clients.ConnectionOf)
	if !x.B.UpdateOnce(ctx, x.Resource) {
		x.B.Mark(clients.LockedByNobody)
	}
	x.Must(busy.Close())
}

// anyOf lets the pool choose a connection for each statement.
func anyOf(_ context.Context, pool *sql.DB) (clients.Connection, func() error, error) {
	return pool, func() error { return nil }, nil
}

// selectedRow is the lock of SELECT … FOR UPDATE: a transaction has it.
type selectedRow struct {
	pool     *sql.DB
	sessions *lockstrategy.Sessions
}

// Acquire makes one attempt.
func (s selectedRow) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, err
	}
	tx, err := s.pool.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, err
	}
	var name string
	if err := tx.QueryRowContext(ctx, "SELECT name FROM row_locks WHERE name = ? FOR UPDATE NOWAIT", key).Scan(&name); err != nil {
		return nil, errors.Join(lockstrategy.ErrTaken, err, tx.Rollback())
	}
	return s.sessions.Begin(ctx, request, lockstrategy.Grant{
		Key: key, Asked: time.Now(), Release: func(context.Context) (int, error) { return 0, tx.Commit() },
	})
}
