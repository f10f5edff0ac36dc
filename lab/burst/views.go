package burst

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/versions"
)

// Views is the record of one burst of page views (A4): what each request wrote and where, and the counter at the end.
type Views struct {
	Version string
	Users   int // simultaneous requests
	Writes  []Write
	Stale   []string // the instance of each request that was refused as a stale holder's: it did not count
	Failed  []string // the error of each other request that has no Write; it may have counted
	Final   int64
	Took    time.Duration

	ByChance bool `json:",omitempty"` // as in the Target
	Shared   bool `json:",omitempty"` // other clients may have counted: what the counter shows beyond the confirmed views is no violation

	Began  time.Time       `json:"-"`
	Events []history.Event `json:"-"` // each request, with the times since Began

	steps map[string][]Step // that instances told, by the owner of the view
}

// Write is one view that was confirmed.
type Write struct {
	Instance string
	Value    int64
}

// CounterKey is the key of the counter of views, and its name in a history.
const CounterKey = "pview"

// RunViews resets the counter behind target, sends one view for each of users to version, and reads the counter. An error
// means that there is no record.
func RunViews(ctx context.Context, target Target, version string, users int, send Send) (Views, error) {
	b := Views{Version: version, Users: users, ByChance: target.ByChance}
	if err := target.reset(ctx); err != nil {
		return b, err
	}
	answers, began, err := send(ctx, target.URL, target.views(version, users))
	if err != nil {
		return b, err
	}
	b.Took, b.Began = took(answers), began
	b.Events = b.withSteps(eventsOf(answers, b.record))
	b.Final, err = target.counter(ctx, readTimeout)
	return b, err
}

// reset sets the counter to 0.
func (t Target) reset(ctx context.Context) error {
	return t.call(ctx, http.MethodPut, "/pview", `{"value": 0}`, nil)
}

// counter reads the counter. It asks until an instance answers, or within is over.
func (t Target) counter(ctx context.Context, within time.Duration) (int64, error) {
	var counter struct{ Value int64 }
	err := t.read(ctx, "/pview", within, &counter)
	return counter.Value, err
}

func (t Target) views(version string, users int) []*http.Request {
	return t.requests(users, func(int) string { return "/" + version + "/pview" })
}

// Lost is how many confirmed views the counter does not show.
func (b Views) Lost() int { return max(0, len(b.Writes)-int(b.Final)) }

// Surplus is how much the counter shows beyond the confirmed views, when no other can have counted:
// then something counted twice.
func (b Views) Surplus() int {
	if len(b.Failed) > 0 || b.Shared {
		return 0 // a view without an answer may have counted, or another client
	}
	return b.Unconfirmed()
}

// Unconfirmed is how much the counter shows beyond the confirmed views.
func (b Views) Unconfirmed() int { return max(0, int(b.Final)-len(b.Writes)) }

// Inside counts the values that an instance wrote again after it had written them. A lock in the process prevents it
// while the instance is alone. Beside another instance it does not: the other one sets the counter back, and the same values are
// written again. A4 reports one run in which neither process wrote a value twice.
func (b Views) Inside() int {
	return len(b.Writes) - len(b.distinct())
}

// distinct are the values that were written, each once for an instance.
func (b Views) distinct() map[Write]bool {
	seen := map[Write]bool{}
	for _, w := range b.Writes {
		seen[w] = true
	}
	return seen
}

// Across counts the values that more than one instance wrote.
func (b Views) Across() int {
	instances, n := map[int64]int{}, 0
	for w := range b.distinct() {
		if instances[w.Value]++; instances[w.Value] == 2 {
			n++
		}
	}
	return n
}

// Counts is what a burst of page views left.
type Counts struct {
	Final  int64 `json:"final"`
	Lost   int   `json:"lost"`
	Inside int   `json:"written_twice_inside_one"`
	Across int   `json:"written_twice_across_both"`
}

// Counts sums the burst up.
func (b Views) Counts() Counts { return Counts{b.Final, b.Lost(), b.Inside(), b.Across()} }

