package clients

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// LockedByNobody is noted of a lock that its holder has released, and that nobody is granted.
var LockedByNobody = history.Mark{Name: "the lock was released, and it is not free"}

// DatabasePair is A, which takes the lock first, and B, which tries in between.
type DatabasePair struct {
	*MariaDB
	A, B     *Client
	Pool     *sql.DB // of A
	Resource *Resource
}

// OnDatabase runs a scenario with clients of one kind.
func OnDatabase(
	pair func(ctx context.Context, x *MariaDB) DatabasePair, scenario func(ctx context.Context, x DatabasePair),
) lab.Scenario {
	return OnMariaDB(func(ctx context.Context, x *MariaDB) {
		c := pair(ctx, x)
		c.MariaDB, c.Resource = x, NewResource(x.Trial, false)
		scenario(ctx, c)
	})
}

// RowLocks are two processes.
func RowLocks(ctx context.Context, x *MariaDB) DatabasePair {
	db := x.Open(ctx)
	return DatabasePair{A: x.RowLock("A", db, LongLease), B: x.NewClient(ctx, "B", LongLease), Pool: x.Pool(db)}
}

// Pinned are two processes that take a connection for as long as they hold the lock.
func Pinned(ctx context.Context, x *MariaDB) DatabasePair {
	a, b := x.Pool(x.Open(ctx)), x.Pool(x.Open(ctx))
	return DatabasePair{A: GetLockOn(x, "A", a, ConnectionOf), B: GetLockOn(x, "B", b, ConnectionOf), Pool: a}
}

// TryInBetween lets B try while A holds the lock.
func TryInBetween(ctx context.Context, x DatabasePair) { x.Around(ctx, func(*LocalHolder) {}) }

// Around lets A read, something happen, B try, and A write and release. Then B takes the lock.
func (x DatabasePair) Around(ctx context.Context, something func(*LocalHolder)) {
	h := x.A.Acquire(ctx)
	value := x.Resource.Read(h)
	something(h)
	x.B.UpdateOnce(ctx, x.Resource)
	x.Resource.Write(h, value+1) // if B was in, over what it wrote
	_ = h.TryRelease(ctx)        // its connection may be gone
	if !x.B.UpdateOnce(ctx, x.Resource) {
		x.B.Mark(LockedByNobody)
	}
}

// Connection is what GET_LOCK is sent over.
type Connection interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ConnectionOf pins a connection of the pool.
func ConnectionOf(ctx context.Context, pool *sql.DB) (Connection, func() error, error) {
	c, err := pool.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c, c.Close, nil
}

// getLock is the lock of GET_LOCK.
type getLock struct {
	pool   *sql.DB
	over   func(ctx context.Context, pool *sql.DB) (Connection, func() error, error)
	keeper *session.Keeper
}

// GetLockOn is a client whose lock is GET_LOCK, sent over a connection of the pool that over chooses.
func GetLockOn(
	x *MariaDB, name string, pool *sql.DB, over func(context.Context, *sql.DB) (Connection, func() error, error),
) *Client {
	return NewClient(x.Trial, name, getLock{pool, over, session.NewKeeper()})
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
	release := func(ctx context.Context) error {
		defer func() { _ = done() }()
		var released sql.NullInt64
		if err := over.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", key).Scan(&released); err != nil {
			return err
		}
		if released.Int64 != 1 {
			return fmt.Errorf("%w: RELEASE_LOCK answers %d, not 1", lockstrategy.ErrGone, released.Int64)
		}
		return nil
	}
	return g.keeper.Keep(ctx, request, session.Grant{Key: key, Asked: time.Now(), Owner: session.ReleaseFunc(release)})
}
