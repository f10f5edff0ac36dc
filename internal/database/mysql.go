package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
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
	pool := sql.OpenDB(connector{c})
	pool.SetConnMaxLifetime(maxConnectionAge)
	return pool, nil
}

// connector opens connections. Its error is a [tables.NoConnection].
type connector struct{ driver.Connector }

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, tables.NoConnection{Err: err}
	}
	return conn, nil
}
