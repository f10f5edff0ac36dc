// Package pubsub receives messages from Redis for many listeners over few connections, and replaces connections that fail.
//
// A message may get lost while a connection is down. Every listener is told when its channel has been subscribed to, at first and
// again after each loss. Then it can ask the server what it has missed. It is told of the loss, too.
package pubsub

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// IdleTimeout is how long a channel without a listener stays subscribed. A caller that has listened mostly does so again soon,
// and a subscription costs two commands (row hand-over of docs/benchmark.md).
const IdleTimeout = 10 * time.Millisecond

// tryFor is how long a process that tries to subscribe waits for the answer.
const tryFor = time.Second

// Hub receives from one server, or one cluster. Plain channels share a connection. A sharded channel has a connection of its own:
// sharded channels may live on different servers, and move.
type Hub struct {
	client  redis.UniversalClient
	sharded bool
	running sync.WaitGroup
	life    context.Context // ends with Close
	end     context.CancelFunc

	mu       sync.Mutex
	closed   bool
	channels map[string]*channel
	plain    *connection // of all plain channels; nil until there is one

	publish, subscribe right
}

// right is what the server allows this process to do. A process takes it that the others have the same rights.
type right struct {
	tried   bool // the process has found out, or is about to
	refused bool // the last answer
}

// channel is one that is subscribed to, or soon will be.
type channel struct {
	connection *connection
	subscribed bool // the server has confirmed it
	own        int  // messages that this process has published and not yet received
	byOthers   int  // messages of other processes since the last own one
	listeners  map[*listener]struct{}
	left       time.Time // when the last listener left
	leaving    bool      // a timer looks whether it is idle
}

type listener struct{ tell func(message bool) }

// New returns a hub for client, with sharded or plain channels. Close it before client.
func New(client redis.UniversalClient, sharded bool) *Hub {
	h := &Hub{client: client, sharded: sharded, channels: make(map[string]*channel)}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// Publish is the command that publishes on the hub's channels.
func (h *Hub) Publish() string {
	if h.sharded {
		return "spublish"
	}
	return "publish"
}

// Listen calls tell(true) for each message on a channel until stop is called, and tell(false) when messages may have been lost. Then the
// channel has just been subscribed to, its connection is lost, or the server refuses to publish or subscribe. The hub is locked
// meanwhile: tell must not block, call the hub, or call stop. A hub that is closed tells nothing.
func (h *Hub) Listen(name string, tell func(message bool)) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return func() {}
	}
	c := h.channels[name]
	if c == nil {
		c = &channel{connection: h.connectionLocked(name), listeners: make(map[*listener]struct{})}
		h.channels[name] = c
		h.running.Go(c.connection.update)
	}
	l := &listener{tell}
	c.listeners[l] = struct{}{}
	if c.subscribed {
		tell(false)
	}
	return func() { h.leave(name, c, l) }
}

func (h *Hub) leave(name string, c *channel, l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(c.listeners, l)
	c.left = time.Now()
	if len(c.listeners) == 0 && !c.leaving {
		c.leaving = true
		time.AfterFunc(IdleTimeout, func() { h.unsubscribe(name, c) })
	}
}

// unsubscribe gives a channel up that nobody listens to, when it has been idle for long enough.
func (h *Hub) unsubscribe(name string, c *channel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch idle := time.Since(c.left); {
	case len(c.listeners) > 0 || h.closed || h.channels[name] != c:
		c.leaving = false
	case idle < IdleTimeout:
		time.AfterFunc(IdleTimeout-idle, func() { h.unsubscribe(name, c) })
	default:
		delete(h.channels, name)
		h.running.Go(c.connection.update)
	}
}

// Subscribed reports whether this process can rely on the messages of a channel. The server sends them, and has not refused that this
// process publishes.
func (h *Hub) Subscribed(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	return c != nil && c.subscribed && !h.publish.refused
}

// TryPublish finds out in the background whether this process may publish, unless it knows that already. A process that waits without
// having published learns in this way whether the others can notify it. If not, its listeners are told.
func (h *Hub) TryPublish(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tryLocked(&h.publish, func() error { return h.publishBeside(h.life, name) })
}

// TryPublishAgain does the same, although this process knew: the right may have been taken away. A process learns that it is back at its
// next release.
func (h *Hub) TryPublishAgain(name string) {
	h.mu.Lock()
	h.publish.tried = false
	h.mu.Unlock()
	h.TryPublish(name)
}

// Try publishes and subscribes once, beside a channel, and returns why the server refuses that.
func (h *Hub) Try(ctx context.Context, name string) error {
	return cmp.Or(h.publishBeside(ctx, name), h.subscribeBeside(ctx, name))
}

