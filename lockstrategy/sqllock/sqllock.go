// Package sqllock is a lock in a row of MySQL, MariaDB or SQLite.
package sqllock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/internal/tables"
	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// Lock is a lock in the table locklab_locks of a database. A key has a row, with its owner, its expiry by the database's clock, and
// the last fencing token. A2 names locks in a database, and shows none. One UPDATE takes the lock. The table is created when it is
// missing. Rows are never deleted here, so it grows by one for each key; somebody else may delete rows with an old expiry.
//
// There is one holder while three conditions hold. The database keeps what it has committed. Its clock does not jump ahead. The holder
// stops when its lease's context ends. There may be two after a failover to a replica without the row, or when somebody deletes or
// changes the row.
//
// The number of a grant is the database's time since 2000 in steps of 32 µs. It is the last number plus one when that is larger. So tokens
// grow when the clock is set back. They also grow when the table is lost, unless the clock is set back as well. SQLite's clock counts
// milliseconds: there a token may repeat when the row is lost in the millisecond of its grant.
//
// A caller that waits asks again after a pause, without a queue. A queue keeps that to one caller per process.
type Lock struct {
	keeper *session.Keeper
	db     *gorm.DB
	sql    dialect
	name   string // of the database, in errors
	timing lockstrategy.Timing
}

// New returns a lock on db: MySQL, MariaDB or SQLite. Errors call db by name, or by its kind if name is empty. New sends nothing.
// Close the lock before db.
//
// A connection to MySQL or MariaDB must commit each statement (autocommit=1), or the first that acquires a key blocks all others. It should
// put the values into its statements (interpolateParams), or each request makes two round trips. The pool should
// bound the use of a connection (SetConnMaxLifetime). Otherwise a failover behind one address needs a restart.
//
// A request that waits for another writer of SQLite is repeated until [lockstrategy.Timing].Request ends. SQLite's own wait does not end
// with it. So a request may take longer by the busy_timeout of the connection, which is 5 s in some drivers. Set a short one, such as 20
// ms.
func New(db *gorm.DB, name string, timing lockstrategy.Timing) (*Lock, error) {
	timing, err := timing.WithDefaults()
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errors.New("lock: no database to keep locks in")
	}
	sql, known := dialects[db.Name()]
	if !known {
		return nil, fmt.Errorf("lock: a database of the kind %q; MySQL, MariaDB and SQLite can keep locks", db.Name())
	}
	return &Lock{
		keeper: session.NewKeeper(), sql: sql, name: cmp.Or(name, db.Name()), timing: timing,
		db: db.Session(&gorm.Session{SkipDefaultTransaction: true, Logger: logger.Discard}),
	}, nil
}

// pollInterval is short: a try of a caller that waits only reads, and a queue has one such caller for each key.
// It counts in the bursts of v5 in docs/benchmark.md.
const pollInterval = 10 * time.Millisecond

// Acquire tries, and tries again after a pause while another holds key.
func (d *Lock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	if key == "" || len(key) > longestName {
		err := fmt.Errorf("the name of a lock in a database has 1 to %d bytes, this one has %d", longestName, len(key))
		return nil, lockstrategy.NotAcquired(key, err)
	}
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	o := &owner{lock: d, Polled: session.Polled(pollInterval), key: key, name: d.keeper.NewName()}
	o.expiry, o.renewed = request.Lease(d.timing.Expiry)
	return d.keeper.Acquire(ctx, key, request, nil, o.try)
}

// Close ends the repeated releases. Callers that wait, or ask from now on, get [lockstrategy.ErrUnavailable]. Leases that are held stay
// held, and can be released.
func (d *Lock) Close() error {
	d.keeper.Close()
	return nil
}

// Process returns the first part of the names of this lock's owners.
func (d *Lock) Process() string { return d.keeper.Process }

// owner is one call of Acquire, and the owner of its grant. It is never used again, so a request that the database
// executes twice is harmless.
type owner struct {
	lock *Lock
	session.Polled
	key, name string
	expiry    time.Duration
	renewed   bool
	taken     bool // another held the key at the last try
}

// try asks once.
func (o *owner) try(ctx context.Context) (*session.Grant, time.Duration, error) {
	g := session.Grant{Key: o.key, Asked: time.Now(), Expiry: o.expiry, Renewed: o.renewed, Owner: o}
	values := o.values()
	err := o.lock.do(ctx, func(db *gorm.DB) error {
		if o.taken { // a caller that waits reads, which delays nobody
			if held, err := count(db, o.lock.sql.held, values); err != nil || held > 0 {
				return err
			}
		}
		var err error
		g.Number, err = o.lock.sql.ask(db, o.lock.sql.take, values)
		if err == nil && g.Number == 0 { // another holds the key, or nobody has held it yet
			g.Number, err = o.lock.sql.ask(db, o.lock.sql.insert, values)
		}
		return err
	})
	if err != nil {
		if !tables.NotExecuted(err) {
			g.Unanswered = true
			o.lock.keeper.GiveBack(g)
		}
		return nil, 0, o.lock.unavailable("acquire", err)
	}
	if o.taken = g.Number == 0; o.taken {
		return nil, session.Jitter(pollInterval), lockstrategy.OtherHolder{}
	}
	return &g, 0, nil
}

func count(db *gorm.DB, statement string, values map[string]any) (rows int64, err error) {
	err = db.Raw(statement, values).Row().Scan(&rows)
	return rows, err
}

// Renew implements [session.Owner].
func (o *owner) Renew(ctx context.Context) error {
	return o.own(ctx, "renew", func(db *gorm.DB) (int64, error) {
		if !o.renewed {
			return count(db, o.lock.sql.mine, o.values())
		}
		done := db.Exec(o.lock.sql.renew, o.values())
		return done.RowsAffected, done.Error
	})
}

// Release implements [session.Owner].
func (o *owner) Release(ctx context.Context) error {
	return o.own(ctx, "release", func(db *gorm.DB) (int64, error) {
		done := db.Exec(o.lock.sql.release, o.values())
		return done.RowsAffected, done.Error
	})
}

// own executes a statement that finds the row only if it is the owner's.
func (o *owner) own(ctx context.Context, what string, find func(*gorm.DB) (rows int64, err error)) error {
	var rows int64
	err := o.lock.do(ctx, func(db *gorm.DB) (err error) {
		rows, err = find(db)
		return err
	})
	switch {
	case err != nil:
		return o.lock.unavailable(what, err)
	case rows == 0:
		return fmt.Errorf("%w: %s", lockstrategy.ErrGone, o.key)
	}
	return nil
}

// values are the parameters of every statement of the owner.
func (o *owner) values() map[string]any {
	return map[string]any{"key": o.key, "owner": o.name, "lease": o.expiry.Microseconds()}
}

func (d *Lock) unavailable(what string, err error) error {
	return fmt.Errorf("%w: %s: %s: %w", lockstrategy.ErrUnavailable, d.name, what, err)
}

// do bounds a call, and creates the table for it if that is missing. It does not end with ctx: an answer must not get lost.
func (d *Lock) do(ctx context.Context, call func(*gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.timing.Request)
	defer cancel()
	return tables.WaitToWrite(d.db.WithContext(ctx), func(db *gorm.DB) error {
		err := call(db)
		if !tables.Missing(err) {
			return err
		}
		if err := db.Exec(d.sql.create).Error; err != nil {
			return err
		}
		return call(db)
	})
}
