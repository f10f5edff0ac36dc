package preflight

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A report is renewed at an age of every. While it says that no lock is granted it is renewed sooner: a server that was mended is
// soon noticed.
const (
	every  = 10 * time.Second
	sooner = time.Second
)

// Lock is a lock whose servers a [Monitor] asks.
type Lock struct {
	Name string // "v3"
	Ask  Check
}

// Found is the last report about a lock.
type Found struct {
	Lock string `json:"lock"`
	Report
}

// Monitor keeps the last reports about several locks. It asks their servers at most every ten seconds, or every second while no lock is
// granted, and logs what has changed.
type Monitor struct {
	locks []Lock

	asking sync.Mutex   // held while servers are asked; guards asked and log
	asked  time.Time    // zero: not yet
	log    *slog.Logger // of what changes; nil: see Log

	last atomic.Pointer[[]Found] // one for each lock; nil: none yet
}

// NewMonitor returns a monitor that has not asked yet.
func NewMonitor(locks ...Lock) *Monitor { return &Monitor{locks: locks} }

// Reports returns the last reports, and asks again when they are old. A caller that comes while another asks gets the last reports;
// while the first asks, there are none. A server that does not answer now keeps what it answered before.
func (m *Monitor) Reports(ctx context.Context) []Found {
	if m.asking.TryLock() {
		if m.asked.IsZero() || time.Since(m.asked) >= m.age() {
			m.ask(ctx)
		}
		m.asking.Unlock()
	}
	if last := m.last.Load(); last != nil {
		return *last
	}
	return []Found{}
}

// age is that at which the last reports are renewed.
func (m *Monitor) age() time.Duration {
	if last := m.last.Load(); last != nil && slices.ContainsFunc(*last, Found.Refuses) {
		return sooner
	}
	return every
}

// Refuses reports whether no lock is granted.
func (f Found) Refuses() bool {
	return slices.ContainsFunc(f.Weaknesses, func(w Weakness) bool { return w.Refuses })
}

// ask asks the servers of all locks simultaneously. It drops the answers when the caller has left before.
func (m *Monitor) ask(ctx context.Context) {
	found := make([]Found, len(m.locks))
	before := m.last.Load()
	var all sync.WaitGroup
	for i, lock := range m.locks {
		all.Go(func() {
			report, err := lock.Ask(ctx)
			if found[i] = (Found{lock.Name, report}); err != nil && before != nil {
				found[i] = (*before)[i]
			}
		})
	}
	all.Wait()
	if ctx.Err() == context.Canceled {
		return
	}
	m.asked = time.Now()
	m.last.Store(&found)
	if m.log != nil && before != nil {
		m.logChanges(ctx, *before, found)
	}
}
