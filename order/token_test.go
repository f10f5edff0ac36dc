package order_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/internal/testenv"
	"locklab/order"
)

// growing grants every call with the next fencing token.
func growing() order.Locker {
	token := uint64(0)
	return testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		token++
		return fn(ctx, token)
	})
}

// holder is a driver that was granted the lock of a version.
type holder struct {
	driver, token uint64
	version       string
}

// inTurn lets all holders read an open order one after the other, and then write it in the same sequence. Each thinks an hour longer
// than the one before, in a synctest bubble.
func inTurn(t *testing.T, where string, holders []holder) (o order.Order, errs []error) {
	errs = make([]error, len(holders))
	synctest.Test(t, func(t *testing.T) {
		first := open(t, where, 0)
		id := create(t, first)
		var all errgroup.Group
		for i, h := range holders {
			s := open(t, where, time.Duration(i+1)*time.Hour)
			synctest.Wait() // the holder before has read
			all.Go(func() error {
				result, err := s.Grab(t.Context(), testenv.Granted(h.token), order.Attempt{OrderID: id, Driver: h.driver, Version: h.version})
				if errs[i] = err; result.Won != (err == nil) {
					t.Errorf("holder %d was told %+v, %v", i+1, result, err)
				}
				return nil
			})
		}
		_ = all.Wait()
		o = get(t, first, id)
	})
	return o, errs
}

// The largest fencing token that fits a signed integer of the databases.
const largest = 1<<63 - 1

func testToken(t *testing.T, database fresh) {
	where := database(t)
	for _, c := range []struct {
		name    string
		holders []holder
		refused []uint64 // drivers
		stored  uint64   // fencing token, at the end
	}{
		{"a stale holder is refused", []holder{{2, 2, "v3"}, {1, 1, "v3"}}, []uint64{1}, 2},
		{"and again, also by one that is newer still", []holder{{2, 2, "v3"}, {1, 1, "v3"}, {3, 1, "v3"}, {4, 3, "v3"}}, []uint64{1, 2, 3}, 3},
		// Two masters of a split brain have granted one token.
		{"a token is registered once", []holder{{1, 5, "v3"}, {2, 5, "v3"}}, []uint64{2}, 5},
		{"fencing tokens are numbers, not words", []holder{{2, 10, "v3"}, {1, 9, "v3"}}, []uint64{1}, 10},
		{"and the other way round", []holder{{1, 9, "v3"}, {2, 10, "v3"}}, []uint64{1}, 10},
		{"fencing tokens are exact", []holder{{2, largest, "v3"}, {1, largest - 1, "v3"}, {3, largest, "v3"}}, []uint64{1, 3}, largest},
		{"without a token nothing is checked, and the stored one stays", []holder{{2, 2, "v3"}, {3, 0, "v3"}, {1, 1, "v3"}}, []uint64{1}, 2},
		// The second write finds the row as it will leave it: MySQL counts no change.
		{"one driver twice without a fencing token", []holder{{1, 0, "v3"}, {1, 0, "v3"}}, nil, 0},
		{"without a fencing token first", []holder{{1, 0, "v3"}, {2, 0, "v3"}, {3, 1, "v3"}}, nil, 1},
		// A check at the write alone does not see this: both have read, and the older holder writes first.
		{"a stale holder that writes first is refused", []holder{{1, 1, "v3"}, {2, 2, "v3"}}, []uint64{1}, 2},
		// Between the two, a holder of another lock takes the place of the token, so that the second is not compared with it.
		{"a token granted twice around another lock", []holder{{1, 5, "v3"}, {2, 2, "v7"}, {3, 5, "v3"}}, []uint64{1, 2}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, errs := inTurn(t, where, c.holders)
			var won []uint64
			for i, h := range c.holders {
				if !slices.Contains(c.refused, h.driver) {
					won = append(won, h.driver)
					if errs[i] != nil {
						t.Errorf("%+v: %v", h, errs[i])
					}
					continue
				}
				stale(t, errs[i], h.token)
			}
			if _, recorded := winners(o, nil); !slices.Equal(recorded, slices.Sorted(slices.Values(won))) {
				t.Errorf("recorded are the wins of %v, want %v", recorded, won)
			}
			inSequence(t, o.Wins, won)
			if o.Driver != won[len(won)-1] || o.Token != c.stored {
				t.Errorf("the order is %+v, want driver %d and fencing token %d", o, won[len(won)-1], c.stored)
			}
		})
	}
}

