package burst

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"locklab/lab/history"
)

// Calls is the record of one burst of calls to the supplier (A0): which of them were made and refused, and what the supplier saw.
type Calls struct {
	Algorithm     string
	Made, Refused []string // the instance of each
	Failed        []string // the error of each other request; it may have reached the supplier
	Seen          int      // calls in the supplier's log
	Over          int      // the most calls above its limit in one window

	Began  time.Time
	Events []history.Event // each request, with the times since Began
}

// RunCalls deletes the supplier's log of an algorithm, sends so many requests to it, and reads the log. An error means that there is no
// record.
func RunCalls(ctx context.Context, target Target, algorithm string, requests int, send Send) (Calls, error) {
	b, log := Calls{Algorithm: algorithm}, "/supplier/"+algorithm+"/rates"
	if err := target.call(ctx, http.MethodDelete, log, "", nil); err != nil {
		return b, err
	}
	path := func(int) string { return "/" + algorithm + "/supplier/call" }
	answers, began, err := send(ctx, target.URL, target.requests(requests, path))
	if err != nil {
		return b, err
	}
	b.Began, b.Events = began, eventsOf(answers, b.record)
	var seen struct{ Calls, Over int }
	err = target.read(ctx, log, readTimeout, &seen)
	b.Seen, b.Over = seen.Calls, seen.Over
	return b, err
}

// record adds an answer to b, and returns it as an event: a call when it was made.
func (b *Calls) record(i int, a answer) history.Event {
	e := history.Event{Timeline: balancer, Key: "supplier", Owner: fmt.Sprintf("request %d", i+1)}
	var from struct{ Instance string }
	if err := a.into(&from, http.StatusOK, http.StatusTooManyRequests); err != nil {
		b.Failed = append(b.Failed, err.Error())
		e.Kind, e.Text = history.Note, err.Error()
		return e
	}
	e.Timeline = from.Instance
	if a.Status == http.StatusOK {
		b.Made, e.Kind = append(b.Made, from.Instance), history.Call
	} else {
		b.Refused, e.Kind, e.Text = append(b.Refused, from.Instance), history.Refuse, "come back later"
	}
	return e
}

// Sound says why the record proves nothing about so many instances.
func (b Calls) Sound(instances int) error {
	if len(b.Failed) > 0 {
		return failures(b.Failed)
	}
	if b.Seen != len(b.Made) {
		return fmt.Errorf("%d calls were made, and the supplier has seen %d", len(b.Made), b.Seen)
	}
	return even(count(append(b.Made, b.Refused...)), len(b.Made)+len(b.Refused), instances, false)
}