// PerInstance counts the usable answers of each instance: views that were confirmed, and refused.
func (b Views) PerInstance() map[string]int {
	n := count(b.Stale)
	for _, w := range b.Writes {
		n[w.Instance]++
	}
	return n
}

func count(instances []string) map[string]int {
	n := map[string]int{}
	for _, name := range instances {
		n[name]++
	}
	return n
}

// Expect is what two instances of a version show: whether they sometimes lose updates, and have two winners.
func Expect(v versions.Version) lab.Expect {
	if v.LosesUpdates {
		return lab.Sometimes
	}
	return lab.Never
}

// Outcome is what the record of two instances shows.
func (b Views) Outcome() lab.Outcome { return b.OutcomeOf(2) }

// OutcomeOf is what the record of so many instances shows: a violation when updates were lost, counted twice, or values were
// written twice.
func (b Views) OutcomeOf(instances int) lab.Outcome {
	o := lab.Outcome{Trials: 1, Err: b.Sound(instances)}
	if b.Lost()+b.Surplus()+b.Inside()+b.Across() > 0 {
		o.Violations = 1
	}
	return o
}

// Sound says why the record proves nothing about so many instances.
func (b Views) Sound(instances int) error {
	var surplus error
	if more := b.Unconfirmed(); b.Shared && len(b.Failed) == 0 && more > 0 {
		surplus = fmt.Errorf("the counter shows %d more than the %d confirmed views: "+
			"did somebody else count, or was a request sent twice? Run it again, alone", more, len(b.Writes))
	}
	return errors.Join(failures(b.Failed), surplus, even(b.PerInstance(), b.Users, instances, b.ByChance))
}

func failures(failed []string) error {
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d requests failed, the first: %s", len(failed), failed[0])
}

// even is an error when the instances did not get equal parts of the requests: then these prove nothing about so many. Of parts by chance,
// some may be empty, and two are enough for a violation.
func even(perInstance map[string]int, requests, instances int, byChance bool) error {
	answered := len(perInstance)
	if byChance {
		if answered < min(2, instances) || answered > instances {
			return fmt.Errorf("%d instances answered, not two to %d", answered, instances)
		}
		return nil
	}
	for _, n := range perInstance {
		if n < requests/instances || n > (requests+instances-1)/instances {
			return fmt.Errorf("the instances did not get a %s of the requests each: %v", part(instances), perInstance)
		}
	}
	if answered != instances {
		return fmt.Errorf("%d instances answered, not %d", answered, instances)
	}
	return nil
}

func part(of int) string {
	if of == 2 {
		return "half"
	}
	return fmt.Sprintf("part of %d", of)
}

// balancer is the timeline of a request that no instance answered.
const balancer = "balancer"

// View is what the answer to a confirmed view says.
type View struct {
	Write
	Fence uint64
	Steps []Step // that the instance tells; the last write is the view's
}

// view reads the answer to a page view. An error means that the view is not confirmed.
func (a answer) view() (v View, err error) {
	err = a.into(&v, http.StatusOK)
	return v, err
}

// record adds an answer to b, and returns it as an event: a write when the view is confirmed. The owners are the requests.
func (b *Views) record(i int, a answer) history.Event {
	e := history.Event{Timeline: balancer, Key: CounterKey, Owner: fmt.Sprintf("request %d", i+1)}
	if instance, stale := a.stale(); stale {
		b.Stale = append(b.Stale, instance)
		e.Timeline, e.Kind, e.Name = instance, history.Stale, history.RefusedAll
	} else if view, err := a.view(); err != nil {
		b.Failed = append(b.Failed, err.Error())
		e.Kind, e.Text = a.failure(), err.Error()
	} else {
		b.Writes = append(b.Writes, view.Write)
		e.Timeline, e.Kind, e.Value, e.Token = view.Instance, history.Write, view.Value, view.Fence
		if b.steps == nil {
			b.steps = make(map[string][]Step)
		}
		b.steps[e.Owner] = view.Steps
	}
	return e
}
