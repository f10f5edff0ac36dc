package burst

import (
	"sync"
	"time"
)

// Meter counts the answers to a sustained load while it goes on. [Target.Metered] feeds it.
type Meter struct {
	mu    sync.Mutex
	began time.Time
	all   Rates
}

// Rates are the answers so far.
type Rates struct {
	Confirmed, Failed int
	Why               string // of the newest failure
	Seconds           []Second
}

// Second is how many answers came in one.
type Second struct{ Confirmed, Failed int }

// Newest is how many answers came in the last whole second.
func (r Rates) Newest() int {
	if len(r.Seconds) == 0 {
		return 0
	}
	last := r.Seconds[len(r.Seconds)-1]
	return last.Confirmed + last.Failed
}

// Metered is a target whose answers m counts from now on. full is called after each answer that comes when there are most or more.
func (t Target) Metered(m *Meter, most int, full func()) Target {
	m.mu.Lock()
	m.began = time.Now()
	m.mu.Unlock()
	count := func(add func(*Rates, *Second)) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.reach()
		add(&m.all, &m.all.Seconds[len(m.all.Seconds)-1])
		if m.all.Confirmed+m.all.Failed >= most {
			full()
		}
	}
	t.Seen = func(string, int64) { count(func(r *Rates, s *Second) { r.Confirmed++; s.Confirmed++ }) }
	t.Failed = func(why string) { count(func(r *Rates, s *Second) { r.Failed++; r.Why = why; s.Failed++ }) }
	return t
}

// reach begins the seconds that have passed. It needs the mutex.
func (m *Meter) reach() {
	for at := int(time.Since(m.began) / time.Second); len(m.all.Seconds) <= at; {
		m.all.Seconds = append(m.all.Seconds, Second{})
	}
}

// Rates are the answers so far, with at most the last seconds whole ones. Before a load begins there are none.
func (m *Meter) Rates(seconds int) Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		return Rates{}
	}
	m.reach()
	r, whole := m.all, len(m.all.Seconds)-1
	r.Seconds = append([]Second(nil), r.Seconds[max(0, whole-seconds):whole]...)
	return r
}
