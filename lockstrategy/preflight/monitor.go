package preflight

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// every is the age at which a report is renewed.
const every = time.Minute

// Lock is a lock whose servers a [Monitor] asks.
type Lock struct {
	Name string // "v3"
	Ask  Ask
}

// Found is the last report about a lock.
type Found struct {
	Lock string `json:"lock"`
	Report
}

// Monitor keeps the last reports about several locks. It asks their servers at most once a minute.
type Monitor struct {
	locks []Lock

	asking sync.Mutex // held while servers are asked; guards asked
	asked  time.Time  // zero: not yet

	last atomic.Pointer[[]Found] // one for each lock; nil: none yet
}

// NewMonitor returns a monitor that has not asked yet.
func NewMonitor(locks ...Lock) *Monitor { return &Monitor{locks: locks} }

// Reports returns the last reports, and asks again when they are old. A caller that comes while another asks gets the last reports;
// while the first asks, there are none. A server that does not answer now keeps what it answered before.
func (m *Monitor) Reports(ctx context.Context) []Found {
	if m.asking.TryLock() {
		if m.asked.IsZero() || time.Since(m.asked) >= every {
			m.ask(ctx)
		}
		m.asking.Unlock()
	}
	if last := m.last.Load(); last != nil {
		return *last
	}
	return []Found{}
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
}
