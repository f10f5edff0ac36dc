package order_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/order"
)

// drivers is how many want an order.
const drivers = 20

var token atomic.Uint64 // the last one that was granted

func TestStore(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database fresh) {
		for _, c := range []struct {
			name string
			test func(t *testing.T, database fresh)
		}{
			{"a new order is open", testCreate},
			{"a lock makes one winner", testLock},
			{"no lock makes several winners", testNoLock},
			{"the atomic grab makes one winner", testAtomic},
			{"a win is recorded", testWin},
			{"an order that is gone is not thought about", testGone},
			{"the winner who asks again is told so", testAgain},
			{"an order that does not exist", testNotFound},
			{"the lock is lost while thinking", testLostWhileThinking},
			{"the lock is lost before anything", testLostAtOnce},
			{"the lock is not granted", testNotGranted},
			{"fencing tokens are checked", testToken},
			{"fencing tokens of two locks", testTwoLocks},
			{"a registration without a name", testOlderRegistration},
			{"a holder that slept is refused", testTwoHolders},
			{"a stale holder is refused at the read", testStaleRead},
			{"a fencing token for an order that does not exist", testTokenNotFound},
			{"an order that is deleted while a driver thinks", testDeleted},
			{"tables are created once", testTables},
			{"tables of a time before fencing tokens", testOlderTables},
			{"tables that are there are left alone", testTablesAgain},
			{"lost tables are created again", testTablesLost},
			{"a transaction without a table is repeated whole", testTableLostInTransaction},
			{"a closed store", testClosed},
			{"a statement that is refused", testAStatementThatIsRefused},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, database) })
		}
	})
}

// Whichever statement the database refuses, the driver is told, and the order stays as it was.
func testAStatementThatIsRefused(t *testing.T, database fresh) {
	s := open(t, database(t), 0)
	statements := testenv.WatchStatements(t, s.DB())
	for name, grab := range map[string]func(a order.Attempt) error{
		"without a token": func(a order.Attempt) error { _, err := s.Grab(t.Context(), testenv.NoLock, a); return err },
		"with a token": func(a order.Attempt) error {
			_, err := s.Grab(t.Context(), testenv.Granted(token.Add(1)), a)
			return err
		},
		"atomic": func(a order.Attempt) error { _, err := s.GrabAtomic(t.Context(), a); return err },
	} {
		id := create(t, s)
		grabs := func() error { return grab(order.Attempt{OrderID: id, Driver: 1, Version: "v3"}) }
		statements.RefuseEach(t, name, order.ErrUnavailable, grabs, func() {
			if o := get(t, s, id); o.Status == order.Granted || o.Driver != 0 || len(o.Wins) != 0 {
				t.Errorf("%s: the order is %+v", name, o)
			}
		})
		if o := get(t, s, id); o.Status != order.Granted || len(o.Wins) != 1 {
			t.Errorf("%s: at the end the order is %+v", name, o)
		}
	}
}

