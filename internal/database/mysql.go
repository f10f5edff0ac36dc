package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"locklab/internal/tables"
)

// maxConnectionAge bounds the age of a connection, because the address may lead to another server by then.
const maxConnectionAge = 10 * time.Second

func openMySQL(dsn string) (*sql.DB, error) {
	c, err := mysql.MySQLDriver{}.OpenConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{c, new(atomic.Uint64)})
	pool.SetConnMaxLifetime(maxConnectionAge)
	return pool, nil
}

// connector opens connections. Its error is a [tables.NoConnection].
type connector struct {
	driver.Connector
	left *atomic.Uint64 // how often the pool has left a server
}

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened := c.left.Load() // before it is opened, because the address may move meanwhile
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, tables.NoConnection{Err: err}
	}
	return connection{conn.(driverConnection), opened, c.left}, nil
}

// driverConnection is what a connection of the driver can do.
type driverConnection interface {
	driver.Conn
	driver.Pinger
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

// connection is one that the pool uses again until it has left the server.
type connection struct {
	driverConnection
	opened uint64 // what left was then
	left   *atomic.Uint64
}

// ResetSession implements [driver.SessionResetter]. The pool calls it before it uses a connection again.
func (c connection) ResetSession(ctx context.Context) error {
	if c.opened != c.left.Load() {
		return driver.ErrBadConn
	}
	return c.driverConnection.ResetSession(ctx)
}

// Driver implements [driver.Connector].
func (c connector) Driver() driver.Driver { return leaver{c.Connector.Driver(), c.left} }

// leaver is the driver of a pool that [tables.Leave] can use.
type leaver struct {
	driver.Driver
	left *atomic.Uint64
}

func (l leaver) Leave() { l.left.Add(1) }
