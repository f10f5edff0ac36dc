package changes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"locklab/internal/faultproxy"
	"locklab/lab/testenv"
)

// written builds events as a server writes them.
type written struct {
	bytes.Buffer
	end       uint32
	checksums bool
}

func little(n int, value uint64) []byte {
	return binary.LittleEndian.AppendUint64(nil, value)[:n]
}

// event adds one event behind a header.
func (w *written) event(kind byte, body ...[]byte) {
	whole := bytes.Join(body, nil)
	length := eventHeader + len(whole)
	if w.checksums {
		length += 4
	}
	w.end += uint32(length)
	event := slices.Concat(little(4, 1), []byte{kind}, little(4, 1), little(4, uint64(length)), little(4, uint64(w.end)), little(2, 0), whole)
	if w.checksums {
		event = binary.LittleEndian.AppendUint32(event, crc32.ChecksumIEEE(event))
	}
	event = append([]byte{0}, event...)
	for number := byte(0); ; number++ { // in parts of at most 16 MiB - 1
		part := event[:min(len(event), 1<<24-1)]
		w.Write(append(little(3, uint64(len(part))), number))
		w.Write(part)
		if event = event[len(part):]; len(part) < 1<<24-1 {
			return
		}
	}
}

// table adds the definition of a table with an id, a text of at most size bytes, a blob and a version.
func (w *written) table(number uint64, name string, size uint64) {
	w.event(tableMapEvent, little(6, number), little(2, 1), []byte("\x07locklab\x00"), []byte{byte(len(name))}, []byte(name+"\x00"),
		[]byte{4, 8, varChar, blob, 3}, []byte{3}, little(2, size), []byte{2}, []byte{0b100})
}

// row is a row of that table. The blob is NULL without bytes.
func row(prefix int, id uint64, text string, blob []byte) []byte {
	r := []byte{0b100}
	if blob != nil {
		r = []byte{0}
	}
	r = slices.Concat(r, little(8, id), little(prefix, uint64(len(text))), []byte(text))
	if blob != nil {
		r = slices.Concat(r, little(2, uint64(len(blob))), blob)
	}
	return append(r, little(4, 77)...)
}

// rows adds rows. MySQL writes more data before them than MariaDB.
func (w *written) rows(kind byte, number uint64, images int, all ...[]byte) {
	begin := slices.Concat(little(6, number), little(2, 1))
	if kind >= writeRowsV2 {
		begin = slices.Concat(begin, little(2, 5), []byte{1, 2, 3})
	}
	w.event(kind, slices.Concat(begin, []byte{4}, bytes.Repeat([]byte{0b1111}, images)), bytes.Join(all, nil))
}

// told is what a reader of things tells, and how it ends.
func (w *written) told(t *testing.T) (all []Change, err error) {
	t.Helper()
	r := reader{database: "locklab", table: "things", at: position{file: "binlog.000001", offset: 4}, tables: make(map[uint64][]column)}
	r.tell = func(c Change) error { all = append(all, c); return nil }
	for {
		event, err := packet(w)
		if err == nil {
			err = r.event(event)
		}
		if err != nil {
			return all, err
		}
	}
}

// A row is told when its transaction is complete. Only the last row of a transaction moves the position.
func TestEvents(t *testing.T) {
	for version, kinds := range map[string][3]byte{
		"MariaDB": {23, 24, 25}, "MySQL": {30, 31, 32}, "MySQL, checksums": {30, 31, 32}, // as the protocols number them
	} {
		t.Run(version, func(t *testing.T) {
			write, update, remove := kinds[0], kinds[1], kinds[2]
			w := written{checksums: strings.HasSuffix(version, "checksums")}
			commit := func(number uint64) (end uint32) {
				w.event(xidEvent, little(8, number))
				return w.end
			}
			w.event(rotateEvent, little(8, 4), []byte("binlog.000001"))
			w.event(formatEvent, make([]byte, 80))
			w.table(18, "things", 1000)
			w.rows(write, 18, 1, row(2, 1, "a", nil), row(2, 2, strings.Repeat("x", 900), []byte("blob")))
			first := commit(7)
			w.table(19, "others", 10)
			w.rows(write, 19, 1, row(1, 99, "a", nil))
			w.table(20, "things", 200) // it was altered
			w.rows(update, 20, 2, row(1, 3, "a", nil), row(1, 4, "b", nil))
			w.rows(remove, 20, 1, row(1, 5, "b", []byte{}))
			second := commit(8)
			w.event(rotateEvent, little(8, 4), []byte("binlog.000002"))
			w.end = 4
			w.event(formatEvent, make([]byte, 80))
			w.table(18, "things", 1000)
			w.rows(write, 18, 1, row(2, 6, strings.Repeat("y", 1000), bytes.Repeat([]byte("z"), 60_000)))
			third := commit(9)
			w.rows(write, 18, 1, row(2, 7, "not committed", nil))
			told, err := w.told(t)
			end := func(file string, offset uint32) string { return position{file, offset, 1}.String() }
			one, two := end("binlog.000001", first), end("binlog.000001", second)
			want := []Change{{1, "binlog.000001:4@1"}, {2, one}, {3, one}, {4, one}, {5, two}, {6, end("binlog.000002", third)}}
			if !slices.Equal(told, want) || err == nil {
				t.Errorf("told %v, %v; want %v", told, err, want)
			}
		})
	}
}

