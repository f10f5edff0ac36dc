package order

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

// session are the settings that a connection to MySQL or MariaDB gets, because the statements rely on them. They replace the server's
// defaults and those of the DSN. Times need no setting: they are stored in UTC, and the statements of the lock ask for UTC.
var session = []string{
	"SET SESSION " +
		"autocommit = 1, completion_type = 0, " + // a statement is committed, and no transaction follows a COMMIT
		"sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', " + // what does not fit is refused, and not changed
		"default_storage_engine = InnoDB, unique_checks = 1, " + // tables have transactions, and unique keys hold
		"sql_safe_updates = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1, " + // a statement has all rows that match
		fmt.Sprintf("innodb_lock_wait_timeout = %d", int(tables.CallTimeout.Seconds())), // a statement whose client has left waits no longer
	// The variable of the level has one name in MySQL, and another in MariaDB.
	"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
}

// leaving are the errors of a server that executes no more writes. It has not executed the statement either.
var leaving = []uint16{
	1047, // it is no part of its cluster, and executes nothing; Galera
	1053, // it shuts down
	1290, // it is read-only; MySQL and MariaDB
	1792, // its transactions are read-only
	1836, // it is read-only; MySQL
	3032, // it is offline; MySQL
}

// youngest is the age from which a connection may be left: a younger one has reached the server that the address names now. So a server
// that stays read-only, and is still read, costs new connections once a second at most.
const youngest = time.Second

// longestUse bounds the use of a connection: one that only reads does not notice that the address leads to another server.
const longestUse = time.Minute

func openMySQL(dsn string) (*sql.DB, error) {
	c, err := mysql.MySQLDriver{}.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(&connector{Connector: c})
	pool.SetConnMaxLifetime(longestUse) // and so of one that is idle
	return pool, nil
}

// connector opens the connections of one pool. It leaves all of them when one of them meets a server that takes no more writes. The address
// may lead to another server then. The driver can do that for a single connection (rejectReadOnly), and then hides what the server said.
type connector struct {
	driver.Connector
	generation atomic.Int64 // of the connections that may be used
}

// Connect implements [driver.Connector]. The name in the address is looked up each time.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	generation := c.generation.Load()
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := &conn{mysqlConn: opened.(mysqlConn), pool: c, generation: generation, opened: time.Now()}
	for _, statement := range session {
		if _, err := conn.ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close())
		}
	}
	return conn, nil
}

// mysqlConn is what a connection of the driver can do.
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

// conn notes the errors of its server. Statements are not prepared: the values are in them.
type conn struct {
	mysqlConn
	pool       *connector
	generation int64
	opened     time.Time
}

// noted returns err, and ends the generation of the connection if the server takes no more writes.
func (c *conn) noted(err error) error {
	var answered *mysql.MySQLError
	if errors.As(err, &answered) && slices.Contains(leaving, answered.Number) && time.Since(c.opened) >= youngest {
		c.pool.generation.CompareAndSwap(c.generation, c.generation+1)
	}
	return err
}

// ExecContext implements [driver.ExecerContext].
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.mysqlConn.ExecContext(ctx, query, args)
	return result, c.noted(err)
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.mysqlConn.QueryContext(ctx, query, args)
	return rows, c.noted(err)
}

// BeginTx implements [driver.ConnBeginTx].
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	begun, err := c.mysqlConn.BeginTx(ctx, options)
	return transaction{begun, c}, c.noted(err)
}

// transaction notes what the server says to a COMMIT.
type transaction struct {
	driver.Tx
	conn *conn
}

// Commit implements [driver.Tx].
func (t transaction) Commit() error { return t.conn.noted(t.Tx.Commit()) }

// ResetSession implements [driver.SessionResetter]. The pool calls it before it uses a connection: nothing has been sent then.
func (c *conn) ResetSession(ctx context.Context) error {
	if !c.current() {
		return driver.ErrBadConn
	}
	return c.mysqlConn.ResetSession(ctx)
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return c.current() && c.mysqlConn.IsValid() }

func (c *conn) current() bool { return c.pool.generation.Load() == c.generation }
