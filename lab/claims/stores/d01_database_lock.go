package stores

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
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
	Check: clients.Any(history.Counter, clients.Noted(lockedByNobody)),
	Variants: []lab.Variant{
		{Name: "lease in a row", Run: onDatabase(rowLocks, tryInBetween)},
		{Name: "SELECT … FOR UPDATE", Run: onDatabase(selectedRows, tryInBetween)},
		{Name: "GET_LOCK, pinned connection", Run: onDatabase(pinned, tryInBetween)},
		{
			Name: "GET_LOCK through a pool, one connection for two", Expect: lab.Sometimes,
			Run: onDatabase(pooled, tryInBetween),
		},
		{Name: "GET_LOCK through a pool, unlocked elsewhere", Expect: lab.Sometimes, Run: onDatabase(pooled, busyAtRelease)},
	},
})

// pooled are two requests of one process. Its pool has one connection at first.
func pooled(ctx context.Context, x *clients.MariaDB) pair {
	pool := x.Pool(x.Open(ctx))
	return pair{a: getLock(x, "A", pool, anyOf), b: getLock(x, "B", pool, anyOf), pool: pool}
}

// selectedRows are two processes that lock a row by a transaction.
func selectedRows(ctx context.Context, x *clients.MariaDB) pair {
	x.Execute(ctx, "CREATE TABLE row_locks (name VARCHAR(64) PRIMARY KEY)")
	x.Execute(ctx, "INSERT INTO row_locks VALUES (?)", clients.LockKey)
	a, b := x.Pool(x.Open(ctx)), x.Pool(x.Open(ctx))
	return pair{a: selectedRow(x, "A", a), b: selectedRow(x, "B", b), pool: a}
}

// rowIsLocked are the errors of NOWAIT: MariaDB's ER_LOCK_WAIT_TIMEOUT and MySQL's ER_LOCK_NOWAIT.
var rowIsLocked = []uint16{1205, 3572}

// selectedRow is the lock of SELECT … FOR UPDATE: a transaction has it.
func selectedRow(x *clients.MariaDB, name string, pool *sql.DB) *clients.Client {
	var tx *sql.Tx // of the grant
	return clients.NewPolling(x.Trial, name, clients.Polling{
		Pause: 10 * time.Millisecond,
		Try: func(ctx context.Context, key string) (granted bool, err error) {
			if tx, err = pool.BeginTx(context.WithoutCancel(ctx), nil); err != nil {
				return false, err
			}
			const lock = "SELECT name FROM row_locks WHERE name = ? FOR UPDATE NOWAIT"
			err = tx.QueryRowContext(ctx, lock, key).Scan(new(string))
			if held := new(mysql.MySQLError); errors.As(err, &held) && slices.Contains(rowIsLocked, held.Number) {
				return false, tx.Rollback()
			}
			return err == nil, err
		},
		Release: func(context.Context, string) (bool, error) { return true, tx.Commit() },
	})
}

// busyAtRelease lets another request have A's connection when A releases. So B is another process, which asks the server itself.
func busyAtRelease(ctx context.Context, x pair) {
	h := x.a.Acquire(ctx)
	x.resource.Add(h)
	busy, err := x.pool.Conn(ctx)
	x.Must(err)
	x.Note(x.a.Name, "another request of A's process has A's connection")
	_ = h.TryRelease(ctx) // RELEASE_LOCK answers 0
	x.b = getLock(x.MariaDB, "B", x.Admin, connectionOf)
	if !x.b.UpdateOnce(ctx, x.resource) {
		x.Mark(x.b.Name, lockedByNobody)
	}
	x.Must(busy.Close())
}

// anyOf lets the pool choose a connection for each statement.
func anyOf(_ context.Context, pool *sql.DB) (connection, func() error, error) {
	return pool, func() error { return nil }, nil
}
