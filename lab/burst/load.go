package burst

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Bounds of a load.
const (
	MostClients = 50
	MostRate    = 1000 // page views per second
	LongestLoad = 3 * time.Minute
	MostAnswers = 200_000          // each is kept until the end
	LastAnswers = 20 * time.Second // for those that are missing when a load is stopped
)

// Errors of a load that has no result.
var (
	ErrClients = fmt.Errorf("choose from 1 to %d clients", MostClients)
	ErrRate    = fmt.Errorf("choose from 1 to %d page views per second, or 0 for as many as are answered", MostRate)
	ErrStopped = errors.New("the load was stopped before it began; start it again")
	ErrSilent  = fmt.Errorf("%s after the stop, some requests have no answer; resume the servers, and start the load again", LastAnswers)
)

// Load is page views that go on until they are stopped, or reach a bound. Its Meter counts the answers meanwhile.
type Load struct {
	Version string
	Clients int
	Rate    int // page views per second, at random times; 0: each client sends the next one when it has its answer
	Meter

	stopped context.Context
	stop    func()
}

// NewLoad returns a load that has not begun. The error is ErrClients or ErrRate.
func NewLoad(version string, clients, rate int) (*Load, error) {
	switch {
	case clients < 1 || clients > MostClients:
		return nil, ErrClients
	case rate < 0 || rate > MostRate:
		return nil, ErrRate
	}
	l := &Load{Version: version, Clients: clients, Rate: rate}
	l.stopped, l.stop = context.WithCancel(context.Background())
	return l, nil
}

// Stop ends it, when the last answers have come. Before it began it does not begin.
func (l *Load) Stop() { l.stop() }

// Stopping reports whether it was stopped.
func (l *Load) Stopping() bool { return l.stopped.Err() != nil }

// Send sends the page views, and returns what became of them when the load has ended. The error is ErrStopped, ErrSilent, that of ctx, or
// one of the target. Then there is no record. tell is told of the answers, and of each second.
func (l *Load) Send(ctx context.Context, target Target, tell func(Event)) (Views, error) {
	if l.Stopping() {
		return Views{}, ErrStopped
	}
	defer l.stop()
	defer time.AfterFunc(LongestLoad, l.stop).Stop()
	var telling sync.Mutex
	told := func(e Event) {
		telling.Lock()
		defer telling.Unlock()
		tell(e)
	}
	answering, silent := context.WithCancel(ctx)
	defer silent()
	defer context.AfterFunc(l.stopped, func() {
		told(Stopping{})
		time.AfterFunc(LastAnswers, silent)
	})()
	defer l.begin(told)()
	due := &arrivals{rate: l.Rate, stop: l.stopped.Done()}
	views, err := sustain(answering, target, l.Version, l.Clients, due, func(e Event) {
		if l.add(e.(Answered)) >= MostAnswers {
			l.stop()
		}
		told(e)
	})
	if err != nil && ctx.Err() == nil && answering.Err() != nil {
		err = ErrSilent
	}
	return views, err
}
