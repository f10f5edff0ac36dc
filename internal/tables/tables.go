// Package tables creates the tables of gorm's models, and creates them again when a database has lost them. MySQL in a container does: it
// keeps its data in memory. Every scenario with a database uses it.
//
// Text is utf8mb4 in MySQL and MariaDB, whatever the server's default is.
package tables

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// NoConnection is an error of a connection that could not be opened, whatever the reason. The database has received nothing of the call
// that wanted it.
type NoConnection struct{ Err error }

func (n NoConnection) Error() string { return n.Err.Error() }

// Unwrap returns the cause, which database/sql looks for.
func (n NoConnection) Unwrap() error { return n.Err }

// NotExecuted reports whether a call failed for want of a connection, or because the server refused it ([Refused]). If the call was one
// statement or one transaction, it has changed nothing.
func NotExecuted(err error) bool {
	var network *net.OpError
	return errors.As(err, new(NoConnection)) || errors.As(err, &network) && network.Op == "dial" || Refused(err)
}

// Refused reports whether a server of MySQL refused a statement because the server, or its table, is read-only, or because it is a node
// that is not ready. It has not executed the statement, and rolls the transaction back. Its address may lead to another server by now.
func Refused(err error) bool {
	return numbered(err, mysqlTableReadOnly, mysqlNodeNotReady, mysqlReadOnly, mysqlReadOnlyTransaction, mysqlReadOnlyMode)
}

// Leave lets the next calls use new connections, where the pool is one of package database: their address may lead to another server by
// now. Calls in progress end on their old connections.
func Leave(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		if driver, can := pool.Driver().(interface{ Leave() }); can {
			driver.Leave()
		}
	}
}

type sameServer struct{}

// SameServer returns a context whose calls are not repeated on another server: they write what follows from this one's answers.
func SameServer(ctx context.Context) context.Context {
	return context.WithValue(ctx, sameServer{}, true)
}

// tries bounds how often one call creates tables. Other instances create them at the same moment, which may fail the first tries, and
// one more for each table.
const tries = 5

// Set is the tables of some models, in one database.
type Set struct {
	models   []any
	creating sync.Mutex // held by the one call that creates lost tables
}

// Of returns the tables of models.
func Of(models ...any) *Set { return &Set{models: models} }

// Create creates missing tables and columns.
func (s *Set) Create(db *gorm.DB) error {
	err := s.migrate(db)
	for try := 1; err != nil && try < tries+len(s.models) && db.Statement.Context.Err() == nil; try++ {
		err = s.migrate(db)
	}
	return err
}

// migrate creates what is missing. gorm panics over a column that another instance adds at the same moment. Each of its statements
// is complete on its own, and the next try finds the column.
func (s *Set) migrate(db *gorm.DB) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("create tables: %v", cause)
		}
	}()
	if isMySQL(db) {
		db = db.Set("gorm:table_options", "DEFAULT CHARSET=utf8mb4")
	}
	return db.AutoMigrate(s.models...)
}

// There returns an error unless all tables are there.
func (s *Set) There(db *gorm.DB) error {
	names, err := s.names(db)
	if err != nil {
		return err
	}
	return db.Exec("SELECT EXISTS(SELECT 1 FROM " + strings.Join(names, "), EXISTS(SELECT 1 FROM ") + ")").Error
}

// CallTimeout bounds a call to the database, including a wait for SQLite's write lock. To connect to MySQL, and to wait for a row there,
// may take as long.
const CallTimeout = 5 * time.Second

// DoWithin is [Set.Do], for as long as ctx lasts, and no longer than [CallTimeout].
func (s *Set) DoWithin(ctx context.Context, db *gorm.DB, call func(*gorm.DB) error) error {
	bound, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return s.Do(db.WithContext(bound), call)
}

// Do executes call. If call finds a table missing, Do creates the tables and executes it again. call is one statement or one transaction:
// it has changed nothing when it ends with that error, so the repetition is its first effect. The same holds for a deadlock: the server
// has rolled the whole call back. Calls that find new tables in the moment in which another call creates them meet in one. Do waits as
// [WaitToWrite] does.
func (s *Set) Do(db *gorm.DB, call func(*gorm.DB) error) error {
	return WaitToWrite(db, func(db *gorm.DB) error { return s.do(db, call) })
}

