package lockstrategy

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// A line looks after itself this often: a channel that is not confirmed by then is asked for again, and a connection
// on which nothing was heard is asked for a sign of life, and at last given up.
const (
	lookAround = time.Second
	pingAfter  = 3 // looks
	deadAfter  = 6
)

// line is a connection on which channels are heard. When it ends, there is another.
type line struct {
	news    *news
	shard   string // the only channel of a sharded line; empty: the line of the plain ones
	stop    context.CancelFunc
	changed chan struct{} // holds one: the plain channels that are wanted changed
	heard   atomic.Bool   // anything, since it was last looked at
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
	} else {
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

// listen listens on one connection after the other.
func (l *line) listen(ctx context.Context) {
	pause := time.NewTicker(lookAround / 10) // whatever makes them end
	defer pause.Stop()
	for ctx.Err() == nil {
		l.connect(ctx)
		l.news.deaf(l)
		if cluster, ok := l.news.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // or the next connection goes where the last one went
		}
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

// connect listens on one connection, and returns when it has ended or says nothing any more.
func (l *line) connect(ctx context.Context) {
	connection := l.open(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.receive(ctx, connection)
	}()
	defer func() {
		_ = connection.Close()
		<-ended
	}()
	look := time.NewTicker(lookAround)
	defer look.Stop()
	asked := make(map[string]*channel)
	l.subscribe(ctx, connection, asked, false)
	for silent := 0; silent < deadAfter; {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-l.changed:
			l.subscribe(ctx, connection, asked, false)
		case <-look.C:
			l.subscribe(ctx, connection, asked, true)
			if silent++; l.heard.Swap(false) {
				silent = 0
			}
			if silent == pingAfter {
				_ = connection.Ping(ctx) // the answer is heard
			}
			if l.shard != "" && l.news.hearing(l.shard) == 0 {
				return // the server has not got its slot: it refused, and go-redis does not say so
			}
		}
	}
}

// open opens a connection. Without its channel that of a sharded line would go to any server.
func (l *line) open(ctx context.Context) *redis.PubSub {
	if l.shard != "" {
		return l.news.client.SSubscribe(ctx, l.shard)
	}
	return l.news.client.Subscribe(ctx)
}

// receive passes on what is heard until the connection breaks or the slot of its channel has moved. It reads by
// itself because go-redis's Channel starts a timer and wakes two goroutines for each message.
func (l *line) receive(ctx context.Context, connection *redis.PubSub) {
	for {
		message, err := connection.Receive(ctx)
		if err != nil {
			return
		}
		l.heard.Store(true)
		switch m := message.(type) {
		case *redis.Message:
			l.news.tell(m.Channel, m.Payload)
		case *redis.Subscription:
			switch m.Kind {
			case "subscribe", "ssubscribe":
				l.news.confirmed(m.Channel)
			case "sunsubscribe":
				return
			}
		}
	}
}

// subscribe asks for the plain channels that are wanted, and ends those that are no longer wanted. What was not
// confirmed is asked for again: to ask twice is harmless, each time the server confirms, and who listens tries.
func (l *line) subscribe(ctx context.Context, connection *redis.PubSub, asked map[string]*channel, again bool) {
	if l.shard != "" { // that was asked for when the connection was opened
		return
	}
	var add, remove []string
	l.news.mu.Lock()
	for name, c := range l.news.channels {
		if c.line == l && (asked[name] != c || again && !c.hearing) {
			add = append(add, name)
			asked[name] = c
		}
	}
	for name := range asked {
		if l.news.channels[name] == nil {
			remove = append(remove, name)
			delete(asked, name)
		}
	}
	l.news.mu.Unlock()
	if len(add) > 0 {
		_ = connection.Subscribe(ctx, add...)
	}
	if len(remove) > 0 {
		_ = connection.Unsubscribe(ctx, remove...)
	}
}
