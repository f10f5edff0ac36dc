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
// and a subscription costs two commands (docs/benchmark.md, "Hand-over between processes").
const IdleTimeout = 10 * time.Millisecond

// tryFor is how long a process that tries to subscribe waits for the answer.
const tryFor = time.Second

// Hub receives from one server, or one cluster. Plain channels share a connection. A sharded channel has a connection of its own:
// sharded channels may live on different servers, and move.
type Hub struct {
	client  redis.UniversalClient
	sharded bool
	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	channels map[string]*channel
	plain    *connection // of all plain channels; nil until there is one
}

// channel is a channel of Redis to which the hub has subscribed, or soon will.
type channel struct {
	connection *connection
	subscribed bool // the server has confirmed it
	own        int  // messages that this process has published and not yet received
	others     int  // messages of others so far
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
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
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

// unsubscribe ends the subscription to a channel that has had no listener for IdleTimeout.
func (h *Hub) unsubscribe(name string, c *channel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch idle := time.Since(c.left); {
	case len(c.listeners) > 0 || h.life.Err() != nil || h.channels[name] != c:
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

// Close ends all connections and each Yield, and waits until the connections' goroutines have ended.
func (h *Hub) Close() {
	h.mu.Lock()
	h.end()
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
			if c.own > 0 {
				c.own--
			} else {
				c.others++
			}
			c.tell(true)
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
	conn.ctx, conn.stop = context.WithCancel(h.life)
	if h.sharded {
		conn.shard = name
	} else {
		h.plain = conn
	}
	h.running.Go(conn.run)
	return conn
}
