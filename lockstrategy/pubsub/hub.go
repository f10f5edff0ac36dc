// Package pubsub receives messages from Redis for many listeners over few connections, and replaces connections that fail.
//
// A message may get lost while a connection is down. Every listener is told when its channel has been subscribed to, at first and
// again after each loss. Then it can ask the server for the changes that it has missed. It is told of the loss, too.
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
	cancel  context.CancelFunc

	mu       sync.Mutex
	closed   bool
	channels map[string]*channel
	plain    *connection // of all plain channels; nil until there is one

	mayPublish, maySubscribe permission
}

// permission is a permission of this process on the server. The hub assumes that all processes have the same ones.
type permission struct {
	tried  bool // the process has found out, or is about to
	denied bool // the last answer
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
	h.life, h.cancel = context.WithCancel(context.Background())
	return h
}

// PublishCommand is the command that publishes on the hub's channels.
func (h *Hub) PublishCommand() string {
	if h.sharded {
		return "spublish"
	}
	return "publish"
}

// Listen calls tell(true) for each message on a channel until stop is called. It calls tell(false) when messages may have been lost: after
// a subscription, a lost connection, or a denied permission. The hub is locked meanwhile: tell must not block, call the hub, or call
// stop. A closed hub calls nothing.
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

// Subscribed reports whether this process can rely on the messages of a channel: it is subscribed, and may publish.
func (h *Hub) Subscribed(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	return c != nil && c.subscribed && !h.mayPublish.denied
}

// TryPublish tests in the background whether this process may publish, unless that is known. So a process that waits, and has never
// published, learns whether the others can notify it. If not, its listeners are told.
func (h *Hub) TryPublish(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tryLocked(&h.mayPublish, func() error { return h.publishBeside(h.life, name) })
}

// TryPublishAgain tests it although the result is known: the permission may have been taken away. A process learns that it is back at
// its next release.
func (h *Hub) TryPublishAgain(name string) {
	h.mu.Lock()
	h.mayPublish.tried = false
	h.mu.Unlock()
	h.TryPublish(name)
}

// Try publishes and subscribes once, beside a channel, and returns why the server refuses that.
func (h *Hub) Try(ctx context.Context, name string) error {
	return cmp.Or(h.publishBeside(ctx, name), h.subscribeBeside(ctx, name))
}

// publishBeside publishes on another channel than name: it notifies nobody.
func (h *Hub) publishBeside(ctx context.Context, name string) error {
	return h.client.Do(ctx, h.PublishCommand(), name+":try", "").Err()
}

// tryLocked tests a permission once, in the background.
func (h *Hub) tryLocked(p *permission, try func() error) {
	if p.tried || h.closed {
		return
	}
	p.tried = true
	h.running.Go(func() {
		var reply redis.Error
		if !errors.As(try(), &reply) {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.answeredLocked(p, true)
	})
}

// answeredLocked notes a permission. When it is denied, listeners are told: they cannot rely on messages any more.
func (h *Hub) answeredLocked(p *permission, denied bool) {
	if denied && !p.denied {
		for _, c := range h.channels {
			c.tell(false)
		}
	}
	*p = permission{tried: true, denied: denied}
}

// subscribeBeside subscribes to another channel than name, so that this process is not counted as a listener. Without the permission to
// subscribe, a message reaches nobody although others wait.
func (h *Hub) subscribeBeside(ctx context.Context, name string) error {
	subscribe := h.client.Subscribe
	if h.sharded {
		subscribe = h.client.SSubscribe
	}
	subscription := subscribe(ctx, name+":try")
	defer subscription.Close()
	defer context.AfterFunc(h.life, func() { _ = subscription.Close() })()
	_, err := subscription.ReceiveTimeout(ctx, tryFor)
	return err
}

// ByOthers returns the number of messages of other processes since the last message of this process. It counts only while the channel
// is subscribed.
func (h *Hub) ByOthers(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.channels[name]; c != nil {
		return c.byOthers
	}
	return 0
}

// Values in place of a number of subscribers.
const (
	Unknown     = -1 // the user may not publish, or not subscribe
	Unpublished = -2 // nothing was published, as far as is known
)

// Publishing is called before this process publishes a message on a channel. Then published is called with the server's reply: the number
// of subscribers that were notified, Unknown or Unpublished. It returns the number of other processes among them, or Unknown.
func (h *Hub) Publishing(name string) (published func(subscribers int) (listeners int)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tryLocked(&h.maySubscribe, func() error { return h.subscribeBeside(h.life, name) })
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
			h.answeredLocked(&h.mayPublish, subscribers == Unknown)
		}
		switch {
		case receives && subscribers >= 0:
			subscribers--
		case receives:
			c.own = max(0, c.own-1)
		}
		if subscribers == Unknown || h.maySubscribe.denied {
			return Unknown
		}
		return max(subscribers, 0)
	}
}

// Close ends all connections, and waits until their goroutines have ended.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.cancel()
	for _, c := range h.channels {
		c.connection.stop()
	}
	if h.plain != nil {
		h.plain.stop()
	}
	h.mu.Unlock()
	h.running.Wait()
}

// deliver passes on a reply of a connection. It reports false when the connection's channel has moved.
func (h *Hub) deliver(conn *connection, received any) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch m := received.(type) {
	case *redis.Message:
		if c := h.channels[m.Channel]; c != nil && c.connection == conn {
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
		case c == nil || c.connection != conn:
		case m.Kind == "subscribe", m.Kind == "ssubscribe":
			c.subscribed, c.own, h.maySubscribe = true, 0, permission{tried: true}
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

// lost tells the listeners that a connection receives nothing.
func (h *Hub) lost(conn *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.channels {
		if c.connection == conn && c.subscribed {
			c.subscribed = false
			c.tell(false)
		}
	}
}

// wanted returns the channels that a connection is to receive.
func (h *Hub) wanted(conn *connection) map[string]*channel {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]*channel)
	for name, c := range h.channels {
		if c.connection == conn {
			all[name] = c
		}
	}
	return all
}

func (h *Hub) connectionLocked(name string) *connection {
	if !h.sharded && h.plain != nil {
		return h.plain
	}
	conn := &connection{hub: h}
	conn.ctx, conn.stop = context.WithCancel(context.Background())
	if h.sharded {
		conn.shard = name
	} else {
		h.plain = conn
	}
	h.running.Go(conn.run)
	return conn
}
