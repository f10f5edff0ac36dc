package burst

import (
	"fmt"
	"sync"
	"time"
)

// Event is what bursts and loads tell as they happen. A plan tells [WarmingUp], and of each version in each round [VersionBegan], an
// [Answered] for each page view, and [VersionJudged]. A load tells an [Answered] for each page view, each [SecondPassed], and
// [Stopping].
//
// They are told one after the other. The next answer waits until the receiver returns: that must be fast. Nothing is kept for it.
type Event interface{ event() }

// WarmingUp is told before a burst that does not count. It opens every connection.
type WarmingUp struct{}

// VersionBegan is told before the bursts of a version.
type VersionBegan struct {
	Version        string
	Number, All    int // the n-th of all, over the rounds
	Round, Rounds  int
	Users, Drivers int
}

// Answered is the answer to a page view, when it has arrived. Nobody is asked for the counter: that would disturb the burst.
type Answered struct {
	Version  string
	Instance string // that answered; empty: none said its name
	Value    int64  // that it wrote; 0: the view is not confirmed
	Stale    bool   // it was refused as a stale holder's, and did not count
	Failed   string // why else the view is not confirmed, so that it may have counted
	// Waited is the time from the moment at which the view was due until its answer. In a burst it is 0.
	Waited time.Duration

	Confirmed int   // views by this instance so far
	Newest    int64 // largest value that it wrote
	// Lost is how many updates are lost so far, at least. So many confirmed views of all instances are more than the largest value: two of
	// them wrote the same one.
	Lost int
}

// VersionJudged is told when the bursts of a version were sent and judged.
type VersionJudged struct {
	Pageview PageviewRow
	Order    OrderRow
}

// Stopping is told when a load sends no more page views. Answers are missing still.
type Stopping struct{}

// SecondPassed is told after each second of a load, also while nothing is answered.
type SecondPassed struct{}

func (WarmingUp) event()     {}
func (VersionBegan) event()  {}
func (Answered) event()      {}
func (VersionJudged) event() {}
func (Stopping) event()      {}
func (SecondPassed) event()  {}

// String says what begins.
func (WarmingUp) String() string {
	return "warming up: a burst that does not count opens every connection"
}

// String says what begins.
func (e VersionBegan) String() string {
	return fmt.Sprintf("round %d of %d, %s: %d simultaneous page views, then %d drivers for one order",
		e.Round, e.Rounds, e.Version, e.Users, e.Drivers)
}

// teller counts the answers to the page views of a version, and tells of them.
type teller struct {
	version string
	tell    func(Event) // nil: nobody is told

	mu  sync.Mutex
	by  map[string]Answered // the newest of each instance
	all int                 // confirmed
	top int64               // largest value
}

// add tells of an answer, and how long it was waited for.
func (t *teller) add(a answer, waited time.Duration) {
	if t.tell == nil {
		return
	}
	var b Views
	b.record(0, a)
	t.mu.Lock()
	defer t.mu.Unlock()
	e := Answered{Version: t.version, Waited: waited}
	switch {
	case len(b.Writes) > 0:
		e.Instance, e.Value = b.Writes[0].Instance, b.Writes[0].Value
		t.all, t.top = t.all+1, max(t.top, e.Value)
		e.Confirmed++
	case len(b.Stale) > 0:
		e.Instance, e.Stale = b.Stale[0], true
	default:
		e.Failed = b.Failed[0]
	}
	e.Confirmed, e.Newest = e.Confirmed+t.by[e.Instance].Confirmed, max(e.Value, t.by[e.Instance].Newest)
	e.Lost = max(0, t.all-int(t.top))
	if t.by == nil {
		t.by = make(map[string]Answered)
	}
	t.by[e.Instance] = e
	t.tell(e)
}
