package changes

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/internal/testenv"
	"locklab/order"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// printed is what mariadb-binlog 10.11 prints, shortened.
const printed = `
# at 4
#700101  0:00:00 server id 1  end_log_pos 0 	Rotate to binlog.000001  pos: 4
#261122 15:11:57 server id 1  end_log_pos 821 CRC32 0x684db23c 	Table_map: 'locklab'.'things' mapped to number 18
### INSERT INTO 'locklab'.'things'
### SET
###   @1=1
###   @2='a'
# Number of rows: 1
#261122 15:11:57 server id 1  end_log_pos 904 CRC32 0xa4217d86 	Xid = 7
COMMIT/*!*/;
### UPDATE 'locklab'.'things'
### WHERE
###   @1=1
###   @2='a'
### SET
###   @1=2
###   @2='b'
### UPDATE 'locklab'.'others'
### WHERE
###   @1=8
### SET
###   @1=8
### DELETE FROM 'locklab'.'things'
### WHERE
###   @1=3
###   @2='x'
#261122 15:11:58 server id 1  end_log_pos 1632 CRC32 0x4013a599 	Xid = 16
#261122 15:11:59 server id 1  end_log_pos 1915 CRC32 0x7a4b49a4 	Rotate to binlog.000002  pos: 4
#700101  0:00:00 server id 1  end_log_pos 0 CRC32 0xf7c38353 	Rotate to binlog.000002  pos: 4
### UPDATE 'locklab'.'things'
### WHERE
###   @1=5
### SET
###   @1=5
#261122 15:11:59 server id 1  end_log_pos 615 CRC32 0x4d847709 	Xid = 22
### UPDATE 'locklab'.'things'
### WHERE
###   @1=6
`

// A row is told when its transaction is complete. Only the last row of a transaction moves the position.
func TestParse(t *testing.T) {
	var told []Change
	quoted := strings.NewReplacer("'locklab'.'things'", "`locklab`.`things`", "'locklab'.'others'", "`locklab`.`others`").Replace(printed)
	quoted = "###   @2='" + strings.Repeat("x", 100_000) + "'\n" + quoted // longer than a scanner's lines are by default
	b := Binlog{Database: "locklab", Table: "things"}
	err := b.parse(strings.NewReader(quoted), "binlog.000001", "4",
		func(c Change) error { told = append(told, c); return nil })
	want := []Change{
		{1, "binlog.000001:904"},
		{1, "binlog.000001:904"},
		{2, "binlog.000001:904"},
		{3, "binlog.000001:1632"},
		{5, "binlog.000002:615"},
		{5, "binlog.000002:615"},
	}
	// Of an UPDATE the row before and the row after are told: its id may have changed.
	want[4].After = "binlog.000002:4"
	if err != nil || !slices.Equal(told, want) {
		t.Errorf("told %v, %v; want %v", told, err, want)
	}
	stop := errors.New("stop")
	if err := b.parse(strings.NewReader(quoted), "f", "4",
		func(Change) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("tell failed: %v", err)
	}
}

type thing struct {
	ID   uint64 `gorm:"primaryKey;autoIncrement:false"`
	Text string
}

