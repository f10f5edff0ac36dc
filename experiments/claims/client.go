package claims

import (
	"context"
	"fmt"

	"locklab/experiments"
	"locklab/experiments/worker"
	"locklab/history"
	"locklab/lockstrategy"
)

// client is somebody who wants a lock. What it believes is recorded.
type client struct {
	t        *experiments.Trial
	lane     string
	strategy lockstrategy.Strategy
	key      string
	attempts int
	settles  bool // in a contest, nobody else comes before it has confirmed its lease once
}

func newClient(t *experiments.Trial, lane string, strategy lockstrategy.Strategy) *client {
	return &client{t: t, lane: lane, strategy: strategy, key: lockKey}
}

// held is a lock that a client has, or believes to have.
type held struct {
	client *client
	lease  *lockstrategy.Lease
	owner  string
	fence  uint64
	ended  chan struct{} // closed when watch is over; nil: nobody watches
}

// event fills in who it is.
func (h *held) event(e history.Event) history.Event {
	e.Timeline, e.Owner, e.Token = h.client.lane, h.owner, h.fence
	return e
}

func (h *held) record(kind history.Kind, text string) {
	h.client.t.Record(h.event(history.Event{Kind: kind, Key: h.client.key, Text: text}))
}

// acquire asks for the lock. A loss is recorded when the lease's context ends, as a holder would learn of it.
func (c *client) acquire(ctx context.Context, options ...lockstrategy.Option) (*held, error) {
	c.attempts++
	h := &held{client: c, owner: fmt.Sprintf("%s%d", c.lane, c.attempts)}
	h.record(history.Request, "")
	lease, err := c.strategy.Acquire(ctx, c.key, options...)
	if err != nil {
		h.record(history.Refuse, reason(err))
		return nil, err
	}
	h.lease, h.fence = lease, lease.FencingToken()
	h.record(history.Grant, "")
	return h, nil
}

// watch records the loss at the moment at which the lease's context ends, or stops with ctx.
func (h *held) watch(ctx context.Context) {
	h.ended = make(chan struct{})
	h.client.t.Go(func() {
		defer close(h.ended)
		select {
		case <-h.lease.Context().Done():
			h.record(history.Lose, reason(context.Cause(h.lease.Context())))
		case <-ctx.Done():
		}
	})
}

// lost waits until the holder has learnt of the loss, which is recorded, or until ctx ends.
func (h *held) lost(ctx context.Context) error {
	if h.ended == nil {
		h.watch(ctx)
	}
	<-h.ended
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s has not learnt of its loss: %w", h.client.lane, err)
	}
	return nil
}

// release gives the lock back. What the lock says about that is recorded, and no failure of the run.
func (h *held) release(ctx context.Context) error {
	h.record(history.Release, "")
	err := h.lease.Release(ctx)
	h.record(history.Released, reason(err))
	return err
}

// reason is an error in a few words.
func reason(err error) string { return worker.Reason(err) }
