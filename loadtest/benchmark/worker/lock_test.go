package worker

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// Each lock on MariaDB excludes, behind its queue, bare, and the library's: GET_LOCK keeps its connection.
func TestDatabaseLocksExclude(t *testing.T) {
	testenv.Needs(t, testenv.MariaDB)
	s, err := servers.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	db, err := s.MariaDB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v5", "v5" + Bare, "GET_LOCK"} {
		t.Run(name, func(t *testing.T) {
			lock, closer, err := open(name, clients{backend: "mysql:" + db.DSN}, 4)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = closer() }()
			excludes(t, lock)
		})
	}
}

// excludes lets four goroutines count without a mutex of their own: with -race or without, a lost count shows.
func excludes(t *testing.T, lock Lock) {
	t.Helper()
	const each = 20
	count, inside := 0, 0
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range each {
				unlock, err := lock(context.Background(), "key")
				if err != nil {
					t.Error(err)
					return
				}
				if inside++; inside != 1 {
					t.Errorf("%d holders", inside)
				}
				count++
				inside--
				if err := unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if count != 4*each {
		t.Errorf("%d of %d sections", count, 4*each)
	}
}

// One goroutine of the process at a time asks the library for a key. One that is refused lets the next one ask; another key does not wait.
func TestBehindMutex(t *testing.T) {
	var asking atomic.Int32
	refused := errors.New("refused")
	lock := behindMutex(func(_ context.Context, key string) (func() error, error) {
		if key == "refused" {
			return nil, refused
		}
		if asking.Add(1) != 1 && key == "key" {
			t.Error("two ask for one key")
		}
		runtime.Gosched() // another one could ask now
		return func() error { asking.Add(-1); return nil }, nil
	})
	excludes(t, lock)
	for range 2 {
		if _, err := lock(t.Context(), "refused"); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
	}
	for _, key := range []string{"a", "b"} {
		if _, err := lock(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestUnknownLock(t *testing.T) {
	for _, name := range []string{"v9", "v9" + Bare, "dance", "dance" + Mutex} {
		if _, _, err := open(name, clients{}, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