// inSequence fails unless the wins are those of the drivers, in the sequence in which they were written.
func inSequence(t *testing.T, wins []order.Win, drivers []uint64) {
	t.Helper()
	var written []uint64
	for _, win := range wins {
		written = append(written, win.Driver)
	}
	if !slices.Equal(written, drivers) {
		t.Errorf("the wins are those of %v, want %v", written, drivers)
	}
}

// stale fails unless err says that a holder with this fencing token was refused, and nothing else.
func stale(t *testing.T, err error, token uint64) {
	t.Helper()
	if !errors.Is(err, order.ErrStale) || errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrNotFound) {
		t.Errorf("got %v, want ErrStale alone", err)
	} else if !strings.Contains(err.Error(), fmt.Sprintf(" %d\", and the registered one", token)) {
		t.Errorf("%q does not say that the fencing token is %d", err, token)
	}
}

// A holder is granted fencing token 1 and pauses in the middle of its work. Its lease expires, another is granted fencing
// token 2 and writes. Then the first goes on.
func testTwoHolders(t *testing.T, database fresh) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		paused, awake := open(t, where, time.Hour), open(t, where, 0)
		id := create(t, awake)
		woke := make(chan error, 1)
		go func() {
			_, err := paused.Grab(t.Context(), testenv.Granted(1), order.Attempt{OrderID: id, Driver: 1, Version: "v3", Instance: "8080"})
			woke <- err
		}()
		synctest.Wait() // it has read that the order is open
		result, err := awake.Grab(t.Context(), testenv.Granted(2), order.Attempt{OrderID: id, Driver: 2, Version: "v3", Instance: "8090"})
		if err != nil || !result.Won {
			t.Fatalf("the newer holder was told %+v, %v", result, err)
		}
		before := get(t, awake, id)
		stale(t, <-woke, 1)
		after := get(t, awake, id)
		if after.Driver != 2 || after.Token != 2 || !slices.Equal(after.Wins, before.Wins) || len(after.Wins) != 1 {
			t.Errorf("the order was %+v and is %+v", before, after)
		}
	})
}

// The read alone refuses a holder that is older than one that has read: it neither thinks nor writes.
func testStaleRead(t *testing.T, database fresh) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		newer, older := open(t, where, time.Hour), open(t, where, 2*time.Hour)
		id := create(t, newer)
		won := make(chan error, 1)
		go func() {
			_, err := grabber(testenv.Granted(2), id)(newer, 2)
			won <- err
		}()
		synctest.Wait() // it has read that the order is open
		start := time.Now()
		_, err := grabber(testenv.Granted(1), id)(older, 1)
		stale(t, err, 1)
		if thought := time.Since(start); thought != 0 {
			t.Errorf("it thought for %s", thought)
		}
		if o := get(t, newer, id); o.Status != order.Open || o.Token != 2 {
			t.Errorf("the order is %+v", o)
		}
		if err := <-won; err != nil {
			t.Error(err)
		}
	})
}

// The tokens of two locks are not compared: a small one of v7 is not stale because v3 has registered a large one. Only the one that has
// read last can write.
func testTwoLocks(t *testing.T, database fresh) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		slow, fast := open(t, where, time.Hour), open(t, where, 0)
		id := create(t, fast)
		told := make(chan error, 1)
		go func() {
			_, err := slow.Grab(t.Context(), testenv.Granted(100), order.Attempt{OrderID: id, Driver: 1, Version: "v3"})
			told <- err
		}()
		synctest.Wait() // it has read that the order is open
		result, err := fast.Grab(t.Context(), testenv.Granted(2), order.Attempt{OrderID: id, Driver: 2, Version: "v7"})
		if err != nil || !result.Won {
			t.Errorf("the holder of the other lock was told %+v, %v", result, err)
		}
		stale(t, <-told, 100)
		if o := get(t, fast, id); o.Driver != 2 || o.Token != 2 || o.Lock != "v7" || len(o.Wins) != 1 {
			t.Errorf("the order is %+v", o)
		}
	})
}

