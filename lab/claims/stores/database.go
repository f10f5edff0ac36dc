package stores

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

// lockedByNobody is noted of a lock that its holder has released, and that nobody is granted.
var lockedByNobody = history.Mark{Name: "the lock was released, and it is not free"}

// pair is A, which takes a lock of the database first, and B, which tries in between.
type pair struct {
	*clients.MariaDB
	a, b     *clients.Client
	pool     *sql.DB // of A
	resource *clients.Resource
}

// onDatabase runs a scenario with clients of one kind.
func onDatabase(open func(context.Context, *clients.MariaDB) pair, scenario func(context.Context, pair)) lab.Scenario {
	return clients.OnMariaDB(func(ctx context.Context, x *clients.MariaDB) {
		p := open(ctx, x)
		p.MariaDB, p.resource = x, clients.NewResource(x.Trial, false)
		scenario(ctx, p)
	})
}

// rowLocks are two processes with the lock in a row.
func rowLocks(ctx context.Context, x *clients.MariaDB) pair {
	db := x.Open(ctx)
	a, b := x.RowLock("A", db, clients.LongLease), x.NewClient(ctx, "B", clients.LongLease)
	return pair{a: a, b: b, pool: x.Pool(db)}
}

// pinned are two processes that take a connection for as long as they hold the lock.
func pinned(ctx context.Context, x *clients.MariaDB) pair {
	a, b := x.Pool(x.Open(ctx)), x.Pool(x.Open(ctx))
	return pair{a: getLock(x, "A", a, connectionOf), b: getLock(x, "B", b, connectionOf), pool: a}
}

// tryInBetween lets B try while A holds the lock.
func tryInBetween(ctx context.Context, x pair) { x.around(ctx, func() {}) }

// around lets A read, something happen, B try, and A write and release. Then B takes the lock.
func (x pair) around(ctx context.Context, something func()) {
	h := x.a.Acquire(ctx)
	value := x.resource.Read(h)
	something()
	x.b.UpdateOnce(ctx, x.resource)
	x.resource.Write(h, value+1) // if B was in, over what it wrote
	_ = h.TryRelease(ctx)        // its connection may be gone
	if !x.b.UpdateOnce(ctx, x.resource) {
		x.Mark(x.b.Name, lockedByNobody)
	}
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

// getLock is a client whose lock is GET_LOCK, sent over a connection of the pool that over chooses.
func getLock(
	x *clients.MariaDB, name string, pool *sql.DB, over func(context.Context, *sql.DB) (connection, func() error, error),
) *clients.Client {
	var conn connection // of the grant
	var done func() error
	return clients.NewPolling(x.Trial, name, clients.Polling{
		Pause: 10 * time.Millisecond,
		Try: func(ctx context.Context, key string) (granted bool, err error) {
			if conn, done, err = over(ctx, pool); err != nil {
				return false, err
			}
			err = conn.QueryRowContext(ctx, "SELECT COALESCE(GET_LOCK(?, 0), 0)", key).Scan(&granted)
			if !granted {
				err = errors.Join(err, done())
			}
			return granted, err
		},
		Release: func(ctx context.Context, key string) (released bool, err error) {
			err = conn.QueryRowContext(ctx, "SELECT COALESCE(RELEASE_LOCK(?), 0)", key).Scan(&released)
			_ = done() // the connection may be gone
			return released, err
		},
	})
}
