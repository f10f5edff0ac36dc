// Package pubsub receives messages from Redis for many listeners over few connections, and replaces connections that fail.
//
// A message may get lost while a connection is down. Every listener is told when its channel has been subscribed to, at first and
// again after each loss. Then it can ask the server for the changes that it has missed. It is told of the loss, too.
package pubsub

import (
	"context"
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

	mu       sync.Mutex
	closed   bool
	channels map[string]*channel
	plain    *connection // of all plain channels; nil until there is one
}

// channel is one that is subscribed to, or soon will be.
type channel struct {
	connection *connection
	subscribed bool // the server has confirmed it
	own        int  // messages that this process has published and not yet received
	listeners  map[*listener]struct{}
	left       time.Time // when the last listener left
	leaving    bool      // a timer looks whether it is idle
}

type listener struct {
	tell   func(message bool)
	others func() // of a message of another process; nil: it does not matter
}

// New returns a hub for client, with sharded or plain channels. Close it before client.
func New(client redis.UniversalClient, sharded bool) *Hub {
	return &Hub{client: client, sharded: sharded, channels: make(map[string]*channel)}
}

// PublishCommand is the command that publishes on the hub's channels.
func (h *Hub) PublishCommand() string {
	if h.sharded {
		return "spublish"
	}
	return "publish"
}

// Listen calls tell(true) for each message on a channel until stop is called. It calls tell(false) when messages may have been lost: after
// a subscription, or a lost connection. The hub is locked meanwhile: tell must not block, call the hub, or call
// stop. A closed hub calls nothing.
func (h *Hub) Listen(name string, tell func(message bool)) (stop func()) {
	return h.add(name, &listener{tell: tell})
}

func (h *Hub) add(name string, l *listener) (stop func()) {
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
	c.listeners[l] = struct{}{}
	if c.subscribed {
		l.tell(false)
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

// Subscribed reports whether this process receives the messages of a channel now.
func (h *Hub) Subscribed(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	return c != nil && c.subscribed
}

// Publishing is called before this process publishes on a channel. It reports whether this process will receive the message, too.
func (h *Hub) Publishing(name string) (receives bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.channels[name]
	if c == nil || !c.subscribed {
		return false
	}
	c.own++
	return true
}

const (
	// yieldTo is the time for a process to ask for a key after it was notified (row 8 × 1 of docs/benchmark.md).
	yieldTo      = 3 * time.Millisecond
	longestYield = 100 * time.Millisecond // for many of them: one turn
)

// Yield lets n other processes go first: it returns when as many messages of others have come on a channel, or ctx ends. When none comes
// for yieldTo for each that is missing, it asks whether the key is held, and returns if it is free: a process that listens without wanting
// the key, or has died, costs milliseconds.
func (h *Hub) Yield(ctx context.Context, name string, n int, held func() bool) {
	messages := make(chan struct{}, n)
	defer h.add(name, &listener{tell: func(bool) {}, others: func() {
		select {
		case messages <- struct{}{}:
		default: // these are enough
		}
	}})()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n > 0 {
		timer.Reset(min(time.Duration(n)*yieldTo, longestYield))
		select {
		case <-messages:
			n--
		case <-timer.C:
			if !held() {
				return
			}
			select { // the message of its release will come
			case <-messages:
				n--
			case <-time.After(time.Second):
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// Try publishes and subscribes once, beside a channel, so that nobody is notified. It returns why the server refuses that.
func (h *Hub) Try(ctx context.Context, name string) error {
	name += ":try"
	if err := h.client.Do(ctx, h.PublishCommand(), name, "").Err(); err != nil {
		return err
	}
	subscribe := h.client.Subscribe
	if h.sharded {
		subscribe = h.client.SSubscribe
	}
	subscription := subscribe(ctx, name)
	defer subscription.Close()
	_, err := subscription.ReceiveTimeout(ctx, tryFor)
	return err
}

// Close ends all connections, and waits until their goroutines have ended.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
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
			c.tell(true)
			c.countOthers()
		}
	case *redis.Subscription:
		switch c := h.channels[m.Channel]; {
		case m.Kind == "sunsubscribe": // the slot has moved
			return false
		case c == nil || c.connection != conn:
		case m.Kind == "subscribe", m.Kind == "ssubscribe":
			c.subscribed, c.own = true, 0
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

// countOthers tells of a message unless it is this process's own.
func (c *channel) countOthers() {
	if c.own > 0 {
		c.own--
		return
	}
	for l := range c.listeners {
		if l.others != nil {
			l.others()
		}
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
