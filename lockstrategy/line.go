package lockstrategy

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// line is a connection on which channels are heard.
type line struct {
	news    *news
	sharded bool
	stop    context.CancelFunc
	changed chan struct{} // holds one: the channels that want this line changed
}

func (n *news) lineLocked(sharded bool) *line {
	if !sharded && n.shared != nil {
		return n.shared
	}
	var ctx context.Context
	l := &line{news: n, sharded: sharded, changed: make(chan struct{}, 1)}
	ctx, l.stop = context.WithCancel(context.Background())
	if !sharded {
		n.shared = l
	}
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
	subscribe := l.news.client.Subscribe
	if l.sharded {
		subscribe = l.news.client.SSubscribe
	}
	connection := subscribe(ctx)
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
			if !open {
				return
			}
			switch m := message.(type) {
			case *redis.Message:
				l.news.tell(m.Channel, m.Payload)
			case *redis.Subscription:
				if m.Kind == "subscribe" || m.Kind == "ssubscribe" {
					l.news.confirmed(m.Channel)
				}
			}
		}
	}
}

// resubscribe makes subscribed equal to the channels that want this line. Its errors are go-redis's
// to repair: it remembers the channels and subscribes when it has reconnected.
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
	subscribe := connection.Subscribe
	if l.sharded {
		subscribe = connection.SSubscribe
	}
	if len(add) > 0 {
		_ = subscribe(ctx, add...)
	}
	if len(remove) > 0 { // never a sharded one: its line ends with it
		_ = connection.Unsubscribe(ctx, remove...)
	}
}
