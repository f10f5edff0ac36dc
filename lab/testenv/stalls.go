package testenv

import (
	"sync"
	"testing"
	"time"
)

// Stalls tells how long this process did not run: a busy machine, or a suspended one.
type Stalls struct {
	mu      sync.Mutex
	longest time.Duration
}

// stallsEvery is how often a process looks whether it runs.
const stallsEvery = 10 * time.Millisecond

// WatchStalls watches until the test ends.
func WatchStalls(t testing.TB) *Stalls {
	var s Stalls
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(stallsEvery)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			now := time.Now()
			s.saw(now.Sub(last) - stallsEvery)
			last = now
		}
	}()
	t.Cleanup(func() {
		close(ended)
		<-done
	})
	return &s
}

func (s *Stalls) saw(late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, late)
}

// Longest returns the longest stall since the last call.
func (s *Stalls) Longest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := s.longest
	s.longest = 0
	return longest
}
