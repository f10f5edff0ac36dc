package order_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/order"
)

// driverCount is the number of drivers that try to grab an order.
const driverCount = 20

var lastToken atomic.Uint64

func TestStore(t *testing.T) {
	t.Parallel()
	onEachDatabase(t, func(t *testing.T, database newDatabase) {
		for _, c := range []struct {
			name string
			test func(t *testing.T, database newDatabase)
		}{
			{"a new order is open", testCreate},
			{"a lock makes one winner", testLock},
			{"no lock makes several winners", testNoLock},
			{"GrabAtomic makes one winner", testGrabAtomic},
			{"a win is recorded", testWinRecord},
			{"a driver does not think about a taken order", testTakenOrder},
			{"a winner that repeats the attempt is told so", testRepeatedWin},
			{"an order that does not exist", testNotFound},
			{"the lock is lost while thinking", testLockLostWhileThinking},
			{"the lock is lost before the read", testLockLostBeforeRead},
			{"the lock is not granted", testNotGranted},
			{"fencing tokens are checked", testTokenOrder},
			{"a registration without a name", testRegistrationWithoutName},
			{"a paused holder is refused", testPausedHolder},
			{"a stale holder is refused at the read", testStaleHolderRefusedAtRead},
			{"an order that is deleted while a driver thinks", testDeletedWhileThinking},
			{"tables without fencing tokens", testTablesWithoutTokens},
			{"existing tables are not changed", testReopen},
			{"lost tables are created again", testLostTables},
			{"a closed store", testClosed},
			{"a failed statement", testFailedStatement},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, database) })
		}
	})
}

// Whichever statement fails, the driver gets an error, and the order stays as it was.
func testFailedStatement(t *testing.T, database newDatabase) {
	s := openStore(t, database(t), 0)
	statements := testenv.WatchStatements(t, s.DB)
	for name, grab := range map[string]func(a order.Attempt) error{
		"without a token": func(a order.Attempt) error { _, err := s.Grab(t.Context(), testenv.NoLock, a); return err },
		"with a token": func(a order.Attempt) error {
			_, err := s.Grab(t.Context(), testenv.Granted(lastToken.Add(1)), a)
			return err
		},
		"atomic": func(a order.Attempt) error { _, err := s.GrabAtomic(t.Context(), a); return err },
	} {
		id := createOrder(t, s)
		grabs := func() error { return grab(order.Attempt{OrderID: id, Driver: 1, Version: "v3"}) }
		statements.RefuseEach(t, name, order.ErrUnavailable, grabs, func() {
			if o := getOrder(t, s, id); o.Status == order.Granted || o.Driver != 0 || len(o.Wins) != 0 {
				t.Errorf("%s: the order is %+v", name, o)
			}
		})
		if o := getOrder(t, s, id); o.Status != order.Granted || len(o.Wins) != 1 {
			t.Errorf("%s: after the last attempt the order is %+v", name, o)
		}
	}
}

