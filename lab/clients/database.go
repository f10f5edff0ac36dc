package clients

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab"
	"locklab/lab/servers"
	"locklab/versions"
)

// MariaDB is one MariaDB server.
type MariaDB struct {
	*lab.Trial
	Server *servers.Database
	Admin  *sql.DB // the lab's own connections

	database string // as database.Open takes it
}

// OnMariaDB runs a scenario on one MariaDB server with additional settings.
func OnMariaDB(scenario func(ctx context.Context, x *MariaDB), settings ...string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		server, err := t.Stack.MariaDB(ctx, settings...)
		t.Must(err)
		x := &MariaDB{Trial: t, Server: server, database: "mysql:" + server.DSN}
		x.Admin = x.Pool(x.Open(ctx))
		scenario(ctx, x)
	}
}

// Open opens the connections of one more process, as the app does.
func (x *MariaDB) Open(ctx context.Context) *gorm.DB {
	db, err := database.Open(ctx, x.database)
	x.Must(err)
	x.Cleanup(db.Close)
	return db.DB
}

// Pool returns the connections behind db.
func (x *MariaDB) Pool(db *gorm.DB) *sql.DB {
	pool, err := db.DB()
	x.Must(err)
	return pool
}

// NewClient returns a client of the lock in a row (v5), over connections of its own.
func (x *MariaDB) NewClient(ctx context.Context, name string, lease time.Duration) *Client {
	return x.RowLock(name, x.Open(ctx), lease)
}

// RowLock returns a client of the lock in a row (v5) over db.
func (x *MariaDB) RowLock(name string, db *gorm.DB, lease time.Duration) *Client {
	return Open(x.Trial, name, versions.NameDatabase, versions.Backends{Database: db, Expiry: lease})
}

// Execute executes a statement of the lab's own.
func (x *MariaDB) Execute(ctx context.Context, statement string, args ...any) {
	_, err := x.Admin.ExecContext(ctx, statement, args...)
	x.Must(err)
}

// Ask returns the only number that a query of the lab's own answers.
func (x *MariaDB) Ask(ctx context.Context, query string, args ...any) (n int64) {
	x.Must(x.Admin.QueryRowContext(ctx, query, args...).Scan(&n))
	return n
}

// KillConnection ends a connection in the server, as an administrator or a timeout does, and waits until the server has forgotten it.
func (x *MariaDB) KillConnection(ctx context.Context, id int64, of string) {
	x.Execute(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
	x.Must(servers.Until(ctx, func(ctx context.Context) error {
		if n := x.Ask(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", id); n > 0 {
			return fmt.Errorf("connection %d has not ended", id)
		}
		return nil
	}))
	x.Fault("admin", "kills the connection of "+of, fmt.Sprintf("the server no longer lists connection %d", id))
}
