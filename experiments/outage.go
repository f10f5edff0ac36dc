package experiments

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Outage is the record of bursts of page views during which the master of Redis is killed.
type Outage struct {
	PageviewBurst               // all bursts together; without Final when the counter was never read again
	Statuses      map[int]int   // how many requests got which status; 0: no answer
	ReadAfter     time.Duration // from the order to kill to the first time the counter could be read; 0: not within the time allowed
	BackAfter     time.Duration // the same, to the first view that was confirmed again
}

// Pauses of the questions after the burst.
const (
	askEvery   = 100 * time.Millisecond
	askAtMost  = 3 * time.Second  // for one answer
	readWithin = 30 * time.Second // of what is left at the end
)

// RunOutage resets the counter, calls kill, and sends bursts of views to version, each of users at
// once, until the master is dead. From then on it also asks for the counter, and then for one view
// more, until they are there or within is over. An error means that there is no record.
func RunOutage(ctx context.Context, target Target, version string, users int, kill func(context.Context) error, within time.Duration) (Outage, error) {
	o := Outage{PageviewBurst: PageviewBurst{Version: version}, Statuses: map[int]int{}}
	if err := target.call(ctx, http.MethodPut, "/pview", `{"value": 0}`, nil); err != nil {
		return o, err
	}
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	bursting, missed := context.WithCancel(ctx)
	defer missed()
	began, dead := time.Now(), make(chan struct{})
	var killed error
	var probe *Write
	var watching sync.WaitGroup
	watching.Go(func() {
		if killed = kill(ctx); killed != nil {
			missed()
			return
		}
		close(dead)
		probe = o.watch(asking, target, began)
	})
	err := o.bursts(bursting, target, users, dead)
	watching.Wait()
	switch {
	case killed != nil:
		return o, fmt.Errorf("the master was not killed: %w", killed)
	case err != nil:
		return o, err
	}
	if probe != nil {
		o.Writes = append(o.Writes, *probe)
	}
	var counter struct{ Value int64 }
	if o.ReadAfter > 0 {
		err = target.call(ctx, http.MethodGet, "/pview", "", &counter)
	}
	o.Final = counter.Value
	return o, err
}

// bursts sends one burst after the other until dead is closed and somebody has felt it.
func (o *Outage) bursts(ctx context.Context, target Target, users int, dead <-chan struct{}) error {
	for {
		requests := make([]*http.Request, users)
		for i := range requests {
			requests[i] = target.request(http.MethodPost, "/"+o.Version+"/pview")
		}
		answers, _, err := burst(ctx, target.URL, requests)
		o.add(answers)
		if err != nil {
			return err
		}
		select {
		case <-dead:
			if len(o.Failed) > 0 {
				return nil
			} // else it died between two bursts, and nobody has felt it yet
		default: // it was over before the master died
		}
	}
}

func (o *Outage) add(answers []answer) {
	o.Took += took(answers)
	o.Users += len(answers)
	for _, a := range answers {
		o.Statuses[a.Status]++
	}
	o.sort(answers)
}

// watch notes when the counter can be read and when a view is confirmed. The view counts.
func (o *Outage) watch(ctx context.Context, target Target, began time.Time) *Write {
	if ask(ctx, target, http.MethodGet, "/pview", nil) != nil {
		return nil
	}
	o.ReadAfter = time.Since(began)
	var write Write
	if ask(ctx, target, http.MethodPost, "/"+o.Version+"/pview", &write) != nil {
		return nil
	}
	o.BackAfter = time.Since(began)
	return &write
}

// patiently reads until there is an answer or readWithin is over: a burst may have ended in the middle
// of a failover. The error is the last one.
func patiently(ctx context.Context, target Target, path string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	return ask(ctx, target, http.MethodGet, path, result)
}

// ask asks until there is an answer or ctx ends: then the error is that of the last attempt.
func ask(ctx context.Context, target Target, method, path string, result any) error {
	for {
		one, cancel := context.WithTimeout(ctx, askAtMost)
		err := target.call(one, method, path, "", result)
		cancel()
		if err == nil {
			return nil
		}
		pause := time.NewTimer(askEvery)
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}
