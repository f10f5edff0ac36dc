package changes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

// verifyEvery is the time between two checks, and verifyTimeout bounds one. Together they bound for how long a cache may be old after its
// database was replaced by another.
const (
	verifyEvery   = 500 * time.Millisecond
	verifyTimeout = 2 * time.Second
)

// verify calls Sure while a new connection leads to the server whose session has the lock, and the reader has read what that server has
// written. The old server of an address that has moved lives on, and may send nothing: its connection says nothing about that.
func (b Binlog) verify(ctx context.Context, lock string, r *reader) error {
	for {
		if err := b.check(ctx, lock, r); err != nil {
			return err
		}
		b.Sure()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(verifyEvery):
		}
	}
}

func (b Binlog) check(ctx context.Context, lock string, r *reader) error {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	before := *r.read.Load()
	end, err := b.end(ctx, lock)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnsure, err)
	case before.isAfter(end):
		return fmt.Errorf("%w: they are read up to %s, and the server has them up to %s only", ErrUnsure, before, end)
	}
	const pause = 10 * time.Millisecond
	for end.isAfter(*r.read.Load()) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: they are read up to %s, and the server has them up to %s", ErrUnsure, *r.read.Load(), end)
		case <-time.After(pause):
		}
	}
	return nil
}

// end asks over a new connection how far the server has written. Another server than that of the lock is an error; "": any server will do,
// if it writes rows.
func (b Binlog) end(ctx context.Context, lock string) (end position, err error) {
	cfg, err := b.config()
	if err != nil {
		return end, err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return end, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if lock == "" {
		err = writesRows(ctx, db)
	} else {
		err = holds(ctx, db, lock)
	}
	if err != nil {
		return end, err
	}
	return lastFile(ctx, db)
}

// holds returns an error unless a session of the server has the lock.
func holds(ctx context.Context, db *sql.DB, lock string) error {
	var held bool
	err := db.QueryRowContext(ctx, "SELECT IS_USED_LOCK('"+lock+"') IS NOT NULL").Scan(&held)
	if err != nil {
		return answered(ctx, err)
	}
	if !held {
		return errors.New("the server that answers now is not the one whose binlog is read")
	}
	return nil
}

const settings = "start the database with --log-bin --binlog-format=ROW --server-id=1"

func writesRows(ctx context.Context, db *sql.DB) error {
	var name, format string
	switch err := db.QueryRowContext(ctx, "SHOW VARIABLES LIKE 'binlog_format'").Scan(&name, &format); {
	case errors.Is(err, sql.ErrNoRows): // a server that knows no other format
		return nil
	case err != nil:
		return answered(ctx, err)
	case format != "ROW":
		return fmt.Errorf("%w: the database has binlog_format=%s: %s", ErrNoBinlog, format, settings)
	}
	return nil
}

// lastFile returns how far the server has written.
func lastFile(ctx context.Context, db *sql.DB) (end position, err error) {
	rows, err := db.QueryContext(ctx, "SHOW BINARY LOGS")
	if refusal := (*mysql.MySQLError)(nil); errors.As(err, &refusal) {
		return end, fmt.Errorf("%w: %w: %s; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* lets the user read it", ErrNoBinlog, err, settings)
	}
	if err != nil {
		return end, answered(ctx, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	for err == nil && rows.Next() {
		var size uint64
		values := []any{&end.file, &size, new(any)} // MySQL's third column says whether it is encrypted
		err = rows.Scan(values[:len(columns)]...)
		end.offset = uint32(size) // as events count
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		return end, answered(ctx, err)
	}
	if end.file == "" {
		return end, fmt.Errorf("%w: the database lists no file: %s", ErrNoBinlog, settings)
	}
	return end, nil
}
