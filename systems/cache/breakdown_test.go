package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/systems/cache"
)

// slow is a source whose loads wait until they are let go.
type slow struct {
	cache.Reader
	began chan struct{}
	let   chan struct{}
}

func (s slow) Get(ctx context.Context, id uint64) (cache.Item, error) {
	s.began <- struct{}{}
	<-s.let
	return s.Reader.Get(ctx, id)
}

func (l lab) slow() slow { return slow{l.db, make(chan struct{}, 100), make(chan struct{})} }

// together lets n callers read, and lets the loads go when the first has begun.
func together(t *testing.T, s slow, n int, get func(i int) (cache.Item, error)) {
	t.Helper()
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			if item, err := get(i); err != nil || item.Version != 1 {
				t.Errorf("got %+v, %v", item, err)
			}
		})
	}
	<-s.began
	close(s.let)
	callers.Wait()
}

func TestSingleFlight(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s := l.slow()
	flight := cache.NewSingleFlight(l.aside(cache.Config{}, s))
	together(t, s, 50, func(int) (cache.Item, error) { return flight.Get(t.Context(), id) })
	l.loads(1)
}

// The load of a caller that leaves goes on for the others.
func TestSingleFlightOutlivesItsCaller(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s := l.slow()
	r := l.aside(cache.Config{}, s)
	flight := cache.NewSingleFlight(r)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, err := flight.Get(ctx, id); left <- err }()
	<-s.began
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left: %v", err)
	}
	close(s.let)
	testenv.Eventually(t, "the load fills", func() bool { _, err := r.Cached(t.Context(), id); return err == nil })
	l.loads(1)
}

func TestLocked(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s, lock := l.slow(), testenv.Mutex()
	caches := []cache.Reader{
		cache.NewSingleFlight(cache.Locked{Cache: l.aside(cache.Config{}, s), Lock: lock}),
		cache.Locked{Cache: l.aside(cache.Config{}, s), Lock: lock},
	}
	together(t, s, 50, func(i int) (cache.Item, error) { return caches[i%2].Get(t.Context(), id) })
	l.loads(1)
	for i, c := range caches {
		if item, err := c.Get(t.Context(), 99); !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("an absent item from cache %d: %+v, %v", i, item, err)
		}
	}
}

// refused is a lock that nobody gets.
type refused struct{ error }

func (r refused) Do(context.Context, string, func(context.Context, uint64) error) error {
	return r.error
}

func TestLockRefused(t *testing.T) {
	l, no := newLab(t), errors.New("no lock")
	if _, err := (cache.Locked{Cache: l.aside(cache.Config{}), Lock: refused{no}}).Get(t.Context(), id); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	l.loads(0)
}

// One caller of two processes loads when an item is due. All get the old one meanwhile, and none waits for the load.
func TestRefreshing(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s := l.slow()
	var caches []*cache.Refreshing
	for range 2 {
		r, err := cache.NewRefreshing(l, s, "x:", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		caches = append(caches, r)
	}
	if err := caches[0].Set(t.Context(), cache.Item{ID: id, Text: "old", Version: 1}); err != nil {
		t.Fatal(err)
	}
	put(t, l.db, "two")
	for i := range 20 {
		reads(t, caches[i%2], 1) // it is due, and its load waits
	}
	<-s.began
	close(s.let)
	for _, r := range caches {
		_ = r.Close()
	}
	l.loads(1)
	reads(t, caches[1], 2)
	if left := l.PTTL(t.Context(), "x:7").Val(); left != -1 {
		t.Errorf("it expires in %s", left)
	}
	if left := l.PTTL(t.Context(), "fresh:x:7").Val(); left <= 0 || left > time.Hour {
		t.Errorf("it is fresh for %s, want an hour at most", left)
	}
	l.Del(t.Context(), "x:7", "fresh:x:7") // the first of all has nothing to answer, and waits
	reads(t, caches[0], 2)
}