func testCreate(t *testing.T, database newDatabase) {
	stores := openTwo(t, database(t), 0)
	created, err := stores[0].Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if other := createOrder(t, stores[1]); other == created.ID || created.ID == 0 {
		t.Errorf("two orders have the ids %d and %d", created.ID, other)
	}
	got := getOrder(t, stores[1], created.ID)
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

func grabWith(lock order.Locker, id uint64) grabFunc {
	return func(s *order.Store, driver uint64) (order.Result, error) {
		return s.Grab(context.Background(), lock, order.Attempt{OrderID: id, Driver: driver, Version: "v2", Instance: "a"})
	}
}

// wantOneWinner fails unless one driver won, every driver was told which one, and the database agrees.
func wantOneWinner(t *testing.T, o order.Order, results []order.Result) {
	t.Helper()
	won, recorded := winnersOf(o, results)
	if len(won) != 1 || !slices.Equal(won, recorded) {
		t.Fatalf("won: %v; recorded: %v; want the same single driver", won, recorded)
	}
	if o.Status != order.Granted || o.Driver != won[0] {
		t.Errorf("driver %d won, but the order is %+v", won[0], o)
	}
	for i, result := range results {
		if result.Winner != won[0] {
			t.Errorf("driver %d was told that %d has the order, but %d has it", i+1, result.Winner, won[0])
		}
	}
}

func testLock(t *testing.T, database newDatabase) {
	stores := openTwo(t, database(t), time.Millisecond)
	id := createOrder(t, stores[0])
	results := runAttempts(t, stores, driverCount, grabWith(testenv.Mutex(), id))
	wantOneWinner(t, getOrder(t, stores[0], id), results)
}

// All drivers start at once and think for so long that no write should come before a second read. On a busy machine the reads may be
// further apart, so the test tries again.
func testNoLock(t *testing.T, database newDatabase) {
	stores := openTwo(t, database(t), 300*time.Millisecond)
	for attempt := 1; ; attempt++ {
		if n := grabWithoutLock(t, stores); n > 1 {
			return
		} else if attempt == 5 {
			t.Fatalf("%d drivers of %d won without a lock, want more than one", n, driverCount)
		}
	}
}

// grabWithoutLock lets all drivers grab an order and returns how many won.
func grabWithoutLock(t *testing.T, stores []*order.Store) int {
	t.Helper()
	id := createOrder(t, stores[0])
	results := runAttempts(t, stores, driverCount, grabWith(startTogether(driverCount), id))
	o := getOrder(t, stores[0], id)
	won, recorded := winnersOf(o, results)
	if len(won) == 0 || !slices.Equal(won, recorded) {
		t.Fatalf("won: %v; recorded: %v; want the same drivers", won, recorded)
	}
	if !slices.Contains(won, o.Driver) {
		t.Errorf("driver %d has the order, but the winners are %v", o.Driver, won)
	}
	for i, result := range results {
		if result.Won && result.Winner != uint64(i+1) || !slices.Contains(won, result.Winner) {
			t.Errorf("driver %d was told %+v", i+1, result)
		}
	}
	return len(won)
}

func grabAtomic(id uint64) grabFunc {
	return func(s *order.Store, driver uint64) (order.Result, error) {
		return s.GrabAtomic(context.Background(), order.Attempt{OrderID: id, Driver: driver, Version: "v0", Instance: "a"})
	}
}

// GrabAtomic ignores the think time. The number of drivers is larger than the number of connections that a database accepts by default,
// 151.
func testGrabAtomic(t *testing.T, database newDatabase) {
	stores := openTwo(t, database(t), time.Hour)
	id := createOrder(t, stores[0])
	results := runAttempts(t, stores, 400, grabAtomic(id))
	wantOneWinner(t, getOrder(t, stores[1], id), results)
}

func testWinRecord(t *testing.T, database newDatabase) {
	const queue, think = 20 * time.Millisecond, 10 * time.Millisecond
	s := openStore(t, database(t), think)
	id := createOrder(t, s)
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
	sharedKey := fmt.Sprintf("lock:order:{%d}", id) // with other programs
	if !result.Won || result.Winner != 1<<41 || result.Token != 1<<40 || key != sharedKey {
		t.Errorf("got %+v under the lock %s", result, key)
	}
	if result.Waited < queue || result.Held < think || result.Waited+result.Held > took {
		t.Errorf("waited %s and held %s of %s, with a queue of %s and a think time of %s", result.Waited, result.Held, took, queue, think)
	}
	wins := getOrder(t, s, id).Wins
	if len(wins) != 1 {
		t.Fatalf("recorded: %+v", wins)
	}
	got, at := wins[0], wins[0].At
	got.ID, got.At = 0, time.Time{}
	if want := (order.Win{OrderID: id, Driver: 1 << 41, Version: "v3", Instance: "8080", Token: 1 << 40}); got != want {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
	// A database may round times.
	if at.Before(before.Add(-time.Second)) || at.After(before.Add(took+time.Second)) {
		t.Errorf("the win is recorded at %s, but it happened within %[3]s after %[2]s", at, before, took)
	}
}

// The test would take an hour if the driver thought.
func testTakenOrder(t *testing.T, database newDatabase) {
	s := openStore(t, database(t), time.Hour)
	id := createOrder(t, s)
	if result, err := grabAtomic(id)(s, 1); err != nil || !result.Won {
		t.Fatalf("got %+v, %v", result, err)
	}
	result, err := grabWith(testenv.NoLock, id)(s, 2)
	if err != nil || result.Won || result.Winner != 1 {
		t.Errorf("got %+v, %v, want that driver 1 has it", result, err)
	}
	if wins := getOrder(t, s, id).Wins; len(wins) != 1 {
		t.Errorf("recorded: %+v", wins)
	}
}

// A winner may not know that it won, because the response or the lease was lost. If it repeats the attempt, it is told so, and no second
// win is recorded.
func testRepeatedWin(t *testing.T, database newDatabase) {
	for name, newGrab := range map[string]func(uint64) grabFunc{
		"without a token": func(id uint64) grabFunc { return grabWith(testenv.NoLock, id) },
		"with a token":    func(id uint64) grabFunc { return grabWith(risingTokens(), id) },
		"atomically":      grabAtomic,
	} {
		s := openStore(t, database(t), 0)
		grab := newGrab(createOrder(t, s))
		for i := range 3 {
			result, err := grab(s, 1)
			if err != nil || !result.Won || result.AlreadyWon != (i > 0) || result.Winner != 1 {
				t.Errorf("%s: attempt %d: %+v, %v", name, i+1, result, err)
			}
		}
		if result, err := grab(s, 2); err != nil || result.Won || result.AlreadyWon || result.Winner != 1 {
			t.Errorf("%s: another driver got %+v, %v", name, result, err)
		}
		if o := getOrder(t, s, 1); len(o.Wins) != 1 || o.Driver != 1 {
			t.Errorf("%s: the order is %+v", name, o)
		}
	}
}

func testNotFound(t *testing.T, database newDatabase) {
	s := openStore(t, database(t), 0)
	id := createOrder(t, s) + 1
	_, getErr := s.Get(t.Context(), id)
	_, grabErr := grabWith(testenv.NoLock, id)(s, 1)
	_, atomicErr := grabAtomic(id)(s, 1)
	_, tokenErr := grabWith(testenv.Granted(1), id)(s, 1)
	for call, err := range map[string]error{"Get": getErr, "Grab": grabErr, "GrabAtomic": atomicErr, "with a token": tokenErr} {
		if !errors.Is(err, order.ErrNotFound) || errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrStale) {
			t.Errorf("%s: got %v, want ErrNotFound", call, err)
		}
	}
}
