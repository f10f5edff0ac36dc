package claims

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "D01-database-lock",
	Title:   "GET_LOCK, a locked row, and a lease in a row",
	Article: "A0, A2, A3, A4",
	Claim:   "A GET_LOCK belongs to a connection: through a pool it excludes nobody and stays locked, and it ends with its connection.",
	Says: `
		A lock in the database is one of the ways that the articles name. They show none of its forms, and do not compare it with the
		others.`,
	Drawing: `
request 1   ├─ GET_LOCK on connection 7 ─ read 0 ──────────────────────── write 1
pool           7 is free again ┆
request 2                      ├─ GET_LOCK on connection 7: granted ─ read 0 ─ write 1: one update is lost`,
	How: `
		A takes the lock and reads, and B tries in that moment. Then A writes and releases, and B takes the lock and adds one. If B got in
		before, both write the same value. Through a pool, each statement goes to whichever connection is free. In one variant A and B are
		two requests of one process, and both get the same connection. In another one a third request has A's connection when A releases.
		In two variants an administrator kills A's connection. Each step waits for the one before.`,
	Needs:  []experiments.Need{experiments.MariaDB},
	Takes:  11 * time.Second,
	Trials: 1, // each starts a database, and nothing here is random
	Check:  kit.Any(history.Counter, kit.Noted(lockedByNobody)),
	Variants: []experiments.Variant{
		{Name: "lease in a row", Strategy: "v5", Run: onDatabase(rowLocks, tryInBetween)},
		{Name: "lease in a row, connection killed", Fault: true, Run: onDatabase(rowLocks, killedInBetween)},
		{Name: "SELECT … FOR UPDATE", Run: onDatabase(selectedRows, tryInBetween)},
		{Name: "GET_LOCK, pinned connection", Run: onDatabase(pinned, tryInBetween)},
		{
			Name: "GET_LOCK, pinned connection killed", Expect: experiments.Sometimes, Fault: true,
			Run: onDatabase(pinned, killedInBetween),
		},
		{Name: "GET_LOCK through a pool, one connection for two", Expect: experiments.Sometimes, Run: onDatabase(pooled, tryInBetween)},
		{Name: "GET_LOCK through a pool, unlocked elsewhere", Expect: experiments.Sometimes, Run: onDatabase(pooled, busyAtRelease)},
	},
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
			RELEASE_LOCK answers 1. Better: let the work be in the transaction that locks the row, so that a lost connection also rolls it back.
			Or use a lease in a row, and check its token (v5).`,
		Limits: `
			The resource is outside of the database here, and checks no token. Work that is in the same transaction as the locked row is rolled
			back when its connection is killed. A failover to a replica loses all of these locks. Neither it nor the clock of the database is
			tried here.`,
		Next: `
			D02-released-before-commit releases the lock too early. L11 pauses a holder past its lease, and L05 works longer than the lease.
			P5 puts v5 under load. By hand: two mysql clients, and SELECT GET_LOCK('a', 0) in each.`,
		Level: experiments.Medium,
	},
})

// lockedByNobody is noted of a lock that its holder has released, and that nobody is granted.
const lockedByNobody = "the lock was released, and it is not free"

// databasePair is A, which takes the lock first, and B, which tries in between.
type databasePair struct {
	*kit.MariaDB
	a, b     *kit.Client
	pool     *sql.DB // of A
	resource *kit.Resource
}

// onDatabase runs a scenario with clients of one kind.
func onDatabase(
	clients func(ctx context.Context, x *kit.MariaDB) databasePair, scenario func(ctx context.Context, x databasePair),
) experiments.Scenario {
	return kit.OnMariaDB(func(ctx context.Context, x *kit.MariaDB) {
		c := clients(ctx, x)
		c.MariaDB, c.resource = x, kit.NewResource(x.Trial, false)
		scenario(ctx, c)
	})
}

// rowLocks are two processes.
func rowLocks(ctx context.Context, x *kit.MariaDB) databasePair {
	db := x.Open(ctx)
	return databasePair{a: x.RowLock("A", db, kit.LongLease), b: x.NewClient(ctx, "B", kit.LongLease), pool: x.Pool(db)}
}

// pinned are two processes that take a connection for as long as they hold the lock.
func pinned(ctx context.Context, x *kit.MariaDB) databasePair {
	a, b := x.Pool(x.Open(ctx)), x.Pool(x.Open(ctx))
	return databasePair{a: getLockOn(x, "A", a, connectionOf), b: getLockOn(x, "B", b, connectionOf), pool: a}
}

// pooled are two requests of one process. Its pool has one connection at first.
func pooled(ctx context.Context, x *kit.MariaDB) databasePair {
	pool := x.Pool(x.Open(ctx))
	return databasePair{a: getLockOn(x, "A", pool, anyOf), b: getLockOn(x, "B", pool, anyOf), pool: pool}
}

// selectedRows are two processes that lock a row by a transaction.
func selectedRows(ctx context.Context, x *kit.MariaDB) databasePair {
	x.Execute(ctx, "CREATE TABLE row_locks (name VARCHAR(64) PRIMARY KEY)")
	x.Execute(ctx, "INSERT INTO row_locks VALUES (?)", kit.LockKey)
	a, b := x.Pool(x.Open(ctx)), x.Pool(x.Open(ctx))
	return databasePair{
		a: kit.NewClient(x.Trial, "A", selectedRow{a, lockstrategy.NewSessions()}),
		b: kit.NewClient(x.Trial, "B", selectedRow{b, lockstrategy.NewSessions()}), pool: a,
	}
}

// tryInBetween lets B try while A holds the lock.
func tryInBetween(ctx context.Context, x databasePair) { x.around(ctx, func(*kit.Holder) {}) }

// killedInBetween kills A's connection before B tries.
func killedInBetween(ctx context.Context, x databasePair) {
	x.around(ctx, func(*kit.Holder) {
		id := x.Ask(ctx, "SELECT COALESCE(IS_USED_LOCK(?), 0)", kit.LockKey)
		if id == 0 { // no connection has the lock: A's is any one of its pool
			x.Must(x.pool.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id))
		}
		x.KillConnection(ctx, id, "A")
	})
}

// around lets A read, something happen, B try, and A write and release. Then B takes the lock.
func (x databasePair) around(ctx context.Context, something func(*kit.Holder)) {
	h := x.a.Acquire(ctx)
	value := x.resource.Read(h)
	something(h)
	x.try(ctx)
	x.resource.Write(h, value+1) // if B was in, over what it wrote
	_ = h.TryRelease(ctx)        // its connection may be gone
	if !x.try(ctx) {
		x.b.Note(lockedByNobody)
	}
}

// try lets B add one if it is granted the lock.
func (x databasePair) try(ctx context.Context) (granted bool) {
	h, err := x.b.TryAcquire(ctx, lockstrategy.TryOnce())
	if errors.Is(err, lockstrategy.ErrTaken) {
		return false
	}
	x.Must(err)
	x.resource.Add(h)
	h.Release(ctx)
	return true
}

// busyAtRelease lets another request have A's connection when A releases. So B is another process, which asks the server itself.
func busyAtRelease(ctx context.Context, x databasePair) {
	h := x.a.Acquire(ctx)
	x.resource.Add(h)
	busy, err := x.pool.Conn(ctx)
	x.Must(err)
	x.a.Note("another request of A's process has A's connection")
	_ = h.TryRelease(ctx) // RELEASE_LOCK answers 0
	x.b = getLockOn(x.MariaDB, "B", x.Admin, connectionOf)
	if !x.try(ctx) {
		x.b.Note(lockedByNobody)
	}
	x.Must(busy.Close())
}

// connection is what GET_LOCK is sent over.
type connection interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// connectionOf pins a connection of the pool.
func connectionOf(ctx context.Context, pool *sql.DB) (connection, func() error, error) {
	c, err := pool.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// anyOf lets the pool choose a connection for each statement.
func anyOf(_ context.Context, pool *sql.DB) (connection, func() error, error) {
	return pool, func() error { return nil }, nil
}

// getLock is the lock of GET_LOCK.
type getLock struct {
	pool     *sql.DB
	over     func(ctx context.Context, pool *sql.DB) (connection, func() error, error)
	sessions *lockstrategy.Sessions
}

func getLockOn(
	x *kit.MariaDB, name string, pool *sql.DB, over func(context.Context, *sql.DB) (connection, func() error, error),
) *kit.Client {
	return kit.NewClient(x.Trial, name, getLock{pool, over, lockstrategy.NewSessions()})
}

// Acquire makes one attempt.
func (g getLock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, err
	}
	over, done, err := g.over(ctx, g.pool)
	if err != nil {
		return nil, err
	}
	var granted int
	if err := over.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", key).Scan(&granted); err != nil || granted != 1 {
		return nil, errors.Join(lockstrategy.ErrTaken, err, done())
	}
	return g.sessions.Lease(ctx, request, lockstrategy.Grant{Key: key, Asked: time.Now(), Release: func(ctx context.Context) (int, error) {
		defer func() { _ = done() }()
		var released sql.NullInt64
		if err := over.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", key).Scan(&released); err != nil {
			return 0, err
		}
		if released.Int64 != 1 {
			return 0, fmt.Errorf("%w: RELEASE_LOCK answers %d, not 1", lockstrategy.ErrGone, released.Int64)
		}
		return 0, nil
	}})
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
	return s.sessions.Lease(ctx, request, lockstrategy.Grant{
		Key: key, Asked: time.Now(), Release: func(context.Context) (int, error) { return 0, tx.Commit() },
	})
}