// An instance from before the holders had names registers a version and a token, and leaves the column of the name as it is. Tokens are
// compared with it as before. The write of a holder that has read before it is refused, although its name is still there.
func testOlderRegistration(t *testing.T, database fresh) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, where, time.Hour)
		id := create(t, s)
		register := func(token uint64) {
			executeIn(t, where, fmt.Sprintf("UPDATE orders SET fence_lock = 'v3', fence = %d WHERE id = %d", token, id))
		}
		grab := func(token uint64) error {
			_, err := s.Grab(t.Context(), testenv.Granted(token), order.Attempt{OrderID: id, Driver: token, Version: "v3"})
			return err
		}
		register(5)
		stale(t, grab(5), 5)
		told := make(chan error, 1)
		go func() { told <- grab(6) }()
		synctest.Wait() // it has read that the order is open
		register(7)
		stale(t, <-told, 6)
		if err := grab(8); err != nil {
			t.Error(err)
		}
		if o := get(t, s, id); o.Driver != 8 || o.Token != 8 || len(o.Holder) != 26 || len(o.Wins) != 1 {
			t.Errorf("the order is %+v", o)
		}
	})
}

// An order that does not exist is not stale.
func testTokenNotFound(t *testing.T, database fresh) {
	s := open(t, database(t), 0)
	if _, err := grabber(testenv.Granted(1), create(t, s)+1)(s, 1); !errors.Is(err, order.ErrNotFound) || errors.Is(err, order.ErrStale) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// An order that is deleted while a driver thinks does not exist: no newer holder has written it.
func testDeleted(t *testing.T, database fresh) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, where, time.Hour)
		id := create(t, s)
		grabbed := make(chan error, 1)
		go func() {
			_, err := grabber(testenv.Granted(1), id)(s, 1)
			grabbed <- err
		}()
		synctest.Wait() // it has read that the order is open
		executeIn(t, where, fmt.Sprintf("DELETE FROM orders WHERE id = %d", id))
		if err := <-grabbed; !errors.Is(err, order.ErrNotFound) || errors.Is(err, order.ErrStale) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
}

// Tables without the column of the fencing token get it, even when several instances start simultaneously, and keep their rows.
func testOlderTables(t *testing.T, database fresh) {
	where := database(t)
	s := open(t, where, 0)
	taken, free := create(t, s), create(t, s)
	if result, err := grabber(testenv.NoLock, taken)(s, 7); err != nil || !result.Won {
		t.Fatalf("got %+v, %v", result, err)
	}
	before := get(t, s, taken)
	executeIn(t, where, "ALTER TABLE orders DROP COLUMN fence")
	executeIn(t, where, "ALTER TABLE orders DROP COLUMN fence_lock")
	executeIn(t, where, "ALTER TABLE orders DROP COLUMN fence_holder")
	stores := make([]*order.Store, 5)
	var group errgroup.Group
	for i := range stores {
		group.Go(func() (err error) {
			if stores[i], err = order.OpenStore(testenv.Context(t), order.Config{Database: where}); err == nil {
				t.Cleanup(func() { _ = stores[i].Close() })
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	after := get(t, stores[0], taken)
	if after.Driver != 7 || after.Token != 0 || !after.CreatedAt.Equal(before.CreatedAt) || !slices.Equal(after.Wins, before.Wins) {
		t.Errorf("the order was %+v and is %+v", before, after)
	}
	if result, err := grabber(testenv.Granted(3), free)(stores[1], 8); err != nil || !result.Won {
		t.Errorf("got %+v, %v", result, err)
	}
	if o := get(t, stores[2], free); o.Driver != 8 || o.Token != 3 {
		t.Errorf("the order is %+v", o)
	}
}
