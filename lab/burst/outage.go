package burst

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Outage is the record of bursts of page views during which the master of Redis is killed.
type Outage struct {
	Views                   // all bursts together, and the last view; without Final when the counter was never read again
	Repeated  []string      // the error of each view before the last one that was sent when the bursts had ended; it may have counted
	Statuses  map[int]int   // how many requests got which status; 0: no answer
	ReadAfter time.Duration // from the order to kill to the first time the counter could be read; 0: not within the time allowed
	BackAfter time.Duration // the same, to the first view that was confirmed again
}

// RunOutage resets the counter, calls kill, and sends bursts of views to version, each of users simultaneous requests,
// until the master is dead. From then on it also reads the counter until it can be read, and then sends one view after the other until one
// is confirmed. It ends when within is over. Each view that was not confirmed may have counted. An error means that there is no record.
func RunOutage(
	ctx context.Context, target Target, version string, users int, kill func(context.Context) error, within time.Duration,
) (Outage, error) {
	o := Outage{Views: Views{Version: version}, Statuses: map[int]int{}}
	if err := target.reset(ctx); err != nil {
		return o, err
	}
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	bursting, missed := context.WithCancel(ctx)
	defer missed()
	began, dead := time.Now(), make(chan struct{})
	var killed error
	var last *Write
	var repeated []string // while the bursts write theirs
	var watching sync.WaitGroup
	watching.Go(func() {
		if killed = kill(ctx); killed != nil {
			missed()
			return
		}
		close(dead)
		last, repeated = o.watch(asking, target, began)
	})
	err := o.bursts(bursting, asking, target, users, dead)
	watching.Wait()
	switch {
	case killed != nil:
		return o, fmt.Errorf("nothing was killed: %w", killed)
	case err != nil:
		return o, err
	}
	o.Repeated = repeated
	if last != nil {
		o.Writes = append(o.Writes, *last)
	}
	if o.ReadAfter > 0 {
		o.Final, err = target.counter(ctx, within) // an instance may still connect to the dead master, although another one has answered before
	}
	return o, err
}

// bursts sends one burst after the other until dead is closed and a request has failed, or until asking has ended.
func (o *Outage) bursts(ctx, asking context.Context, target Target, users int, dead <-chan struct{}) error {
	for {
		one, cancel := context.WithTimeout(ctx, burstWithin)
		answers, _, err := Simultaneous(one, target.URL, target.views(o.Version, users))
		cancel()
		o.add(answers)
		switch {
		case err == nil || ctx.Err() == nil && answers != nil:
		case ctx.Err() == nil && closed(dead):
			return nil // what died takes no connections any more
		default:
			return err
		}
		select {
		case <-dead:
			if len(o.Failed) > 0 || asking.Err() != nil {
				return nil
			} // else it died between two bursts, and no request has failed yet
		default: // the burst ended before the master died
		}
	}
}

// burstWithin bounds one burst: what died with its network ends no connection, so that an answer would be awaited for ever. A request
// without an answer until then has failed, and may have counted.
const burstWithin = time.Minute

func (o *Outage) add(answers []answer) {
	o.Took += took(answers)
	o.Users += len(answers)
	for i, a := range answers {
		o.Statuses[a.Status]++
		o.record(i, a)
	}
}

// watch measures when the counter can be read and when a view is confirmed. It returns that view, and the errors of those before.
func (o *Outage) watch(ctx context.Context, target Target, began time.Time) (last *Write, repeated []string) {
	if target.retry(ctx, http.MethodGet, "/pview", nil, ignored) != nil {
		return nil, nil
	}
	o.ReadAfter = time.Since(began)
	var write Write
	failed := func(err error) { repeated = append(repeated, err.Error()) }
	if target.retry(ctx, http.MethodPost, "/"+o.Version+"/pview", &write, failed) != nil {
		return nil, repeated
	}
	o.BackAfter = time.Since(began)
	return &write, repeated
}
