package burst

import (
	"slices"
	"sync"
	"time"
)

// Meter counts the answers to a sustained load while it goes on.
type Meter struct {
	mu    sync.Mutex
	waits []time.Duration // for the confirmed answers of this second
	ended bool
	top   int64 // largest value that was written since the counter began
	all   Rates
}

// Rates are the answers so far.
type Rates struct {
	Began                   time.Time // zero: it has not begun
	Confirmed, Failed, Lost int
	Stale                   int       // writes that were refused
	Why                     string    // of the newest failure
	WhyAt                   time.Time // it came
	FellAt                  time.Time // a view wrote less than half of the largest value, as after a loss of the counter; zero: none did
	Before                  int       // how many seconds are older than the first of Seconds
	Seconds                 []Second  // whole ones, and at last the begun one in which the load has ended
}

// Second is what came in one: answers, and updates that are lost since, at least. Failed includes refused stale writes. The waits are those
// for its confirmed answers.
type Second struct {
	Confirmed, Failed, Lost int
	Median, P99, Longest    time.Duration
}

// Newest is what came in the last whole second.
func (r Rates) Newest() (s Second) {
	if len(r.Seconds) > 0 {
		s = r.Seconds[len(r.Seconds)-1]
	}
	return s
}

// P99 is the 99th percentile of the waits for the confirmed answers of the last whole second; 0: there were none.
func (r Rates) P99() time.Duration {
	if len(r.Seconds) == 0 {
		return 0
	}
	return r.Seconds[len(r.Seconds)-1].P99
}

// begin counts the seconds from now on, and tells of each until end is called. The second of the end is the last one.
func (m *Meter) begin(tell func(Event)) (end func()) {
	m.mu.Lock()
	m.all.Began = time.Now()
	m.mu.Unlock()
	second, ended := time.NewTicker(time.Second), make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		for {
			select {
			case <-second.C:
				tell(SecondPassed{})
			case <-ended:
				return
			}
		}
	})
	return func() {
		second.Stop()
		close(ended)
		ticking.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.reach()
		m.close()
		m.ended = true
	}
}

// add counts an answer, and returns how many there are.
func (m *Meter) add(e Answered) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach()
	now := &m.all.Seconds[len(m.all.Seconds)-1]
	switch {
	case e.Failed != "":
		m.all.Failed, m.all.Why, m.all.WhyAt, now.Failed = m.all.Failed+1, e.Failed, time.Now(), now.Failed+1
	case e.Stale:
		m.all.Stale, now.Failed = m.all.Stale+1, now.Failed+1
	default:
		m.all.Confirmed, now.Confirmed = m.all.Confirmed+1, now.Confirmed+1
		m.waits = append(m.waits, e.Waited)
		if m.top = max(m.top, e.Value); 2*e.Value < m.top {
			m.all.FellAt, m.top = time.Now(), e.Value
		}
	}
	if more := e.Lost - m.all.Lost; more > 0 {
		m.all.Lost, now.Lost = e.Lost, now.Lost+more
	}
	return m.all.Confirmed + m.all.Failed + m.all.Stale
}

// reach begins the seconds that have passed. It needs the mutex.
func (m *Meter) reach() {
	for at := int(time.Since(m.all.Began) / time.Second); len(m.all.Seconds) <= at && !m.ended; {
		m.close()
		m.all.Seconds = append(m.all.Seconds, Second{})
	}
}

// close ends the newest second. It needs the mutex.
func (m *Meter) close() {
	if newest := len(m.all.Seconds) - 1; len(m.waits) > 0 {
		slices.Sort(m.waits)
		second, n := &m.all.Seconds[newest], len(m.waits)
		second.Median, second.P99, second.Longest = m.waits[n/2], m.waits[n*99/100], m.waits[n-1]
		m.waits = m.waits[:0]
	}
}

// Rates are the answers so far, with at most so many seconds. Before a load begins there are none.
func (m *Meter) Rates(seconds int) Rates {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all.Began.IsZero() {
		return Rates{}
	}
	m.reach()
	r, whole := m.all, len(m.all.Seconds)
	if !m.ended {
		whole-- // the newest one goes on
	}
	r.Before = max(0, whole-seconds)
	r.Seconds = slices.Clone(r.Seconds[r.Before:whole])
	return r
}
