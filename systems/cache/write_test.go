package cache_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gorm.io/gorm"

	"locklab/systems/cache"
)

// steps records what is done, and refuses deletes on demand.
type steps struct {
	cache.Writer
	cache.Deleter
	done []string
	fail error
}

func (s *steps) Delete(ctx context.Context, id uint64) error {
	s.done = append(s.done, "delete")
	return errors.Join(s.fail, s.Deleter.Delete(ctx, id))
}

func (s *steps) Put(ctx context.Context, id uint64, text string) (cache.Item, error) {
	s.done = append(s.done, "update")
	return s.Writer.Put(ctx, id, text)
}

func TestOrderOfSteps(t *testing.T) {
	l := newLab(t)
	s := &steps{Writer: l.db, Deleter: l.aside(cache.Config{})}
	double := &cache.DoubleDelete{UpdateThenDelete: cache.UpdateThenDelete{Database: s, Cache: s}, Delay: time.Millisecond}
	for want, w := range map[string]cache.Writer{
		"update delete": cache.UpdateThenDelete{Database: s, Cache: s}, "delete update": cache.DeleteThenUpdate{Database: s, Cache: s},
		"update delete delete": double,
	} {
		s.done = nil
		put(t, w, want)
		_ = double.Close()
		if got := strings.Join(s.done, " "); got != want {
			t.Errorf("%T: %s, want %s", w, got, want)
		}
	}
	s.fail = errors.New("no reply")
	for _, w := range []cache.Writer{cache.UpdateThenDelete{Database: s, Cache: s}, cache.DeleteThenUpdate{Database: s, Cache: s}} {
		if _, err := w.Put(t.Context(), id, "x"); !errors.Is(err, s.fail) {
			t.Errorf("%T does not say that its delete failed: %v", w, err)
		}
	}
	s.done = nil
	_, err := double.Put(t.Context(), id, "x")
	if _ = double.Close(); err == nil || len(s.done) != 3 {
		t.Errorf("after a first delete that fails: %v, %v", s.done, err)
	}
	s.done = nil
	_, err = double.Put(t.Context(), id, strings.Repeat("x", 1001))
	if _ = double.Close(); err == nil || len(s.done) != 1 {
		t.Errorf("after an update that was refused: %v, %v", s.done, err)
	}
}

// The second delete comes after the delay: until then a reader may fill in what is old.
func TestTheSecondDeleteComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		update := writerFunc(func(_ context.Context, id uint64, _ string) (cache.Item, error) { return cache.Item{ID: id}, nil })
		s := &steps{Writer: update, Deleter: refusing{}}
		double := &cache.DoubleDelete{UpdateThenDelete: cache.UpdateThenDelete{Database: s, Cache: s}, Delay: time.Minute}
		began := time.Now()
		put(t, double, "x")
		answered := time.Since(began)
		if _ = double.Close(); answered != 0 || time.Since(began) != time.Minute || len(s.done) != 3 {
			t.Errorf("the answer came after %s, and all after %s: %v", answered, time.Since(began), s.done)
		}
	})
}

// A caller that leaves after the update leaves no old item.
func TestCallerThatHasLeft(t *testing.T) {
	l := newLab(t)
	aside := l.aside(cache.Config{})
	for name, writer := range map[string]func(db cache.Writer) cache.Writer{
		"delete": func(db cache.Writer) cache.Writer { return cache.UpdateThenDelete{Database: db, Cache: aside} },
		"set":    func(db cache.Writer) cache.Writer { return cache.UpdateThenSet{Database: db, Cache: aside} },
	} {
		put(t, l.db, "old")
		if _, err := aside.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		if _, err := writer(&leaving{l.db, leave}).Put(ctx, id, "by "+name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if item, err := aside.Get(t.Context(), id); err != nil || item.Text != "by "+name {
			t.Errorf("%s: %+v, %v", name, item, err)
		}
	}
}

// leaving is a database whose caller leaves after the update.
type leaving struct {
	cache.Writer
	leave context.CancelFunc
}

func (l *leaving) Put(ctx context.Context, id uint64, text string) (cache.Item, error) {
	defer l.leave()
	return l.Writer.Put(ctx, id, text)
}

// Readers see the new item before the database has it. The database is updated even if the caller leaves then. An update that is refused
// leaves the item in the cache.
func TestSetThenUpdate(t *testing.T) {
	l := newLab(t)
	aside := l.aside(cache.Config{})
	put(t, l.db, "old")
	ctx, leave := context.WithCancel(t.Context())
	leavesFirst := writerFunc(func(ctx context.Context, id uint64, text string) (cache.Item, error) {
		leave()
		if item, err := aside.Get(t.Context(), id); err != nil || item.Text != text || item.Version != 0 {
			t.Errorf("before the update: %+v, %v", item, err)
		}
		return l.db.Put(ctx, id, text)
	})
	if item, err := (cache.SetThenUpdate{Database: leavesFirst, Cache: aside}).Put(ctx, id, "new"); err != nil || item.Version != 2 {
		t.Errorf("%+v, %v", item, err)
	}
	reads(t, l.db, 2)
	long := strings.Repeat("x", cache.MaxText+1)
	if _, err := (cache.SetThenUpdate{Database: l.db, Cache: aside}).Put(t.Context(), id, long); !errors.Is(err, cache.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if item, err := aside.Get(t.Context(), id); err != nil || item.Text != long {
		t.Errorf("after an update that was refused: %+v, %v", item, err)
	}
}

type writerFunc func(ctx context.Context, id uint64, text string) (cache.Item, error)

func (f writerFunc) Put(ctx context.Context, id uint64, text string) (cache.Item, error) {
	return f(ctx, id, text)
}

func TestDeleteLog(t *testing.T) {
	l := newLab(t)
	r := l.aside(cache.Config{})
	s := &steps{Deleter: refusing{}, fail: errors.New("no reply")}
	put(t, l.db, "one")
	reads(t, r, 1)
	put(t, cache.DeleteLog{Database: l.db, Cache: s}, "two") // the update is confirmed, and the delete is not done
	reads(t, r, 1)
	if n, err := (cache.DeleteLog{Database: l.db, Cache: s}).Retry(t.Context()); n != 1 || !errors.Is(err, s.fail) {
		t.Errorf("a delete that fails again: %d, %v", n, err)
	}
	again := cache.DeleteLog{Database: l.db, Cache: r} // of a process that begins later
	if n, err := again.Retry(t.Context()); n != 1 || err != nil {
		t.Errorf("retry: %d, %v", n, err)
	}
	reads(t, r, 2)
	put(t, again, "three")
	if n, err := again.Retry(t.Context()); n != 0 || err != nil {
		t.Errorf("what is done stays in the log: %d, %v", n, err)
	}
	if _, err := again.Put(t.Context(), 0, ""); !errors.Is(err, cache.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// An update without its entry in the log is none.
func TestDeleteLogIsOneTransaction(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	if err := l.raw.Callback().Create().After("gorm:create").Register("fail", func(tx *gorm.DB) {
		if tx.Statement.Table == "cache_deletes" {
			_ = tx.AddError(errors.New("the log is full"))
		}
	}); err != nil {
		t.Fatal(err)
	}
	w := cache.DeleteLog{Database: l.db, Cache: l.aside(cache.Config{})}
	if _, err := w.Put(t.Context(), id, "two"); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	reads(t, l.db, 1)
}

// refusing forgets nothing.
type refusing struct{}

func (refusing) Delete(context.Context, uint64) error { return nil }