func testCreate(t *testing.T, database fresh) {
	stores := openTwo(t, database(t), 0)
	created, err := stores[0].Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if other := create(t, stores[1]); other == created.ID || created.ID == 0 {
		t.Errorf("two orders have the ids %d and %d", created.ID, other)
	}
	got := get(t, stores[1], created.ID)
	if got.Status != order.Open || got.Driver != 0 || len(got.Wins) != 0 {
		t.Errorf("a new order is %+v", got)
	}
	if apart := got.CreatedAt.Sub(created.CreatedAt).Abs(); apart > time.Second {
		t.Errorf("created at %s, read %s", created.CreatedAt, got.CreatedAt)
	}
	if err := stores[0].Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func grabber(lock order.Locker, id uint64) func(*order.Store, uint64) (order.Result, error) {
	return func(s *order.Store, driver uint64) (order.Result, error) {
		return s.Grab(context.Background(), lock, order.Attempt{OrderID: id, Driver: driver, Version: "v2", Instance: "a"})
	}
}

// oneWinner fails unless one driver won, all were told which, and the data says the same.
func oneWinner(t *testing.T, o order.Order, told []order.Result) {
	t.Helper()
	saw, recorded := winners(o, told)
	if len(saw) != 1 || !slices.Equal(saw, recorded) {
		t.Fatalf("told that they won: %v; recorded: %v; want the same one", saw, recorded)
	}
	if o.Status != order.Granted || o.Driver != saw[0] {
		t.Errorf("driver %d won and the order is %+v", saw[0], o)
	}
	for i, result := range told {
		if result.Winner != saw[0] {
			t.Errorf("driver %d was told that %d has the order, which %d has", i+1, result.Winner, saw[0])
		}
	}
}

func testLock(t *testing.T, database fresh) {
	stores := openTwo(t, database(t), time.Millisecond)
	id := create(t, stores[0])
	told := attempts(t, stores, drivers, grabber(testenv.Mutex(), id))
	oneWinner(t, get(t, stores[0], id), told)
}

// All come in before one reads, and think for so long that no write should come before a second read. On a busy machine the reads may be
// further apart: then they try again.
func testNoLock(t *testing.T, database fresh) {
	stores := openTwo(t, database(t), 300*time.Millisecond)
	for again := 0; ; again++ {
		if n := grabbedWithoutLock(t, stores); n > 1 {
			return
		} else if again == 4 {
			t.Fatalf("%d drivers of %d won without a lock, want more than one", n, drivers)
		}
	}
}

// grabbedWithoutLock lets all drivers grab an order, and returns how many won. Each winner was told so.
func grabbedWithoutLock(t *testing.T, stores []*order.Store) int {
	t.Helper()
	id := create(t, stores[0])
	told := attempts(t, stores, drivers, grabber(barrier(drivers), id))
	o := get(t, stores[0], id)
	saw, recorded := winners(o, told)
	if len(saw) == 0 || !slices.Equal(saw, recorded) {
		t.Fatalf("told that they won: %v; recorded: %v; want the same", saw, recorded)
	}
	if !slices.Contains(saw, o.Driver) {
		t.Errorf("driver %d has the order, and the winners are %v", o.Driver, saw)
	}
	for i, result := range told {
		if result.Won && result.Winner != uint64(i+1) || !slices.Contains(saw, result.Winner) {
			t.Errorf("driver %d was told %+v", i+1, result)
		}
	}
	return len(saw)
}

func grabAtomic(id uint64) func(*order.Store, uint64) (order.Result, error) {
	return func(s *order.Store, driver uint64) (order.Result, error) {
		return s.GrabAtomic(context.Background(), order.Attempt{OrderID: id, Driver: driver, Version: "v0", Instance: "a"})
	}
}

// No driver thinks. A database takes 151 connections unless it is told otherwise, and the articles' bursts are larger.
func testAtomic(t *testing.T, database fresh) {
	stores := openTwo(t, database(t), time.Hour)
	id := create(t, stores[0])
	told := attempts(t, stores, 400, grabAtomic(id))
	oneWinner(t, get(t, stores[1], id), told)
}

func testWin(t *testing.T, database fresh) {
	const queue, think = 20 * time.Millisecond, 10 * time.Millisecond
	s := open(t, database(t), think)
	id := create(t, s)
	var key string
	lock := testenv.LockerFunc(func(ctx context.Context, k string, fn func(context.Context, uint64) error) error {
		key = k
		<-time.After(queue)
		return fn(ctx, 1<<40)
	})
	before := time.Now()
	result, err := s.Grab(t.Context(), lock, order.Attempt{OrderID: id, Driver: 1 << 41, Version: "v3", Instance: "8080"})
	took := time.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	if !result.Won || result.Winner != 1<<41 || result.Token != 1<<40 || key != order.LockKey(id) {
		t.Errorf("it was told %+v under the lock %s", result, key)
	}
	if result.Waited < queue || result.Held < think || result.Waited+result.Held > took {
		t.Errorf("waited %s and held %s of %s, with a queue of %s and a think time of %s", result.Waited, result.Held, took, queue, think)
	}
	wins := get(t, s, id).Wins
	if len(wins) != 1 {
		t.Fatalf("recorded: %+v", wins)
	}
	got, at := wins[0], wins[0].At
	got.ID, got.At = 0, time.Time{}
	if want := (order.Win{OrderID: id, Driver: 1 << 41, Version: "v3", Instance: "8080", Token: 1 << 40}); got != want {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
	// A database may round to its own precision.
	if at.Before(before.Add(-time.Second)) || at.After(before.Add(took+time.Second)) {
		t.Errorf("recorded at %s what happened between %s and %s later", at, before, took)
	}
}

// Without the refusal the grab would think for an hour.
func testGone(t *testing.T, database fresh) {
	s := open(t, database(t), time.Hour)
	id := create(t, s)
	if result, err := grabAtomic(id)(s, 1); err != nil || !result.Won {
		t.Fatalf("got %+v, %v", result, err)
	}
	result, err := grabber(testenv.NoLock, id)(s, 2)
	if err != nil || result.Won || result.Winner != 1 {
		t.Errorf("got %+v, %v, want that driver 1 has it", result, err)
	}
	if wins := get(t, s, id).Wins; len(wins) != 1 {
		t.Errorf("recorded: %+v", wins)
	}
}

// A winner may not know it: the answer was lost, or the lease. The same attempt tells it, at every version, and records no second win.
func testAgain(t *testing.T, database fresh) {
	for name, try := range map[string]func(uint64) func(*order.Store, uint64) (order.Result, error){
		"without a token": func(id uint64) func(*order.Store, uint64) (order.Result, error) { return grabber(testenv.NoLock, id) },
		"with a token":    func(id uint64) func(*order.Store, uint64) (order.Result, error) { return grabber(growing(), id) },
		"atomically":      grabAtomic,
	} {
		s := open(t, database(t), 0)
		grab := try(create(t, s))
		for i := range 3 {
			result, err := grab(s, 1)
			if err != nil || !result.Won || result.Again != (i > 0) || result.Winner != 1 {
				t.Errorf("%s: time %d: %+v, %v", name, i+1, result, err)
			}
		}
		if result, err := grab(s, 2); err != nil || result.Won || result.Again || result.Winner != 1 {
			t.Errorf("%s: another driver was told %+v, %v", name, result, err)
		}
		if o := get(t, s, 1); len(o.Wins) != 1 || o.Driver != 1 {
			t.Errorf("%s: the order is %+v", name, o)
		}
	}
}

func testNotFound(t *testing.T, database fresh) {
	s := open(t, database(t), 0)
	id := create(t, s) + 1
	_, getErr := s.Get(t.Context(), id)
	_, grabErr := grabber(testenv.NoLock, id)(s, 1)
	_, atomicErr := grabAtomic(id)(s, 1)
	for call, err := range map[string]error{"Get": getErr, "Grab": grabErr, "GrabAtomic": atomicErr} {
		if !errors.Is(err, order.ErrNotFound) || errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: got %v, want ErrNotFound", call, err)
		}
	}
}
