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

	"locklab/lab/testenv"
	"locklab/order"
)

// risingTokens grants every call, with fencing tokens 1, 2, 3, …
func risingTokens() order.Locker {
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

// grabInTurn lets all holders read an open order one after the other, and then write it in the same sequence: in a synctest bubble, each
// thinks an hour longer than the one before.
func grabInTurn(t *testing.T, where string, holders []holder) (o order.Order, errs []error) {
	errs = make([]error, len(holders))
	synctest.Test(t, func(t *testing.T) {
		first := openStore(t, where, 0)
		id := createOrder(t, first)
		var all errgroup.Group
		for i, h := range holders {
			s := openStore(t, where, time.Duration(i+1)*time.Hour)
			synctest.Wait() // the previous holder has read
			all.Go(func() error {
				result, err := s.Grab(t.Context(), testenv.Granted(h.token), order.Attempt{OrderID: id, Driver: h.driver, Version: h.version})
				if errs[i] = err; result.Won != (err == nil) {
					t.Errorf("holder %d got %+v, %v", i+1, result, err)
				}
				return nil
			})
		}
		_ = all.Wait()
		o = getOrder(t, first, id)
	})
	return o, errs
}

// maxToken is the largest fencing token that fits a signed integer of the databases.
const maxToken = 1<<63 - 1

func testTokenOrder(t *testing.T, database newDatabase) {
	where := database(t)
	for _, c := range []struct {
		name    string
		holders []holder
		refused []uint64 // drivers
		stored  uint64   // fencing token, at the end
	}{
		{"a stale holder is refused", []holder{{2, 2, "v3"}, {1, 1, "v3"}}, []uint64{1}, 2},
		{"several stale holders are refused", []holder{{2, 2, "v3"}, {1, 1, "v3"}, {3, 1, "v3"}, {4, 3, "v3"}}, []uint64{1, 2, 3}, 3},
		// Two masters of a split brain may have granted the token.
		{"a token can be registered once", []holder{{1, 5, "v3"}, {2, 5, "v3"}}, []uint64{2}, 5},
		{"tokens are compared as numbers, not as text", []holder{{2, 10, "v3"}, {1, 9, "v3"}}, []uint64{1}, 10},
		{"and the other way round", []holder{{1, 9, "v3"}, {2, 10, "v3"}}, []uint64{1}, 10},
		{"tokens are compared exactly", []holder{{2, maxToken, "v3"}, {1, maxToken - 1, "v3"}, {3, maxToken, "v3"}}, []uint64{1, 3}, maxToken},
		{"without a token nothing is checked, and the registration stays", []holder{{2, 2, "v3"}, {3, 0, "v3"}, {1, 1, "v3"}}, []uint64{1}, 2},
		// The second write does not change the row, so MySQL would not count it without ClientFoundRows.
		{"one driver twice without a token", []holder{{1, 0, "v3"}, {1, 0, "v3"}}, nil, 0},
		{"two holders without a token, then one with", []holder{{1, 0, "v3"}, {2, 0, "v3"}, {3, 1, "v3"}}, nil, 1},
		// Both have read, and the older holder writes first. A check at the write alone would miss this.
		{"a stale holder that writes first is refused", []holder{{1, 1, "v3"}, {2, 2, "v3"}}, []uint64{1}, 2},
		{"tokens of two locks are not compared, and only the last reader writes", []holder{{1, 100, "v3"}, {2, 2, "v7"}}, []uint64{1}, 2},
		// A holder of another lock reads in between, so the second token is not compared with the first.
		{"a token granted twice around another lock", []holder{{1, 5, "v3"}, {2, 2, "v7"}, {3, 5, "v3"}}, []uint64{1, 2}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, errs := grabInTurn(t, where, c.holders)
			var won []uint64
			for i, h := range c.holders {
				if !slices.Contains(c.refused, h.driver) {
					won = append(won, h.driver)
					if errs[i] != nil {
						t.Errorf("%+v: %v", h, errs[i])
					}
					continue
				}
				wantStale(t, errs[i], h.token)
			}
			if _, recorded := winnersOf(o, nil); !slices.Equal(recorded, slices.Sorted(slices.Values(won))) {
				t.Errorf("the recorded winners are %v, want %v", recorded, won)
			}
			wantWins(t, o.Wins, won)
			if o.Driver != won[len(won)-1] || o.Token != c.stored {
				t.Errorf("the order is %+v, want driver %d and fencing token %d", o, won[len(won)-1], c.stored)
			}
		})
	}
}

// wantWins fails unless the wins are those of the drivers, in this sequence.
func wantWins(t *testing.T, wins []order.Win, drivers []uint64) {
	t.Helper()
	var written []uint64
	for _, win := range wins {
		written = append(written, win.Driver)
	}
	if !slices.Equal(written, drivers) {
		t.Errorf("the wins are those of %v, want %v", written, drivers)
	}
}

// wantStale fails unless err is ErrStale alone and contains the fencing token.
func wantStale(t *testing.T, err error, token uint64) {
	t.Helper()
	if !errors.Is(err, order.ErrStale) || errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrNotFound) {
		t.Errorf("got %v, want ErrStale alone", err)
	} else if !strings.Contains(err.Error(), fmt.Sprintf(" %d\"", token)) {
		t.Errorf("%q does not contain the fencing token %d", err, token)
	}
}

