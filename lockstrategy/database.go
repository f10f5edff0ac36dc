package lockstrategy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// DatabaseConfig configures [NewDatabase]. The zero value means the defaults.
type DatabaseConfig struct {
	Timing
	Name string // of the database in errors; empty: its kind
}

// Database is a lock in the table locklab_locks of a database. A key has a row, with its owner, its expiry by the database's clock, and
// the last fencing token. A0, A2, A3 and A4 name such a lock. One UPDATE takes it. The table is created when it is missing. Rows are never
// deleted here, so it grows by one for each key; somebody else may delete rows with an old expiry.
//
// There is one holder while three conditions hold. The database keeps what it has committed. Its clock does not jump ahead. The holder
// stops when its lease's context ends. There may be two after a failover to a replica without the row, or when somebody deletes or
// changes the row.
//
// A token is the database's time in microseconds when that is larger than the last token, and follows the last token otherwise. So tokens
// grow when the clock is set back. They also grow when the table is lost, unless the clock is set back as well. SQLite's clock counts
// milliseconds: there a token may repeat when the row is lost in the millisecond of its grant.
//
// A caller that waits asks again after a pause, in no order. A [Cohort] keeps that to one caller per process.
type Database struct {
	db       *gorm.DB
	sql      dialect
	cfg      DatabaseConfig
	process  string        // the first half of every owner of this process
	attempt  atomic.Uint64 // the second half of an owner
	sessions *Sessions
}

var _ Strategy = (*Database)(nil)

// NewDatabase returns a lock on db: MySQL, MariaDB or SQLite. It sends nothing. Close it before db.
//
// A connection to MySQL or MariaDB should put the values into its statements (interpolateParams), or each request makes two round trips.
// A connection to SQLite must wait for its lock (busy_timeout), or callers that compete get [ErrUnavailable].
func NewDatabase(db *gorm.DB, cfg DatabaseConfig) (*Database, error) {
	timing, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errors.New("lock: no database to keep locks in")
	}
	dialect, known := dialects[db.Name()]
	if !known {
		return nil, fmt.Errorf("lock: a database of the kind %q; MySQL, MariaDB and SQLite can keep locks", db.Name())
	}
	return &Database{
		db: db.Session(&gorm.Session{SkipDefaultTransaction: true, Logger: logger.Discard}), sql: dialect,
		cfg:     DatabaseConfig{timing, cmp.Or(cfg.Name, db.Name())},
		process: uuid.NewString(), sessions: NewSessions(),
	}, nil
}

// Close ends the repeated releases. Callers that wait get [ErrUnavailable]. Leases that are held stay held, and can be released.
func (d *Database) Close() error {
	d.sessions.Close()
	return nil
}

// databasePoll is short: a try of a caller that waits only reads, and a [Cohort] has one such caller for each key.
// It counts in the bursts of v5 in docs/benchmark.md.
const databasePoll = 10 * time.Millisecond

// Acquire tries, and tries again after a pause while another holds key.
func (d *Database) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	if key == "" || len(key) > longestName {
		return nil, notAcquired(key, fmt.Errorf("the name of a lock in a database has 1 to %d bytes, this one has %d", longestName, len(key)))
	}
	o := rowOwner{Database: d, key: key, name: d.process + ":" + strconv.FormatUint(d.attempt.Add(1), 10)}
	return d.sessions.Poll(ctx, key, options, databasePoll, func(request Request) (*Lease, error) {
		grant, err := o.acquire(ctx, request)
		if err != nil || grant.Token == 0 {
			return nil, err
		}
		return d.sessions.Lease(ctx, request, grant)
	})
}

// rowOwner is one call of Acquire, and the holder of what it was granted. It is never used again, so a request that the database
// executes twice is harmless.
type rowOwner struct {
	*Database
	key, name string
	lease     time.Duration
	renewed   bool
	refused   bool // another held the key at the last attempt
}

// acquire asks once. Without a token in the grant another holds the key.
func (o *rowOwner) acquire(ctx context.Context, request Request) (Grant, error) {
	if o.lease, o.renewed = o.cfg.Lease, request.Lease == nil; !o.renewed {
		o.lease = *request.Lease
	}
	g := Grant{
		Key: o.key, Tokens: request.Tokens, Asked: time.Now(), Lease: o.lease, Renewed: o.renewed,
		Renew: o.renew, Release: o.release,
	}
	values := o.values()
	values["tokens"] = request.Tokens
	err := o.do(ctx, func(db *gorm.DB) error {
		if o.refused { // a caller that waits reads, which delays nobody
			if held, err := count(db, o.sql.held, values); err != nil || held > 0 {
				return err
			}
		}
		last, err := o.sql.ask(db, o.sql.take, values)
		if err == nil && last == 0 { // another holds the key, or nobody has held it yet
			last, err = o.sql.ask(db, o.sql.insert, values)
		}
		if last > 0 {
			g.Token = last - request.Tokens + 1
		}
		return err
	})
	if err != nil {
		o.sessions.compensate(g)
		return Grant{}, o.unavailable("acquire", err)
	}
	o.refused = g.Token == 0
	return g, nil
}

func count(db *gorm.DB, statement string, values map[string]any) (rows int64, err error) {
	err = db.Raw(statement, values).Row().Scan(&rows)
	return rows, err
}

// renew extends a lease that is renewed, and asks whether another is still held.
func (o *rowOwner) renew(ctx context.Context) error {
	return o.own(ctx, "renew", func(db *gorm.DB) (int64, error) {
		if !o.renewed {
			return count(db, o.sql.mine, o.values())
		}
		done := db.Exec(o.sql.renew, o.values())
		return done.RowsAffected, done.Error
	})
}

// release frees the key. How many others wait for it is not known: they poll.
func (o *rowOwner) release(ctx context.Context) (others int, err error) {
	return Unknown, o.own(ctx, "release", func(db *gorm.DB) (int64, error) {
		done := db.Exec(o.sql.release, o.values())
		return done.RowsAffected, done.Error
	})
}

// own executes a statement that finds the row only if it is the owner's.
func (o *rowOwner) own(ctx context.Context, what string, find func(*gorm.DB) (rows int64, err error)) error {
	var rows int64
	err := o.do(ctx, func(db *gorm.DB) (err error) {
		rows, err = find(db)
		return err
	})
	switch {
	case err != nil:
		return o.unavailable(what, err)
	case rows == 0:
		return fmt.Errorf("%w: %s", ErrGone, o.key)
	}
	return nil
}

// values are what every statement of the owner knows.
func (o *rowOwner) values() map[string]any {
	return map[string]any{"key": o.key, "owner": o.name, "lease": o.lease.Microseconds()}
}

func (d *Database) unavailable(what string, err error) error {
	return fmt.Errorf("%w: %s: %s: %w", ErrUnavailable, d.cfg.Name, what, err)
}

// do bounds a call, and creates the table for it if that is missing. It does not end with ctx: an answer must not get lost.
func (d *Database) do(ctx context.Context, call func(*gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.cfg.Request)
	defer cancel()
	db := d.db.WithContext(ctx)
	err := call(db)
	if !tableMissing(err) {
		return err
	}
	if err := db.Exec(d.sql.create).Error; err != nil {
		return err
	}
	return call(db)
}
