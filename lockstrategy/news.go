package lockstrategy

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// news is one connection on which all waiters of a process hear that locks were released.
//
// Nothing is guaranteed: a message may be lost while the connection is down. Every start of a
// subscription wakes the channel's waiters, because what was told before it is lost.
type news struct {
	client  RedisClient
	changed chan struct{} // holds one: the set of channels with waiters changed

	mu      sync.Mutex
	waiters map[string]map[chan struct{}]struct{} // by channel
	hearing map[string]bool                       // channels that the server has confirmed
	stop    context.CancelFunc                    // nil until somebody waits
	stopped chan struct{}
	closed  bool
}

func newNews(client RedisClient) *news {
	return &news{
		client:  client,
		changed: make(chan struct{}, 1),
		waiters: make(map[string]map[chan struct{}]struct{}),
		hearing: make(map[string]bool),
		stopped: make(chan struct{}),
	}
}

// join returns a channel that receives when a waiter should look again: soon, since what was told
// before it joined has been missed, and at each message. leave must be called; neither blocks.
func (n *news) join(channel string) (wake <-chan struct{}, leave func()) {
	w := make(chan struct{}, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiters[channel] == nil {
		n.waiters[channel] = make(map[chan struct{}]struct{})
		n.announceLocked()
	}
	n.waiters[channel][w] = struct{}{}
	if n.hearing[channel] {
		w <- struct{}{}
	}
	if n.stop == nil && !n.closed {
		var ctx context.Context
		ctx, n.stop = context.WithCancel(context.Background())
		go n.listen(ctx)
	}
	return w, func() { n.leave(channel, w) }
}

func (n *news) leave(channel string, w chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.waiters[channel], w)
	if len(n.waiters[channel]) == 0 {
		delete(n.waiters, channel)
		n.announceLocked()
	}
}

func (n *news) announceLocked() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// listen subscribes to what has waiters and passes on what it hears. go-redis reconnects and
// subscribes again by itself; the confirmation then wakes the waiters.
func (n *news) listen(ctx context.Context) {
	defer close(n.stopped)
	pubsub := n.client.Subscribe(ctx)
	defer pubsub.Close()
	heard := pubsub.ChannelWithSubscriptions()
	subscribed := make(map[string]bool)
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.changed:
			n.resubscribe(ctx, pubsub, subscribed)
		case message, open := <-heard:
			if !open {
				return
			}
			switch m := message.(type) {
			case *redis.Message:
				n.wake(m.Channel, false)
			case *redis.Subscription:
				if m.Kind == "subscribe" {
					n.wake(m.Channel, true)
				}
			}
		}
	}
}

// resubscribe makes subscribed equal to the channels that have waiters. Its errors are go-redis's
// to repair: it remembers the channels and subscribes when it has reconnected.
func (n *news) resubscribe(ctx context.Context, pubsub *redis.PubSub, subscribed map[string]bool) {
	var add, remove []string
	n.mu.Lock()
	for channel := range n.waiters {
		if !subscribed[channel] {
			add = append(add, channel)
			subscribed[channel] = true
		}
	}
	for channel := range subscribed {
		if n.waiters[channel] == nil {
			remove = append(remove, channel)
			delete(subscribed, channel)
			delete(n.hearing, channel)
		}
	}
	n.mu.Unlock()
	if len(add) > 0 {
		_ = pubsub.Subscribe(ctx, add...)
	}
	if len(remove) > 0 {
		_ = pubsub.Unsubscribe(ctx, remove...)
	}
}

// wake lets every waiter of channel look again. Behind a gate there is one; without a gate the
// fastest wins, and nobody's message is lost with a waiter that has just given up.
func (n *news) wake(channel string, confirmed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if confirmed && n.waiters[channel] != nil {
		n.hearing[channel] = true
	}
	for w := range n.waiters[channel] {
		select {
		case w <- struct{}{}:
		default: // it has not looked since the last message
		}
	}
}

// close ends the connection and waits until its goroutine has ended. Waiters go by their timers.
func (n *news) close() error {
	n.mu.Lock()
	stop := n.stop
	n.closed = true
	n.mu.Unlock()
	if stop != nil {
		stop()
		<-n.stopped
	}
	return nil
}