// With binlog_row_image=MINIMAL the row after an update has only what has changed. The row before tells the id, once.
func TestMinimalRows(t *testing.T) {
	var w written
	w.table(18, "things", 1000)
	before, after := little(8, 7), append(little(2, 1), 'b')
	w.event(updateRowsV1, little(6, 18), little(2, 1), []byte{4, 0b0001, 0b0010}, []byte{0}, before, []byte{0}, after)
	w.event(xidEvent, little(8, 7))
	if told, err := w.told(t); len(told) != 1 || told[0].ID != 7 {
		t.Errorf("told %v, %v", told, err)
	}
}

// An event of more than 16 MiB comes in parts.
func TestLongEvents(t *testing.T) {
	var w written
	w.table(18, "things", 1000)
	var many [][]byte
	for id := range uint64(17_000) {
		many = append(many, row(2, id, strings.Repeat("x", 1000), nil))
	}
	w.rows(writeRowsV1, 18, 1, many...)
	w.event(xidEvent, little(8, 7))
	if told, _ := w.told(t); len(told) != 17_000 || told[16_999].ID != 16_999 {
		t.Errorf("told %d changes", len(told))
	}
}

// An event that would lose a change is an error, and no position behind it is told.
func TestEventsThatAreNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*written)
		says  string
	}{
		"compressed rows":       {func(w *written) { w.event(166, make([]byte, 30)) }, "log_bin_compress"},
		"a compressed update":   {func(w *written) { w.event(167, make([]byte, 30)) }, "log_bin_compress"},
		"a compressed delete":   {func(w *written) { w.event(168, make([]byte, 30)) }, "log_bin_compress"},
		"a compressed payload":  {func(w *written) { w.event(40, make([]byte, 30)) }, "binlog_transaction_compression"},
		"a partial update":      {func(w *written) { w.event(39, make([]byte, 30)) }, "binlog_row_value_options"},
		"rows that are cut off": {func(w *written) { w.rows(writeRowsV1, 18, 1, row(2, 2, "text", nil)[:12]) }, "truncated"},
		"a type of a column": {func(w *written) {
			w.event(tableMapEvent, little(8, 18), []byte("\x07locklab\x00\x06things\x00"), []byte{2, 8, 5}, []byte{1, 8}, []byte{0})
		}, "column 2 of locklab.things has the type 5"},
		"an id that is a text": {func(w *written) {
			w.event(tableMapEvent, little(8, 18), []byte("\x07locklab\x00\x06things\x00"), []byte{1, varChar}, []byte{2, 9, 0}, []byte{0})
		}, "is no id"},
		"another number of columns": {func(w *written) {
			w.event(writeRowsV1, little(6, 18), little(2, 1), []byte{3, 0b111}, row(2, 1, "a", nil))
		}, "rows with 3 columns of locklab.things, which has 4"},
	} {
		t.Run(name, func(t *testing.T) {
			var w written
			w.table(18, "things", 1000)
			c.write(&w)
			w.rows(writeRowsV1, 18, 1, row(2, 1, "a", nil))
			w.event(xidEvent, little(8, 7))
			if told, err := w.told(t); len(told) > 0 || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("told %v, %v; want an error that says %q", told, err, c.says)
			}
		})
	}
}

