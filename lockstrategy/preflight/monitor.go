package preflight

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A report is renewed at an age of every, and sooner while it says that no lock is granted.
const (
	every  = 10 * time.Second
	sooner = time.Second
)

// Monitor keeps the last reports about several locks. It asks their servers at most every ten seconds, or every second while no lock is
// granted, and logs changes.
type Monitor struct {
	log    *slog.Logger
	checks []Check
	asking sync.Mutex               // held while servers are asked; guards next
	next   time.Time                // when they are asked again
	last   atomic.Pointer[[]Report] // one for each check; nil before the first
}

// NewMonitor returns a monitor that has not asked yet. log gets a line for each weakness that comes or goes.
func NewMonitor(log *slog.Logger, checks ...Check) *Monitor {
	return &Monitor{log: log, checks: checks}
}

// Reports returns the last reports, and asks again when they are old. A caller that comes while another asks gets the last reports;
// while the first asks, there are none. A lock whose servers do not answer now keeps its last report.
func (m *Monitor) Reports(ctx context.Context) []Report {
	if m.asking.TryLock() {
		if !time.Now().Before(m.next) {
			m.ask(ctx)
		}
		m.asking.Unlock()
	}
	if last := m.last.Load(); last != nil {
		return *last
	}
	return []Report{}
}

// ask asks about all locks simultaneously. It drops the answers when the caller has left before.
func (m *Monitor) ask(ctx context.Context) {
	now, before := make([]Report, len(m.checks)), make([]Report, len(m.checks))
	if last := m.last.Load(); last != nil {
		before = *last
	}
	var all sync.WaitGroup
	for i, check := range m.checks {
		all.Go(func() {
			report, answered := check(ctx)
			if !answered && before[i].Lock != "" {
				report = before[i]
			}
			now[i] = report
		})
	}
	all.Wait()
	if ctx.Err() == context.Canceled {
		return
	}
	m.next = time.Now().Add(every)
	for i, r := range now {
		if slices.ContainsFunc(r.Weaknesses, func(w Weakness) bool { return w.Refuses }) {
			m.next = time.Now().Add(sooner)
		}
		m.logChanges(before[i], r)
	}
	m.last.Store(&now)
}

func (m *Monitor) logChanges(before, now Report) {
	log := m.log.With("lock", now.Lock)
	for _, w := range now.Weaknesses {
		level, message := slog.LevelWarn, "preflight: weakness"
		if w.Grave {
			level, message = slog.LevelError, "preflight: no lock"
		}
		if !slices.ContainsFunc(before.Weaknesses, w.is) {
			log.Log(context.Background(), level, message, "what", w.What, "why", w.Why, "remedy", w.Remedy, "where", strings.Join(w.Where, ", "))
		}
	}
	for _, w := range before.Weaknesses {
		if !slices.ContainsFunc(now.Weaknesses, w.is) {
			log.Info("preflight: mended", "what", w.What, "where", strings.Join(w.Where, ", "))
		}
	}
}
