package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"locklab/internal/tables"
)

// sessionSettings are statements that each connection to MySQL or MariaDB executes first, because the other statements rely on these
// settings. They override the defaults of the server and the DSN. Times need no setting: they are stored in UTC, and the statements of the
// lock ask for UTC.
var sessionSettings = []string{
	"SET SESSION " +
		"autocommit = 1, completion_type = 0, " + // a single statement is committed, and a COMMIT does not begin a new one
		"sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', " + // a value that does not fit is rejected, not truncated
		"default_storage_engine = InnoDB, unique_checks = 1, " + // tables have transactions, and unique keys are enforced
		"sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1, " + // a statement sees all rows that match
		fmt.Sprintf("innodb_lock_wait_timeout = %d", int(tables.CallTimeout.Seconds())), // a statement does not outlive its caller
	// The variable for the isolation level has another name in MariaDB than in MySQL.
	"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
}

// noWriteErrors are the errors of a server that executes no writes any more. It has not executed the failed statement either.
var noWriteErrors = []uint16{
	1047, // not part of its cluster (Galera)
	1053, // shutting down
	1290, // read-only (MySQL and MariaDB)
	1792, // transactions are read-only
	1836, // read-only (MySQL)
	3032, // offline (MySQL)
}

// minDropAge is the age from which a connection may be dropped after such an error. A younger one already goes to the server behind the
// address, so a server that stays read-only costs new connections at most once a second.
const minDropAge = time.Second

// maxConnectionAge bounds the age of a connection: one that only reads does not notice that the address leads to another server now.
const maxConnectionAge = time.Minute

func openMySQL(dsn string) (*sql.DB, error) {
	c, err := mysql.MySQLDriver{}.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(&connector{Connector: c})
	pool.SetConnMaxLifetime(maxConnectionAge)
	return pool, nil
}

// connector opens the connections of one pool. When one of them meets a server that executes no writes any more, it drops all of them,
// because the address may lead to another server by now. The driver's rejectReadOnly does this for a single connection only, and hides the
// server's error.
type connector struct {
	driver.Connector
	generation atomic.Int64 // of the connections that may still be used
}

// Connect implements [driver.Connector]. It resolves the host name each time. Its error is a [tables.NoConnection].
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.open(ctx)
	if err != nil {
		return nil, tables.NoConnection{Err: err}
	}
	return opened, nil
}

func (c *connector) open(ctx context.Context) (*conn, error) {
	generation := c.generation.Load()
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := &conn{mysqlConn: opened.(mysqlConn), pool: c, generation: generation, opened: time.Now()}
	for _, statement := range sessionSettings {
		if _, err := conn.ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close())
		}
	}
	return conn, nil
}

// mysqlConn is the set of interfaces that a connection of the driver implements.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn watches the errors of its server. It does not watch prepared statements, because the driver interpolates all parameters.
type conn struct {
	mysqlConn
	pool       *connector
	generation int64
	opened     time.Time
}

// watch returns err. If it says that the server executes no writes any more, watch drops all connections of this generation.
func (c *conn) watch(err error) error {
	var serverErr *mysql.MySQLError
	if errors.As(err, &serverErr) && slices.Contains(noWriteErrors, serverErr.Number) && time.Since(c.opened) >= minDropAge {
		c.pool.generation.CompareAndSwap(c.generation, c.generation+1)
	}
	return err
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.mysqlConn.ExecContext(ctx, query, args)
	return result, c.watch(err)
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.mysqlConn.QueryContext(ctx, query, args)
	return rows, c.watch(err)
}

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.mysqlConn.BeginTx(ctx, options)
	return transaction{tx, c}, c.watch(err)
}

// transaction watches the error of a COMMIT.
type transaction struct {
	driver.Tx
	conn *conn
}

// Commit implements [driver.Tx].
func (t transaction) Commit() error { return t.conn.watch(t.Tx.Commit()) }

// ResetSession implements [driver.SessionResetter]. The pool calls it before it uses a connection, when nothing has been sent yet.
func (c *conn) ResetSession(ctx context.Context) error {
	if !c.isCurrent() {
		return driver.ErrBadConn
	}
	return c.mysqlConn.ResetSession(ctx)
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return c.isCurrent() && c.mysqlConn.IsValid() }

func (c *conn) isCurrent() bool { return c.pool.generation.Load() == c.generation }
