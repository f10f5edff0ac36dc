package changes

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// surely follows a binlog from now on. sure has a value after each check, and ended the error at the end.
func surely(t *testing.T, b Binlog, tell func(Change) error) (sure <-chan struct{}, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	checks, end := make(chan struct{}), make(chan error, 1)
	b.Server = 100 + readers.Add(1)
	b.Sure = func() {
		select {
		case checks <- struct{}{}:
		case <-ctx.Done():
		}
	}
	begin, done := now(t, b), make(chan struct{})
	go func() { defer close(done); end <- b.Follow(ctx, begin, tell) }()
	t.Cleanup(func() { cancel(); <-done })
	return checks, end
}

// wantSure fails unless the reader is sure once more.
func wantSure(t *testing.T, what string, sure <-chan struct{}, ended <-chan error) {
	t.Helper()
	select {
	case <-sure:
	case err := <-ended:
		t.Fatalf("%s: %v", what, err)
	}
}

// wantUnsure fails unless the reader ends. It may be sure of what was before.
func wantUnsure(t *testing.T, what string, sure <-chan struct{}, ended <-chan error, says string) {
	t.Helper()
	for deadline := testenv.Context(t); ; {
		select {
		case <-sure:
		case err := <-ended:
			if !errors.Is(err, ErrUnsure) && !errors.Is(err, ErrPosition) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q", what, err, says)
			}
			return
		case <-deadline.Done():
			t.Fatalf("%s: the reader is still sure", what)
		}
	}
}

func ignore(Change) error { return nil }

// What is in the binlog, and is no row that this reader understands, ends it. Others' tables do not.
func TestChangesThatCannotBeRead(t *testing.T) {
	db, b, _ := binlog(t, "?binlog_format='STATEMENT'")
	rows, _, _ := binlog(t, "?multiStatements=true")
	name := b.DSN[strings.LastIndex(b.DSN, "/")+1:]
	execute(t, rows, "CREATE DATABASE "+name+"_other", "INSERT INTO "+name+".things VALUES (7, 'a')")
	t.Cleanup(func() { execute(t, rows, "SET GLOBAL log_bin_compress = OFF") })
	for _, c := range []struct {
		db        *gorm.DB
		statement string
		says      string // empty: it is still sure
	}{
		{rows, "CREATE TABLE " + name + "_other.t (id INT)", name},
		{rows, "CREATE USER IF NOT EXISTS somebody", ""},
		{rows, "TRUNCATE " + name + ".things", "TRUNCATE"},
		{rows, "ALTER TABLE " + name + ".things ADD COLUMN more INT FIRST", "ALTER TABLE"},
		{db, "UPDATE things SET text = 'b'", "UPDATE THINGS"},
		{rows, "XA START 'a'; INSERT INTO things (id, text) VALUES (9, 'z'); XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'", "XA"},
		{rows, "RENAME TABLE " + name + ".things TO " + name + ".old", "RENAME TABLE"},
		{rows, "SET GLOBAL log_bin_compress = ON", ""},
		{rows, "INSERT INTO things VALUES (8, REPEAT('y', 70000))", "log_bin_compress"},
		{rows, "DROP DATABASE " + name, "DROP DATABASE"},
	} {
		sure, ended := surely(t, b, ignore)
		wantSure(t, "at the beginning", sure, ended)
		execute(t, c.db, c.statement)
		if c.says != "" {
			wantUnsure(t, c.statement, sure, ended, c.says)
			continue
		}
		wantSure(t, c.statement, sure, ended)
		wantSure(t, c.statement, sure, ended)
	}
}

// A table without transactions has no end of one in the binlog. Its rows are told, too, and the reader is sure over the end of a file, and
// when nothing changes for longer than the DSN lets an answer take.
func TestTablesWithoutTransactions(t *testing.T) {
	db, b, _ := binlog(t, "")
	execute(t, db, "ALTER TABLE things ENGINE=MyISAM")
	b.DSN += "?readTimeout=1s&compress=true"
	told := make(chan Change, 10)
	sure, ended := surely(t, b, func(c Change) error { told <- c; return nil })
	wantSure(t, "at the beginning", sure, ended)
	execute(t, db, "INSERT INTO things VALUES (7, 'a')", "FLUSH BINARY LOGS")
	wantSure(t, "after a row", sure, ended) // perhaps of the time before it
	wantSure(t, "after a row", sure, ended)
	next(t, told, 7)
	for range 5 {
		wantSure(t, "when nothing changes", sure, ended)
	}
}

// The address moves to another server, and the old one lives on: it sends nothing more, and the connection to it is open. The same when the
// connection carries nothing any more, when its session is ended, and when the server forgets its binlog.
func TestTheReaderNoticesWhatTheConnectionDoesNotSay(t *testing.T) {
	testenv.Needs(t, testenv.MariaDB)
	other, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
	if err != nil {
		t.Fatal(err)
	}
	old := sharedMariaDB.Of(t)
	var at atomic.Pointer[servers.Database]
	at.Store(old)
	proxy := faultproxy.New(func(ctx context.Context) (net.Conn, error) { return faultproxy.TCP(at.Load().Addr)(ctx) })
	t.Cleanup(proxy.Close)
	addr, err := proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := mysql.ParseDSN(old.DSN)
	if err != nil {
		t.Fatal(err)
	}
	b := Binlog{DSN: strings.Replace(old.DSN, cfg.Addr, addr, 1), Table: "things"}
	there := open(t, "mysql:"+other.DSN)
	for _, c := range []struct {
		what, says string
		do         func()
	}{
		{"the address moves", "is not the one", func() { at.Store(other) }},
		{"the connection carries nothing", "they are read up to", func() {
			proxy.DropExisting()
			execute(t, there, "INSERT INTO things VALUES (7, 'a')")
		}},
		{"the binlog is forgotten", "binlog.", func() { execute(t, there, "RESET MASTER") }},
		{"the server is paused", "", func() { testenv.Pause(t, other) }},
	} {
		sure, ended := surely(t, b, ignore)
		wantSure(t, c.what, sure, ended)
		c.do()
		wantUnsure(t, c.what, sure, ended, c.says)
	}
}
