package lockstrategy

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// deafAfter is how long a sharded channel waits for the server to confirm its subscription. A server that no
// longer has the slot refuses it, and go-redis does not say so.
const deafAfter = time.Second

// line is a connection on which channels are heard.
type line struct {
	news    *news
	shard   string // the only channel of a sharded line; empty: the line of the plain ones
	stop    context.CancelFunc
	changed chan struct{} // holds one: the plain channels that are wanted changed
}

// lineLocked returns the line for a channel.
func (n *news) lineLocked(name string, sharded bool) *line {
	if !sharded && n.shared != nil {
		return n.shared
	}
	var ctx context.Context
	l := &line{news: n, changed: make(chan struct{}, 1)}
	ctx, l.stop = context.WithCancel(context.Background())
	if sharded {
		l.shard = name
		n.running.Go(func() { l.listenSharded(ctx) })
		return l
	}
	n.shared = l
	n.running.Go(func() { l.listen(ctx) })
	return l
}

func (l *line) announce() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// listen subscribes to what has ears and passes on what it hears. go-redis reconnects and subscribes
// again by itself; the confirmation is heard then, too.
func (l *line) listen(ctx context.Context) {
	connection := l.news.client.Subscribe(ctx)
	defer connection.Close()
	messages := connection.ChannelWithSubscriptions()
	subscribed := make(map[string]bool)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
			l.resubscribe(ctx, connection, subscribed)
		case message, open := <-messages:
			if !open { // somebody closed the client
				return
			}
			switch m := message.(type) {
			case *redis.Message:
				l.news.tell(m.Channel, m.Payload)
			case *redis.Subscription:
				if m.Kind == "subscribe" {
					l.news.confirmed(m.Channel)
				}
			}
		}
	}
}

// listenSharded hears one channel, wherever its slot is: when it moves, the server ends the subscription.
func (l *line) listenSharded(ctx context.Context) {
	pause := time.NewTicker(deafAfter / 10) // whatever makes it end again and again
	defer pause.Stop()
	for ctx.Err() == nil {
		l.hearShard(ctx)
		if cluster, ok := l.news.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // or the next connection goes where the last one went
		}
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

// hearShard returns when the subscription has ended, or was never confirmed.
func (l *line) hearShard(ctx context.Context) {
	connection := l.news.client.SSubscribe(ctx, l.shard) // without its channel it would go to any server
	defer connection.Close()
	messages := connection.ChannelWithSubscriptions()
	deaf := time.NewTimer(deafAfter)
	defer deaf.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-deaf.C:
			return
		case message, open := <-messages:
			if !open { // somebody closed the client
				return
			}
			switch m := message.(type) {
			case *redis.Message:
				l.news.tell(m.Channel, m.Payload)
			case *redis.Subscription:
				if m.Kind == "sunsubscribe" {
					return
				}
				deaf.Stop()
				l.news.confirmed(m.Channel)
			}
		}
	}
}

// resubscribe makes subscribed equal to the channels that are wanted. Its errors are go-redis's to
// repair: it remembers the channels and subscribes when it has reconnected.
func (l *line) resubscribe(ctx context.Context, connection *redis.PubSub, subscribed map[string]bool) {
	var add, again, remove []string
	l.news.mu.Lock()
	for name, c := range l.news.channels {
		switch {
		case c.line != l:
		case !subscribed[name]:
			add = append(add, name)
			subscribed[name] = true
		case !c.hearing: // it was left, and is wanted again before anything was said about it
			again = append(again, name)
		}
	}
	for name := range subscribed {
		if l.news.channels[name] == nil {
			remove = append(remove, name)
			delete(subscribed, name)
		}
	}
	l.news.mu.Unlock()
	for _, name := range again {
		l.news.confirmed(name)
	}
	if len(add) > 0 {
		_ = connection.Subscribe(ctx, add...)
	}
	if len(remove) > 0 {
		_ = connection.Unsubscribe(ctx, remove...)
	}
}