// The server's sentence is the error.
func TestPacketWithAnError(t *testing.T) {
	said := slices.Concat([]byte{0xff}, little(2, 1236), []byte("#HY000could not find the file"))
	_, err := packet(bytes.NewReader(append(append(little(3, uint64(len(said))), 1), said...)))
	if err == nil || err.Error() != "Error 1236: could not find the file" {
		t.Errorf("the error is %v", err)
	}
}

// binlogOf starts a server with a binlog.
func binlogOf(t *testing.T, settings ...string) (*gorm.DB, Binlog) {
	t.Helper()
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t), settings...)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, "mysql:"+server.DSN), Binlog{DSN: server.DSN, Table: "things", Server: 100, File: "binlog.000001"}
}

// A real server tells what any client has written, begins again behind a position, and follows into the next file.
func TestBinlog(t *testing.T) {
	db, b := binlogOf(t, "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
	if file, err := BinlogFile(t.Context(), db); file != b.File || err != nil {
		t.Errorf("the server writes to %q, %v", file, err)
	}
	b.Server++
	told := follow(t, b, "")
	execute(t, db, "INSERT INTO things VALUES (7, 'a')", "UPDATE things SET text = 'b' WHERE id = 7")
	after := next(t, told, 7)
	next(t, told, 7)
	next(t, told, 7)
	execute(t, db, "FLUSH BINARY LOGS", "DELETE FROM things WHERE id = 7", "INSERT INTO things VALUES (8, NULL)")
	next(t, told, 7)
	behind := next(t, told, 8)
	b.Server++
	again := follow(t, b, after)
	for _, id := range []uint64{7, 7, 7, 8} {
		next(t, again, id)
	}
	execute(t, db, "INSERT INTO things VALUES (9, REPEAT('y', 70000))")
	b.Server++
	next(t, follow(t, b, behind), 9)
	b.Server, b.File = b.Server+1, "missing.000001"
	if err := b.Follow(t.Context(), "", func(Change) error { return nil }); !errors.Is(err, ErrPosition) {
		t.Errorf("a file that is not there: %v", err)
	}
	ends(t, b, behind)
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
	b.Server, b.DSN = b.Server+1, strings.Replace(b.DSN, cfg.Addr, addr, 1)
	for _, what := range []string{"the connection ends", "there is no connection"} {
		if err := b.Follow(testenv.Context(t), after, func(Change) error { proxy.Close(); return nil }); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := b.Follow(t.Context(), "junk", nil); err == nil || !strings.Contains(err.Error(), `"junk" is none`) {
		t.Errorf("a position that is none: %v", err)
	}
}

// A server that lost its data writes a file of the same name, and other changes up to the same offset. Nothing behind it is told.
func TestBinlogOfAnotherServer(t *testing.T) {
	db, b := binlogOf(t, "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
	insert := func() { execute(t, db, "INSERT INTO things VALUES (7, 'a')", "DELETE FROM things WHERE id = 7") }
	execute(t, db, "RESET MASTER") // so that both files have the same
	insert()
	var before []string
	enough := errors.New("enough")
	err := b.Follow(testenv.Context(t), "", func(c Change) error {
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

// A server that compresses rows would let changes through unseen.
func TestBinlogThatIsCompressed(t *testing.T) {
	db, b := binlogOf(t, "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--log-bin-compress", "--log-bin-compress-min-len=10")
	execute(t, db, "INSERT INTO things VALUES (7, REPEAT('y', 70000))")
	err := b.Follow(testenv.Context(t), "", func(Change) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "log_bin_compress") {
		t.Errorf("compressed rows: %v", err)
	}
}

// The error names the setting that a server lacks. Without it the changes would never come.
func TestBinlogFile(t *testing.T) {
	for says, settings := range map[string][]string{
		"--log-bin":               nil,
		"binlog_format=MIXED":     {"--log-bin=binlog", "--binlog-format=MIXED", "--server-id=1"},
		"GRANT REPLICATION SLAVE": {"--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"},
	} {
		t.Run(says, func(t *testing.T) {
			db, b := binlogOf(t, settings...)
			if strings.HasPrefix(says, "GRANT") {
				execute(t, db, "CREATE USER poor", "GRANT ALL ON locklab.* TO poor")
				db = open(t, "mysql:"+strings.Replace(b.DSN, "root", "poor", 1))
			}
			if file, err := BinlogFile(t.Context(), db); !errors.Is(err, ErrNoBinlog) || !strings.Contains(err.Error(), says) {
				t.Errorf("the server writes to %q, %v; want an error that says %q", file, err, says)
			}
		})
	}
}
