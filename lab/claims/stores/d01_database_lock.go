package stores

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

var D01 = Experiments.Add(lab.Experiment{
	ID:       "D01-database-lock",
	Articles: lab.Articles{"A2"},
	Claim:    "A GET_LOCK belongs to a connection: through a pool it excludes nobody and stays locked.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.MariaDB},
		Takes:  7 * time.Second,
		Trials: 1, // each starts a database, and nothing here is random
	},
	Check: clients.Any(history.Counter, clients.Noted(clients.LockedByNobody)),
	Variants: []lab.Variant{
		{Name: "lease in a row", Run: clients.OnDatabase(clients.RowLocks, clients.TryInBetween)},
		{Name: "SELECT … FOR UPDATE", Run: clients.OnDatabase(selectedRows, clients.TryInBetween)},
		{Name: "GET_LOCK, pinned connection", Run: clients.OnDatabase(clients.Pinned, clients.TryInBetween)},
		{
			Name: "GET_LOCK through a pool, one connection for two", Expect: lab.Sometimes,
			Run: clients.OnDatabase(pooled, clients.TryInBetween),
		},
		{Name: "GET_LOCK through a pool, unlocked elsewhere", Expect: lab.Sometimes, Run: clients.OnDatabase(pooled, busyAtRelease)},
	},
})

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
		A: clients.NewClient(x.Trial, "A", selectedRow{a, session.NewKeeper()}),
		B: clients.NewClient(x.Trial, "B", selectedRow{b, session.NewKeeper()}), Pool: a,
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
	pool   *sql.DB
	keeper *session.Keeper
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
	commit := session.ReleaseFunc(func(context.Context) error { return tx.Commit() })
	return s.keeper.Keep(ctx, request, session.Grant{Key: key, Asked: time.Now(), Owner: commit})
}
