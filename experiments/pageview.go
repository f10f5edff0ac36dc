package experiments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"locklab/history"
)

// PageviewBurst is the record of one burst of page views (A4): what each request wrote and where,
// and what the counter held at the end.
type PageviewBurst struct {
	Version string
	Users   int // requests at once
	Writes  []Write
	Stale   []string // the instance of each request that was refused as a stale holder's: it did not count
	Failed  []string // what went wrong with each other request that has no Write; it may have counted
	Final   int64
	Took    time.Duration

	Began  time.Time       `json:"-"`
	Events []history.Event `json:"-"` // each request, with the times since Began
}

// Write is one view that was confirmed.
type Write struct {
	Instance string
	Value    int64
}

// CounterKey is the key of the counter of views, and its name in a history.
const CounterKey = "pview"

// RunPageview resets the counter behind target, sends users views at once to version, and reads the
// counter. An error means that there is no record.
func RunPageview(ctx context.Context, target Target, version string, users int) (PageviewBurst, error) {
	return runPageview(ctx, target, version, users, burst)
}

// RunPageviewInTurn is [RunPageview] with one request at a time.
func RunPageviewInTurn(ctx context.Context, target Target, version string, users int) (PageviewBurst, error) {
	return runPageview(ctx, target, version, users, inTurn)
}

func runPageview(ctx context.Context, target Target, version string, users int, how send) (PageviewBurst, error) {
	record := PageviewBurst{Version: version, Users: users}
	if err := target.call(ctx, http.MethodPut, "/pview", `{"value": 0}`, nil); err != nil {
		return record, err
	}
	requests := make([]*http.Request, users)
	for i := range requests {
		requests[i] = target.request(http.MethodPost, "/"+version+"/pview")
	}
	answers, began, err := how(ctx, target.URL, requests)
	if err != nil {
		return record, err
	}
	record.Took, record.Began, record.Events = took(answers), began, viewed(answers)
	record.sort(answers)
	var counter struct{ Value int64 }
	err = patiently(ctx, target, "/pview", &counter)
	record.Final = counter.Value
	return record, err
}

// sort files each answer where it belongs.
func (b *PageviewBurst) sort(answers []answer) {
	for _, a := range answers {
		var write Write
		if instance, stale := a.stale(); stale {
			b.Stale = append(b.Stale, instance)
		} else if err := a.into(&write, http.StatusOK); err != nil {
			b.Failed = append(b.Failed, err.Error())
		} else {
			b.Writes = append(b.Writes, write)
		}
	}
}

// Lost is how many confirmed views the counter does not show.
func (b PageviewBurst) Lost() int { return max(0, len(b.Writes)-int(b.Final)) }

// Surplus is how much the counter shows beyond the confirmed views, when no other can have counted:
// then something counted twice.
func (b PageviewBurst) Surplus() int {
	if len(b.Failed) > 0 {
		return 0 // a view without an answer may have counted
	}
	return max(0, int(b.Final)-len(b.Writes))
}

// Inside counts the values that one instance wrote again after having written them. A lock in the
// process prevents it while the instance is alone. Beside another one it does not (against A4): the
// other sets the counter back, and the same values are written again.
func (b PageviewBurst) Inside() int {
	seen, n := map[Write]bool{}, 0
	for _, w := range b.Writes {
		if seen[w] {
			n++
		}
		seen[w] = true
	}
	return n
}

// Across counts the values that more than one instance wrote.
func (b PageviewBurst) Across() int {
	by := map[int64]map[string]bool{}
	for _, w := range b.Writes {
		if by[w.Value] == nil {
			by[w.Value] = map[string]bool{}
		}
		by[w.Value][w.Instance] = true
	}
	n := 0
	for _, instances := range by {
		if len(instances) > 1 {
			n++
		}
	}
	return n
}

// PerInstance counts the usable answers of each instance: views that were confirmed, and refused.
func (b PageviewBurst) PerInstance() map[string]int {
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

// Outcome is what the record shows: a breach when updates were lost, counted twice, or values were
// written twice.
func (b PageviewBurst) Outcome() Outcome {
	o := Outcome{Trials: 1, Err: b.Sound(2)}
	if b.Lost()+b.Surplus()+b.Inside()+b.Across() > 0 {
		o.Violations = 1
	}
	return o
}

// Sound says why the record proves nothing about so many instances.
func (b PageviewBurst) Sound(instances int) error {
	return errors.Join(failures(b.Failed), even(b.PerInstance(), b.Users, instances))
}

// failures says that some requests have no usable answer.
func failures(failed []string) error {
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d requests failed, the first: %s", len(failed), failed[0])
}

// even says whether requests did not reach so many instances in equal parts: then they prove nothing
// about that many.
func even(perInstance map[string]int, requests, instances int) error {
	for _, n := range perInstance {
		if n < requests/instances || n > (requests+instances-1)/instances {
			return fmt.Errorf("the instances did not get a %s of the requests each: %v", part(instances), perInstance)
		}
	}
	if len(perInstance) != instances {
		return fmt.Errorf("%d instances answered, not %d", len(perInstance), instances)
	}
	return nil
}

func part(of int) string {
	if of == 2 {
		return "half"
	}
	return fmt.Sprintf("part of %d", of)
}
