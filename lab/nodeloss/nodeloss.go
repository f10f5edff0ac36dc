// Package nodeloss kills a node of a cluster during bursts of page views, and judges what is left.
package nodeloss

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"locklab/lab/burst"
)

// Loss is the record of bursts of v3 during which a node is killed.
type Loss struct {
	burst.Outage
	Whole  time.Duration // from the order to kill to the first burst that two instances answered whole
	Master string        // of the counter, which ended with the node, and which the topology replaces: a confirmed view may be lost; or empty
}

// Users is the number of simultaneous page views of a burst.
const Users = 666

// bounds are far above what was measured, because the machine may be busy.
type bounds struct{ back, whole, try time.Duration }

var usual = bounds{
	back:  2 * time.Minute,
	whole: 5 * time.Minute,  // Kubernetes takes a node for dead after 50 s
	try:   20 * time.Second, // a burst; a node that is gone ends no connection
}

const countEvery = 20 * time.Millisecond

// NoAnswer is how many views may have counted without an answer.
func (l *Loss) NoAnswer() int { return len(l.Failed) + len(l.Repeated) }

// Killed is the killed master of the counter, as a page shows it.
func (l *Loss) Killed() string { return cmp.Or(l.Master, "none") }

// Run sends bursts of v3, and calls kill when the first is on its way. Then it sends bursts until one is answered whole. master is the
// master of the counter, if kill ends it. back is told how long after the start a view was confirmed again; 0: not within two minutes. An
// error says what must not be, or why there is no record.
func Run(
	ctx context.Context, target burst.Target, master string, kill func(context.Context) error, back func(time.Duration),
) (Loss, error) {
	return usual.run(ctx, target, master, kill, back)
}

func (b bounds) run(
	ctx context.Context, target burst.Target, master string, kill func(context.Context) error, back func(time.Duration),
) (Loss, error) {
	l := Loss{Master: master}
	var killed time.Time
	first := func(ctx context.Context) error {
		if err := counted(ctx, target, Users/10, b.back); err != nil {
			return err
		}
		killed = time.Now()
		return kill(ctx)
	}
	var err error
	if l.Outage, err = burst.RunOutage(ctx, target, "v3", Users, first, b.back); err != nil {
		return l, err
	}
	back(l.BackAfter)
	for l.Whole == 0 && ctx.Err() == nil && time.Since(killed) < b.whole {
		one, cancel := context.WithTimeout(ctx, b.try)
		views, err := burst.RunViews(one, target, "v3", Users, burst.Simultaneous)
		cancel()
		if err == nil && views.OutcomeOf(2).Err == nil {
			l.Whole = time.Since(killed)
		}
	}
	if err := ctx.Err(); err != nil {
		return l, err
	}
	return l, l.judge(b)
}

// counted waits until the counter shows so many views: then a burst is on its way. An answer other than 200 is an error, and so is a
// counter that shows fewer views when within is over.
func counted(ctx context.Context, target burst.Target, views int, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		now, err := counter(ctx, target)
		if err != nil || now >= views {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the counter shows %d, not %d views: %w", now, views, ctx.Err())
		case <-tick.C:
		}
	}
}

// counter reads the counter once.
func counter(ctx context.Context, target burst.Target) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.URL+"/pview", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("GET /pview: %s", response.Status)
	}
	var answer struct{ Value int }
	err = json.NewDecoder(response.Body).Decode(&answer)
	return answer.Value, err
}

// judge says what must not be. A view without an answer may have counted, so the final value lies between the confirmed views and all. A
// master that dies loses the confirmed views that it has not sent to a replica. The lab shows that elsewhere, so it is no failure here.
func (l *Loss) judge(b bounds) error {
	confirmed, final := len(l.Writes), int(l.Final)
	switch {
	case l.ReadAfter == 0 || l.BackAfter == 0:
		return fmt.Errorf("the service is not back within %s", b.back)
	case l.Whole == 0:
		return fmt.Errorf("requests fail %s after the kill", b.whole)
	case final > confirmed+l.NoAnswer():
		return fmt.Errorf("the counter shows %d after %d confirmed views and %d without an answer", final, confirmed, l.NoAnswer())
	case l.Master == "" && (l.Lost() > 0 || l.Inside()+l.Across() > 0):
		return fmt.Errorf("%d views are lost and %d values are written twice, although the master of the counter did not die",
			l.Lost(), l.Inside()+l.Across())
	}
	return nil
}