func open(t *testing.T, database string) *gorm.DB {
	t.Helper()
	store, err := order.OpenStore(testenv.Context(t), order.Config{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.DB().AutoMigrate(&thing{}); err != nil {
		t.Fatal(err)
	}
	return store.DB()
}

func execute(t *testing.T, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := db.Exec(statement).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// follow returns changes as they are told, and stops with the test.
func follow(t *testing.T, s Source, after string) <-chan Change {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan Change, 100), make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Follow(ctx, after, func(c Change) error { told <- c; return nil }); ctx.Err() == nil {
			t.Errorf("it ended: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return told
}

func next(t *testing.T, told <-chan Change, want uint64) (after string) {
	t.Helper()
	select {
	case c := <-told:
		if c.ID != want {
			t.Errorf("told %+v, want %d", c, want)
		}
		return c.After
	case <-testenv.Context(t).Done():
		t.Fatalf("%d was not told", want)
		return ""
	}
}

func TestOutbox(t *testing.T) {
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "things.db"))
	o := Outbox{DB: db, Table: "things", Every: time.Millisecond}
	for range 2 { // by two processes
		if err := o.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	told := follow(t, o, "")
	execute(t, db, "INSERT INTO things VALUES (7, 'a')", "UPDATE things SET text = 'b' WHERE id = 7", "DELETE FROM things WHERE id = 7")
	after := next(t, told, 7)
	next(t, told, 7)
	next(t, told, 7)
	_ = db.Transaction(func(tx *gorm.DB) error {
		execute(t, tx, "INSERT INTO things VALUES (8, 'rolled back')")
		return errors.New("roll back")
	})
	execute(t, db, "INSERT INTO things VALUES (9, 'a')")
	next(t, told, 9)
	again := follow(t, o, after) // what came after the first
	next(t, again, 7)
	next(t, again, 7)
	next(t, again, 9)
}

// binlogOf starts a server with a binlog.
func binlogOf(t *testing.T) (*gorm.DB, Binlog) {
	t.Helper()
	testenv.Needs(t, testenv.MariaDB)
	testenv.Needs(t, testenv.Binlog)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(server.Addr)
	b := Binlog{Host: host, Port: port, User: "root", Database: "locklab", Table: "things", Server: 100, File: "binlog.000001"}
	return open(t, "mysql:"+server.DSN), b
}

// A real server tells what any client has written, begins again behind a position, and follows into the next file.
func TestBinlog(t *testing.T) {
	db, b := binlogOf(t)
	b.Server++
	told := follow(t, b, "")
	execute(t, db, "INSERT INTO things VALUES (7, 'a\n###   @1=99')", "UPDATE things SET text = 'b' WHERE id = 7")
	after := next(t, told, 7)
	next(t, told, 7)
	next(t, told, 7)
	execute(t, db, "FLUSH BINARY LOGS", "DELETE FROM things WHERE id = 7", "INSERT INTO things VALUES (8, 'x')")
	next(t, told, 7)
	behind := next(t, told, 8)
	b.Server++
	again := follow(t, b, after)
	for _, id := range []uint64{7, 7, 7, 8} {
		next(t, again, id)
	}
	execute(t, db, "INSERT INTO things VALUES (9, 'y')")
	b.Server++
	next(t, follow(t, b, behind), 9)
	b.Server, b.File = b.Server+1, "missing.000001"
	if err := b.Follow(t.Context(), "", func(Change) error { return nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// listed is a source of so many changes.
type listed struct {
	ids  []uint64
	from string
}

func (l *listed) Follow(_ context.Context, after string, tell func(Change) error) error {
	l.from = after
	for i, id := range l.ids {
		if err := tell(Change{id, string(rune('a' + i))}); err != nil {
			return err
		}
	}
	return nil
}

// deletes tells what is deleted, and fails on demand.
type deletes struct {
	ids  chan uint64
	fail error
}

func (d deletes) Delete(_ context.Context, id uint64) error {
	d.ids <- id
	return d.fail
}

func stream(t *testing.T) Stream {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: testenv.Redis(t, testenv.RedisServer.Met()).Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return Stream{Client: c, Key: "changes", Idle: 20 * time.Millisecond}
}

// consume lets a consumer run until want deletes were asked of it, and returns what it ended with.
func consume(t *testing.T, s Stream, name string, d deletes, want ...uint64) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Consume(ctx, name, d) }()
	for _, id := range want {
		select {
		case got := <-d.ids:
			if got != id {
				t.Errorf("deleted %d, want %d", got, id)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%d is not deleted", id)
		}
	}
	if d.fail == nil {
		testenv.Eventually(t, "all is acknowledged", func() bool {
			pending, err := s.Client.XPending(ctx, s.Key, s.Key).Result()
			return err == nil && pending.Count == 0
		})
		cancel()
	}
	return <-ended
}

func TestStream(t *testing.T) {
	s := stream(t)
	from := &listed{ids: []uint64{7, 8}}
	if err := s.Relay(t.Context(), from); err != nil || from.from != "" {
		t.Fatalf("from %q, %v", from.from, err)
	}
	d := deletes{ids: make(chan uint64, 10)}
	if err := consume(t, s, "one", d, 7, 8); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	from.ids = []uint64{9}
	if err := s.Relay(t.Context(), from); err != nil || from.from != "b" {
		t.Errorf("it begins again from %q, %v", from.from, err)
	}
	failing := deletes{ids: make(chan uint64, 10), fail: errors.New("no reply")}
	if err := consume(t, s, "two", failing, 9); !errors.Is(err, failing.fail) {
		t.Errorf("a delete that fails: %v", err)
	}
	_ = consume(t, s, "three", d, 9) // another consumer does what was not acknowledged
	if len(d.ids) > 0 {
		t.Errorf("%d deletes too many", len(d.ids))
	}
}

// The position stays behind a change that the stream has not confirmed.
func TestRelayWithoutRedis(t *testing.T) {
	s := stream(t)
	if err := s.Client.Set(t.Context(), s.Key, "no stream", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Relay(t.Context(), &listed{ids: []uint64{7}}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if n := s.Client.Exists(t.Context(), s.position()).Val(); n != 0 {
		t.Error("the position was saved")
	}
	if err := s.Consume(t.Context(), "one", deletes{}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