func (s *Set) do(db *gorm.DB, call func(*gorm.DB) error) error {
	err := call(db)
	for try := 0; try < tries && (Missing(err) || numbered(err, mysqlDeadlock)); try++ {
		created := s.restore(db)
		if err = call(db); Missing(err) { // any other error is the call's own: it may have been carried out
			err = errors.Join(err, created)
		}
	}
	return err
}

// writing says what SQLite means by "database is locked".
const writing = "another connection to the database is writing, perhaps that of another process"

// busyPause is short: SQLite itself has waited for its busy_timeout. Where that is 0, the pause spares the processor.
const busyPause = 2 * time.Millisecond

// WaitToWrite executes call, and executes it again while SQLite refuses it because another connection is writing. It ends when the context
// of db does: then the error says so. SQLite has one writer at a time, and its own wait (busy_timeout) does not end with a context. It is
// part of the bound: a connection with a busy_timeout of 20 ms may exceed the end of the context by as much.
//
// When a server of MySQL refuses to write ([Refused]), WaitToWrite leaves it, and executes call once more over a new connection, which may
// lead to another server. In a context of [SameServer] it only leaves.
//
// call must be harmless when it is repeated after such an error: the database has not executed the statement or the transaction that it
// refuses.
func WaitToWrite(db *gorm.DB, call func(*gorm.DB) error) error {
	ctx := db.Statement.Context
	refused := call(db)
	if Refused(refused) {
		Leave(db)
		if ctx.Value(sameServer{}) == nil {
			refused = call(db)
		}
	}
	for busy(refused) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", writing, ctx.Err(), refused)
		case <-time.After(busyPause):
		}
		if err := call(db); ctx.Err() == nil || !interrupted(ctx, err) { // the end of ctx is not the reason
			refused = err
		}
	}
	return refused
}

// interrupted reports whether a call failed because ctx has ended: database/sql says so, or SQLite, which the driver interrupts.
func interrupted(ctx context.Context, err error) bool {
	return errors.Is(err, ctx.Err()) || err != nil && strings.Contains(err.Error(), "interrupted")
}

// busy reports whether SQLite refused to wait any longer for another writer. Its drivers have different types for that, and one text.
func busy(err error) bool { return err != nil && strings.Contains(err.Error(), "database is locked") }

// restore creates missing tables. Of many calls that find none, the first creates them.
func (s *Set) restore(db *gorm.DB) error {
	s.creating.Lock()
	defer s.creating.Unlock()
	if !Missing(s.There(db)) {
		return nil
	}
	return s.Create(db)
}

func (s *Set) names(db *gorm.DB) ([]string, error) {
	names := make([]string, len(s.models))
	for i, model := range s.models {
		parsed := &gorm.Statement{DB: db}
		if err := parsed.Parse(model); err != nil {
			return nil, err
		}
		names[i] = parsed.Schema.Table
	}
	return names, nil
}

func isMySQL(db *gorm.DB) bool { return db.Name() == "mysql" }

// Error numbers of MySQL and MariaDB.
const (
	mysqlTableReadOnly       = 1036 // also with innodb_read_only
	mysqlNodeNotReady        = 1047 // of Galera
	mysqlNoSuchTable         = 1146
	mysqlDeadlock            = 1213
	mysqlReadOnly            = 1290 // or another option that prevents the statement
	mysqlReadOnlyTransaction = 1792
	mysqlReadOnlyMode        = 1836
)

// Missing reports whether a statement failed because its table is not there.
func Missing(err error) bool {
	// SQLite has no number for it.
	return numbered(err, mysqlNoSuchTable) || err != nil && strings.Contains(err.Error(), "no such table")
}

func numbered(err error, numbers ...uint16) bool {
	var answered *driver.MySQLError
	return errors.As(err, &answered) && slices.Contains(numbers, answered.Number)
}
