package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	_ "github.com/go-sql-driver/mysql" // the driver
)

// openGetLock opens MariaDB's GET_LOCK. A lock belongs to a connection, so a caller keeps one of the pool from GET_LOCK to RELEASE_LOCK.
// Waiters without a connection wait for one of the pool.
func openGetLock(addr string) (Lock, func() error, error) {
	db, err := sql.Open("mysql", strings.TrimPrefix(addr, "mysql:"))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	lock := func(ctx context.Context, key string) (func() error, error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if err := ask(ctx, conn, fmt.Sprintf("SELECT GET_LOCK('%s', %d)", key, int(lifetime.Seconds()))); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return func() error {
			return errors.Join(ask(ctx, conn, fmt.Sprintf("SELECT RELEASE_LOCK('%s')", key)), conn.Close())
		}, nil
	}
	return lock, db.Close, nil
}

// ask sends a query with its values in the text: with placeholders the driver prepares it, which is a request more.
func ask(ctx context.Context, conn *sql.Conn, query string) error {
	var done sql.NullInt64
	if err := conn.QueryRowContext(ctx, query).Scan(&done); err != nil {
		return err
	}
	if done.Int64 != 1 {
		return fmt.Errorf("%s: not done", query)
	}
	return nil
}
