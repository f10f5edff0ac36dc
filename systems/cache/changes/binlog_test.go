package changes

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// MySQL writes other row events than MariaDB: of version 2, with more data before the columns.
func TestRowsOfMySQL(t *testing.T) {
	little := func(n int, value uint64) []byte { return binary.LittleEndian.AppendUint64(nil, value)[:n] }
	var told []Change
	r := reader{database: "locklab", table: "things", at: position{file: "binlog.000001"}, tables: make(map[uint64][]column)}
	r.tell = func(c Change) error { told = append(told, c); return nil }
	const end = 500
	event := func(kind byte, body ...[]byte) {
		header := slices.Concat(little(4, 1), []byte{kind}, little(8, 1), little(4, end), little(2, 0))
		whole := slices.Concat(header, slices.Concat(body...))
		if err := r.event(binary.LittleEndian.AppendUint32(whole, crc32.ChecksumIEEE(whole))); err != nil {
			t.Fatal(err)
		}
	}
	row := func(id uint64, text string) []byte {
		return slices.Concat([]byte{0b100}, little(8, id), little(2, uint64(len(text))), []byte(text), little(4, 77)) // the blob is NULL
	}
	event(tableMapEvent, little(6, 18), little(2, 1), []byte("\x07locklab\x00\x06things\x00"),
		[]byte{4, 8, varChar, blob, 3}, []byte{3}, little(2, 1000), []byte{2}, []byte{0b100})
	more := slices.Concat(little(6, 18), little(2, 1), little(2, 5), []byte{1, 2, 3}, []byte{4, 0b1111})
	event(30, more, row(1, "a"), row(2, strings.Repeat("x", 900))) // as the protocol numbers an insert, an update and a delete
	event(31, more, []byte{0b1111}, row(3, "a"), row(4, "b"))
	event(32, more, row(5, "b"))
	event(xidEvent, little(8, 7))
	before, behind := position{file: "binlog.000001"}.String(), position{file: "binlog.000001", offset: end}.String()
	want := []Change{{1, before}, {2, before}, {3, before}, {4, before}, {5, behind}} // only the last one moves the position
	if !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

var (
	sharedMariaDB = testenv.Shared[*servers.Database]{
		Need: testenv.MariaDB,
		Start: func(ctx context.Context, s *servers.Stack) (*servers.Database, error) {
			return s.MariaDB(ctx, "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
		},
	}
	databases, readers atomic.Uint32 // of that server
)

// binlog creates a database with the table on the shared server. Its connections have these settings. The position is behind that.
func binlog(t *testing.T, settings string) (*gorm.DB, Binlog, string) {
	t.Helper()
	dsn := sharedMariaDB.Of(t).DSN
	name := fmt.Sprintf("lab_%03d", databases.Add(1))
	execute(t, open(t, "mysql:"+dsn), "CREATE DATABASE "+name)
	dsn = dsn[:strings.LastIndex(dsn, "/")+1] + name
	db := open(t, "mysql:"+dsn+settings)
	b := Binlog{DSN: dsn, Table: "things", Server: 100 + readers.Add(1)}
	return db, b, now(t, b)
}

func now(t *testing.T, b Binlog) (position string) {
	t.Helper()
	position, err := b.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return position
}

// A real server tells what any client has written, begins again behind a position, and follows into the next file. With MINIMAL the row
// after an update has only what has changed, so that only the row before it tells the id.
func TestBinlog(t *testing.T) {
	for image, update := range map[string][]uint64{"FULL": {7, 7}, "MINIMAL": {7}} {
		db, b, begin := binlog(t, "?binlog_row_image='"+image+"'")
		all := func(told <-chan Change, ids ...uint64) (after string) {
			for _, id := range ids {
				after = next(t, told, id)
			}
			return after
		}
		follows := func(after string) <-chan Change { b.Server = 100 + readers.Add(1); return follow(t, b, after) }
		told := follows(begin)
		execute(t, db, "INSERT INTO things VALUES (7, 'a')", "UPDATE things SET text = 'b' WHERE id = 7")
		after := next(t, told, 7)
		all(told, update...)
		execute(t, db, "FLUSH BINARY LOGS", "DELETE FROM things WHERE id = 7", "INSERT INTO things VALUES (8, NULL)")
		behind := all(told, 7, 8)
		all(follows(after), append(update, 7, 8)...)
		execute(t, db, "INSERT INTO things VALUES (9, REPEAT('y', 70000))")
		all(follows(behind), 9)
		b.Server = 100 + readers.Add(1)
		if err := b.Follow(t.Context(), "missing.000001:4", func(Change) error { return nil }); !errors.Is(err, ErrPosition) {
			t.Errorf("a file that is not there: %v", err)
		}
		ends(t, b, behind)
	}
}

// ends fails unless it is an error when the connection ends, and when there is none.
func ends(t *testing.T, b Binlog, after string) {
	t.Helper()
	cfg, err := mysql.ParseDSN(b.DSN)
	if err != nil {
		t.Fatal(err)
	}
	proxy := faultproxy.New(faultproxy.TCP(cfg.Addr))
	addr, err := proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	b.Server, b.DSN = 100+readers.Add(1), strings.Replace(b.DSN, cfg.Addr, addr, 1)
	for _, what := range []string{"the connection ends", "there is no connection"} {
		if err := b.Follow(testenv.Context(t), after, func(Change) error { proxy.Close(); return nil }); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := b.Follow(t.Context(), "junk", nil); !errors.Is(err, ErrPosition) {
		t.Errorf("a position that is none: %v", err)
	}
}

// A server that lost its data writes a file of the same name, and other changes up to the same offset. Nothing behind it is told.
func TestBinlogOfAnotherServer(t *testing.T) {
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
	if err != nil {
		t.Fatal(err)
	}
	db, b := open(t, "mysql:"+server.DSN), Binlog{DSN: server.DSN, Table: "things", Server: 100}
	insert := func() { execute(t, db, "INSERT INTO things VALUES (7, 'a')", "DELETE FROM things WHERE id = 7") }
	execute(t, db, "RESET MASTER") // so that both files have the same
	insert()
	var before []string
	enough := errors.New("enough")
	err = b.Follow(testenv.Context(t), "binlog.000001:4", func(c Change) error {
		if before = append(before, c.After); len(before) == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	var made, now int64
	for made = unixTime(t, db); now <= made; now = unixTime(t, db) { // the files' times are in seconds
		time.Sleep(100 * time.Millisecond) // the clock is the subject: no event tells of the next second
	}
	execute(t, db, "RESET MASTER")
	for _, what := range []string{"the file is shorter", "the file is longer"} {
		for _, after := range before {
			b.Server++
			err := b.Follow(testenv.Context(t), after, func(c Change) error { return fmt.Errorf("told %v", c) })
			if !errors.Is(err, ErrPosition) {
				t.Errorf("%s, after %s: %v; want %v", what, after, err, ErrPosition)
			}
		}
		for range 10 {
			insert()
		}
	}
}

func unixTime(t *testing.T, db *gorm.DB) (seconds int64) {
	t.Helper()
	if err := db.Raw("SELECT UNIX_TIMESTAMP()").Scan(&seconds).Error; err != nil {
		t.Fatal(err)
	}
	return seconds
}

// The error names the setting that a server lacks. Without it the changes would never come.
func TestServersWithoutABinlogOfRows(t *testing.T) {
	db, b, _ := binlog(t, "")
	execute(t, db, "CREATE OR REPLACE USER poor", "GRANT ALL ON "+b.DSN[strings.LastIndex(b.DSN, "/")+1:]+".* TO poor")
	for says, where := range map[string]string{
		"binlog_format=MIXED": b.DSN + "?binlog_format='MIXED'", "GRANT REPLICATION SLAVE": strings.Replace(b.DSN, "root", "poor", 1),
		"over TLS": b.DSN + "?tls=skip-verify",
	} {
		b.DSN = where
		if at, err := b.Now(t.Context()); !errors.Is(err, ErrNoBinlog) || !strings.Contains(err.Error(), says) {
			t.Errorf("the server writes to %q, %v; want an error that says %q", at, err, says)
		}
	}
}
