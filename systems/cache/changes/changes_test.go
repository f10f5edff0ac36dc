package changes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type thing struct {
	ID   uint64 `gorm:"primaryKey;autoIncrement:false"`
	Text string
}

func open(t *testing.T, url string) *gorm.DB {
	t.Helper()
	opened, err := database.Open(testenv.Context(t), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	if err := opened.DB.AutoMigrate(&thing{}); err != nil {
		t.Fatal(err)
	}
	return opened.DB
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
			close(told)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return told
}

func next(t *testing.T, told <-chan Change, want uint64) (after string) {
	t.Helper()
	select {
	case c, goes := <-told:
		if !goes {
			t.FailNow()
		}
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
	for id := uint64(10); id < 20; id++ { // the change with the number 12 is that of 17
		execute(t, db, fmt.Sprintf("INSERT INTO things VALUES (%d, 'a')", id))
		if position := next(t, told, id); id == 17 {
			after = position
		}
	}
	next(t, follow(t, o, after), 18)
}

// listed is a source of so many changes.
type listed struct {
	ids  []uint64
	from string
}

func (l *listed) Now(context.Context) (string, error) { return "", nil }

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
		testenv.Eventually(t, "all is acknowledged, and nothing stays in the stream", func() bool {
			pending, err := s.Client.XPending(ctx, s.Key, s.Key).Result()
			return err == nil && pending.Count == 0 && s.Client.XLen(ctx, s.Key).Val() == 0
		})
		cancel()
	}
	return <-ended
}

func TestStream(t *testing.T) {
	s := stream(t)
	from := &listed{ids: []uint64{70, 81}}
	if err := s.Relay(t.Context(), from); err != nil || from.from != "" {
		t.Fatalf("from %q, %v", from.from, err)
	}
	d := deletes{ids: make(chan uint64, 10)}
	if err := consume(t, s, "one", d, 70, 81); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	from.ids = []uint64{92}
	if err := s.Relay(t.Context(), from); err != nil || from.from != "b" {
		t.Errorf("it begins again from %q, %v", from.from, err)
	}
	failing := deletes{ids: make(chan uint64, 10), fail: errors.New("no reply")}
	if err := consume(t, s, "two", failing, 92); !errors.Is(err, failing.fail) {
		t.Errorf("a delete that fails: %v", err)
	}
	_ = consume(t, s, "three", d, 92) // another consumer does what was not acknowledged
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
