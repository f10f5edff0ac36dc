package pubsub

import (
	"context"
	"time"
)

// Processes that wait for a key take turns like this. A release is a message, and tells how many other processes have received it. Before
// the process that released asks for the key again, it lets as many messages of others pass: then each of them has had its turn.

// Published is the message of a release.
type Published struct {
	Others  int64 // other processes that have received it; below 0: unknown, because nothing was published or nobody answered
	channel *channel
	passed  int // messages of others on the channel before it
}

// Publish calls send, which publishes one message on a channel and returns how many processes received it; below 0: it published nothing.
// Processes whose user may not subscribe are not counted.
func (h *Hub) Publish(name string, send func() (received int64, err error)) (*Published, error) {
	p := h.publishing(name)
	received, err := send()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch p.Others = received; {
	case err != nil:
		p.Others = -1
	case received > 0 && p.channel != nil:
		p.Others-- // this process
		return p, nil
	}
	if p.channel != nil { // nothing was published, or nobody received it: this process will not, either
		p.channel.own = max(0, p.channel.own-1)
	}
	return p, err
}

// publishing notes that a message of this process will come, if it is subscribed.
func (h *Hub) publishing(name string) *Published {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	if c == nil || !c.subscribed {
		return new(Published)
	}
	c.own++
	return &Published{channel: c, passed: c.others}
}

const (
	// yieldTo is the time for a process to ask for a key after it was notified (docs/scale.md, "One waiter each").
	yieldTo      = 3 * time.Millisecond
	longestYield = 100 * time.Millisecond // for many processes: one turn
)

// Yield returns when each process that was notified by p has had its turn, or ctx ends. When no message comes for a while, it asks whether
// the key is held. If it is free, nobody wants it, and Yield returns: a process that listens without wanting the key, or has died, costs
// yieldTo, and many of them cost longestYield. If it is held, the message of its release will come.
func (h *Hub) Yield(ctx context.Context, name string, p *Published, held func() bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	heard := make(chan struct{}, 1)
	defer h.Listen(name, func(bool) {
		select {
		case heard <- struct{}{}:
		default:
		}
	})()
	patience := min(time.Duration(p.Others)*yieldTo, longestYield)
	for h.missing(name, p) > 0 && waitToHear(ctx, heard, patience, held) {
	}
}

// missing is how many of those that were notified by p have not had their turn.
func (h *Hub) missing(name string, p *Published) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	switch c {
	case nil:
		return p.Others
	case p.channel:
		return p.Others - int64(c.others-p.passed)
	}
	return p.Others - int64(c.others) // it was subscribed to after the release
}

// waitToHear waits for a message. It reports false when none has come for patience and the key is free, or ctx has ended.
func waitToHear(ctx context.Context, heard <-chan struct{}, patience time.Duration, held func() bool) bool {
	for {
		select {
		case <-heard:
			return true
		case <-time.After(patience):
		case <-ctx.Done():
			return false
		}
		if !held() {
			return false
		}
		patience = time.Second // the message of its release will come, unless it gets lost
	}
}