// publishBeside publishes on another channel than name: it notifies nobody.
func (h *Hub) publishBeside(ctx context.Context, name string) error {
	return h.client.Do(ctx, h.Publish(), name+":try", "").Err()
}

// tryLocked asks the server for a right, once, in the background.
func (h *Hub) tryLocked(r *right, try func() error) {
	if r.tried || h.closed {
		return
	}
	r.tried = true
	h.running.Go(func() {
		var reply redis.Error
		if !errors.As(try(), &reply) {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.answeredLocked(r, true)
	})
}

// answeredLocked notes a right. When it is refused, listeners that rely on messages are to ask the server instead.
func (h *Hub) answeredLocked(r *right, refused bool) {
	if refused && !r.refused {
		for _, c := range h.channels {
			c.tell(false)
		}
	}
	*r = right{tried: true, refused: refused}
}

// subscribeBeside subscribes to another channel than name, so that nobody takes this process for one that waits. When nobody may
// subscribe, a message reaches nobody although others wait.
func (h *Hub) subscribeBeside(ctx context.Context, name string) error {
	subscribe := h.client.Subscribe
	if h.sharded {
		subscribe = h.client.SSubscribe
	}
	s := subscribe(ctx, name+":try")
	defer s.Close()
	defer context.AfterFunc(h.life, func() { _ = s.Close() })()
	_, err := s.ReceiveTimeout(ctx, tryFor)
	return err
}

// ByOthers returns how many messages of other processes arrived since the last message of this process. It counts only while the channel
// is subscribed.
func (h *Hub) ByOthers(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.channels[name]; c != nil {
		return c.byOthers
	}
	return 0
}

// Values for published, in place of the number of subscribers.
const (
	Refused     = -1 // the user may not publish, or not subscribe
	Unpublished = -2 // nothing was published, as far as is known
)

// Publishing says that this process is about to publish a message on a channel. Then the process must call published with the
// server's reply: how many subscribers were notified, Refused or Unpublished. It returns how many of them are other processes, or
// Refused.
func (h *Hub) Publishing(name string) (published func(subscribers int) (listeners int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tryLocked(&h.subscribe, func() error { return h.subscribeBeside(h.life, name) })
	c := h.channels[name]
	receives := c != nil && c.subscribed
	if c != nil {
		c.byOthers = 0
	}
	if receives {
		c.own++
	}
	return func(subscribers int) (listeners int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if subscribers != Unpublished {
			h.answeredLocked(&h.publish, subscribers == Refused)
		}
		switch {
		case receives && subscribers >= 0:
			subscribers--
		case receives:
			c.own = max(0, c.own-1)
		}
		if subscribers == Refused || h.subscribe.refused {
			return Refused
		}
		return max(subscribers, 0)
	}
}

// Close ends all connections, and waits until their goroutines have ended.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.end()
	for _, c := range h.channels {
		c.connection.stop()
	}
	if h.plain != nil {
		h.plain.stop()
	}
	h.mu.Unlock()
	h.running.Wait()
}

// deliver tells the listeners what connection s has received, and reports whether s is still the right connection.
func (h *Hub) deliver(s *connection, received any) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch m := received.(type) {
	case *redis.Message:
		if c := h.channels[m.Channel]; c != nil && c.connection == s {
			c.byOthers++
			if c.own > 0 {
				c.own, c.byOthers = c.own-1, 0
			}
			c.tell(true)
		}
	case *redis.Subscription:
		switch c := h.channels[m.Channel]; {
		case m.Kind == "sunsubscribe": // the slot has moved
			return false
		case c == nil || c.connection != s:
		case m.Kind == "subscribe", m.Kind == "ssubscribe":
			c.subscribed, c.own, h.subscribe = true, 0, right{tried: true}
			c.tell(false)
		}
	}
	return true
}

func (c *channel) tell(message bool) {
	for l := range c.listeners {
		l.tell(message)
	}
}

// lost tells the listeners that s receives nothing.
func (h *Hub) lost(s *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.channels {
		if c.connection == s && c.subscribed {
			c.subscribed = false
			c.tell(false)
		}
	}
}

// wanted returns the channels that s is to receive.
func (h *Hub) wanted(s *connection) map[string]*channel {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]*channel)
	for name, c := range h.channels {
		if c.connection == s {
			all[name] = c
		}
	}
	return all
}

func (h *Hub) connectionLocked(name string) *connection {
	if !h.sharded && h.plain != nil {
		return h.plain
	}
	s := &connection{hub: h}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if h.sharded {
		s.shard = name
	} else {
		h.plain = s
	}
	h.running.Go(s.run)
	return s
}
