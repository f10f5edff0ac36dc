package stores

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

var D02 = Experiments.Add(lab.Experiment{
	ID:       "D02-released-before-commit",
	Articles: lab.Articles{"A2", "A3"},
	Claim:    "A lock that is released before the COMMIT protects nothing: the next holder reads the old value, and an update is lost.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.MariaDB},
		Takes:  4 * time.Second,
		Trials: 1, // each starts a database, and nothing here is random
	},
	Check: history.Counter,
	Variants: []lab.Variant{
		{Name: "released after the COMMIT", Run: clients.OnMariaDB(committed(true, plainRead))},
		{Name: "released before the COMMIT", Expect: lab.Sometimes, Run: clients.OnMariaDB(committed(false, plainRead))},
		{Name: "before, read with FOR UPDATE", Run: clients.OnMariaDB(committed(false, lockingRead))},
	},
})

// The two ways to read.
const (
	plainRead   = "SELECT n FROM counters WHERE id = 1"
	lockingRead = plainRead + " FOR UPDATE"
)

// transaction is a holder's work, which reads and writes a counter in the database.
type transaction struct {
	*clients.LocalHolder
	x     *clients.MariaDB
	tx    *sql.Tx
	value int64
}

// begin lets a client take the lock and begin a transaction.
func begin(ctx context.Context, x *clients.MariaDB, name string) *transaction {
	db := x.Open(ctx)
	h := x.RowLock(name, db, clients.LongLease).Acquire(ctx)
	tx, err := x.Pool(db).BeginTx(ctx, nil)
	x.Must(err)
	x.Cleanup(func() error { _ = tx.Rollback(); return nil })
	return &transaction{LocalHolder: h, x: x, tx: tx}
}

func (t *transaction) read(ctx context.Context, how string) {
	t.x.Must(t.tx.QueryRowContext(ctx, how).Scan(&t.value))
	t.Record(history.Event{Kind: history.Read, Key: "counter", Value: t.value})
}

func (t *transaction) update(ctx context.Context) {
	_, err := t.tx.ExecContext(ctx, "UPDATE counters SET n = ? WHERE id = 1", t.value+1)
	t.x.Must(err)
}

// commit makes the update an effect.
func (t *transaction) commit() {
	t.x.Must(t.tx.Commit())
	t.Record(history.Event{Kind: history.Write, Key: "counter", Value: t.value + 1})
}

// committed lets A and B add one each. A commits before it releases, or after B has read.
func committed(first bool, how string) func(context.Context, *clients.MariaDB) {
	return func(ctx context.Context, x *clients.MariaDB) {
		x.Execute(ctx, "CREATE TABLE counters (id INT PRIMARY KEY, n INT)")
		x.Execute(ctx, "INSERT INTO counters VALUES (1, 0)")
		a := begin(ctx, x, "A")
		a.read(ctx, how)
		a.update(ctx)
		if first {
			a.commit()
		}
		a.Release(ctx)
		b := begin(ctx, x, "B")
		wait := x.Go(func() { b.read(ctx, how) })
		if !first {
			x.Must(servers.Until(ctx, func(ctx context.Context) error { return hasReadOrWaits(ctx, x) }))
			a.commit()
		}
		wait()
		b.update(ctx)
		b.commit()
		b.Release(ctx)
		x.Record(history.Event{
			Timeline: "database", Kind: history.Final, Key: "counter", Value: x.Ask(ctx, "SELECT n FROM counters WHERE id = 1"),
		})
	}
}

// hasReadOrWaits returns nil when B has read, or waits for A's transaction.
func hasReadOrWaits(ctx context.Context, x *clients.MariaDB) error {
	for _, e := range x.Events() {
		if e.Kind == history.Read && e.Timeline == "B" {
			return nil
		}
	}
	const waits = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'"
	if x.Ask(ctx, waits) > 0 {
		return nil
	}
	return errors.New("no read by B, and no wait")
}