// A holder with fencing token 1 reads and pauses. Its lease expires, and another holder with token 2 reads and writes. Then the first one
// continues.
func testPausedHolder(t *testing.T, database newDatabase) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		paused, awake := openStore(t, where, time.Hour), openStore(t, where, 0)
		id := createOrder(t, awake)
		woke := make(chan error, 1)
		go func() {
			_, err := paused.Grab(t.Context(), testenv.Granted(1), order.Attempt{OrderID: id, Driver: 1, Version: "v3", Instance: "8080"})
			woke <- err
		}()
		synctest.Wait() // it has read the order
		result, err := awake.Grab(t.Context(), testenv.Granted(2), order.Attempt{OrderID: id, Driver: 2, Version: "v3", Instance: "8090"})
		if err != nil || !result.Won {
			t.Fatalf("the newer holder got %+v, %v", result, err)
		}
		before := getOrder(t, awake, id)
		wantStale(t, <-woke, 1)
		after := getOrder(t, awake, id)
		if after.Driver != 2 || after.Token != 2 || !slices.Equal(after.Wins, before.Wins) || len(after.Wins) != 1 {
			t.Errorf("the order was %+v and is %+v", before, after)
		}
	})
}

// A holder that is older than one that has read is refused at its read: it neither thinks nor writes.
func testStaleHolderRefusedAtRead(t *testing.T, database newDatabase) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		newer, older := openStore(t, where, time.Hour), openStore(t, where, 2*time.Hour)
		id := createOrder(t, newer)
		won := make(chan error, 1)
		go func() {
			_, err := grabWith(testenv.Granted(2), id)(newer, 2)
			won <- err
		}()
		synctest.Wait() // it has read the order
		start := time.Now()
		_, err := grabWith(testenv.Granted(1), id)(older, 1)
		wantStale(t, err, 1)
		if thought := time.Since(start); thought != 0 {
			t.Errorf("the stale holder thought for %s", thought)
		}
		if o := getOrder(t, newer, id); o.Status != order.Open || o.Token != 2 {
			t.Errorf("the order is %+v", o)
		}
		if err := <-won; err != nil {
			t.Error(err)
		}
	})
}

// An older program registers a version and a token, and leaves the column of the name as it is. Tokens are compared with it as usual. A
// holder that read before it is refused at its write, although its name is still in the row.
func testRegistrationWithoutName(t *testing.T, database newDatabase) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, where, time.Hour)
		id := createOrder(t, s)
		register := func(token uint64) {
			execIn(t, where, fmt.Sprintf("UPDATE orders SET fence_lock = 'v3', fence = %d WHERE id = %d", token, id))
		}
		grab := func(token uint64) error {
			_, err := s.Grab(t.Context(), testenv.Granted(token), order.Attempt{OrderID: id, Driver: token, Version: "v3"})
			return err
		}
		register(5)
		wantStale(t, grab(5), 5)
		refused := make(chan error, 1)
		go func() { refused <- grab(6) }()
		synctest.Wait() // it has read the order
		register(7)
		wantStale(t, <-refused, 6)
		if err := grab(8); err != nil {
			t.Error(err)
		}
		if o := getOrder(t, s, id); o.Driver != 8 || o.Token != 8 || len(o.Holder) != 26 || len(o.Wins) != 1 {
			t.Errorf("the order is %+v", o)
		}
	})
}

// An order that is deleted while a driver thinks is ErrNotFound, not ErrStale.
func testDeletedWhileThinking(t *testing.T, database newDatabase) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, where, time.Hour)
		id := createOrder(t, s)
		grabbed := make(chan error, 1)
		go func() {
			_, err := grabWith(testenv.Granted(1), id)(s, 1)
			grabbed <- err
		}()
		synctest.Wait() // it has read the order
		execIn(t, where, fmt.Sprintf("DELETE FROM orders WHERE id = %d", id))
		if err := <-grabbed; !errors.Is(err, order.ErrNotFound) || errors.Is(err, order.ErrStale) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
	})
}

// Tables without the columns of the fencing token get them, even if several instances start at once, and keep their rows.
func testTablesWithoutTokens(t *testing.T, database newDatabase) {
	where := database(t)
	s := openStore(t, where, 0)
	taken, free := createOrder(t, s), createOrder(t, s)
	if result, err := grabWith(testenv.NoLock, taken)(s, 7); err != nil || !result.Won {
		t.Fatalf("got %+v, %v", result, err)
	}
	before := getOrder(t, s, taken)
	execIn(t, where, "ALTER TABLE orders DROP COLUMN fence")
	execIn(t, where, "ALTER TABLE orders DROP COLUMN fence_lock")
	execIn(t, where, "ALTER TABLE orders DROP COLUMN fence_holder")
	stores := make([]*order.Store, 5)
	var group errgroup.Group
	for i := range stores {
		group.Go(func() (err error) {
			if stores[i], err = order.OpenStore(testenv.Context(t), where); err == nil {
				t.Cleanup(func() { _ = stores[i].Close() })
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	after := getOrder(t, stores[0], taken)
	if after.Driver != 7 || after.Token != 0 || !after.CreatedAt.Equal(before.CreatedAt) || !slices.Equal(after.Wins, before.Wins) {
		t.Errorf("the order was %+v and is %+v", before, after)
	}
	if result, err := grabWith(testenv.Granted(3), free)(stores[1], 8); err != nil || !result.Won {
		t.Errorf("got %+v, %v", result, err)
	}
	if o := getOrder(t, stores[2], free); o.Driver != 8 || o.Token != 3 {
		t.Errorf("the order is %+v", o)
	}
}
