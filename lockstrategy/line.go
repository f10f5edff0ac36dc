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
	shortest   = 100 * time.Millisecond // pause between two connections; lookAround is the longest
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

// listen listens on one connection after the other, with pauses that grow while none is of use.
func (l *line) listen(ctx context.Context) {
	for pause := shortest; ; pause = min(2*pause, lookAround) {
		if l.connect(ctx) {
			pause = shortest
		}
		l.news.deaf(l)
		if !wait(ctx, pause) {
			return
		}
		if cluster, ok := l.news.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // or the next connection goes where the last one went
		}
	}
}

// connect listens on one connection until it has ended or says nothing any more. It reports whether anything was heard.
func (l *line) connect(ctx context.Context) (useful bool) {
	connection := l.open(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		useful = l.receive(ctx, connection)
	}()
	l.look(ctx, connection, ended)
	_ = connection.Close()
	<-ended
	return useful
}

// look asks for what is wanted until the connection has ended, or is to be.
func (l *line) look(ctx context.Context, connection *redis.PubSub, ended <-chan struct{}) {
	clock := time.NewTicker(lookAround)
	defer clock.Stop()
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
		case <-clock.C:
			l.subscribe(ctx, connection, asked, true)
			if silent++; l.heard.Swap(false) || l.shard == "" && len(asked) == 0 { // then it need not say anything
				silent = 0
			}
			if silent == pingAfter {
				_ = connection.Ping(ctx) // the answer is heard
			}
			if l.shard != "" && l.news.hearing(l.shard) == 0 {
				return // neither confirmed nor refused
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
// itself because go-redis's Channel starts a timer and wakes two goroutines for each message. Of plain channels one may
// be refused, to a user who must not hear it: the others are heard all the same.
func (l *line) receive(ctx context.Context, connection *redis.PubSub) (useful bool) {
	for {
		message, err := connection.Receive(ctx)
		switch {
		case err == nil:
			l.heard.Store(true)
			useful = true
		case l.shard == "" && redis.HasErrorPrefix(err, "NOPERM"):
			continue
		default:
			return useful
		}
		if !l.pass(message) {
			return useful
		}
	}
}

// pass passes on what was heard, and reports whether the connection goes on.
func (l *line) pass(message any) bool {
	switch m := message.(type) {
	case *redis.Message:
		l.news.tell(l, m.Channel, m.Payload)
	case *redis.Subscription:
		switch m.Kind {
		case "subscribe", "ssubscribe":
			l.news.confirmed(l, m.Channel)
		case "sunsubscribe":
			return false
		}
	}
	return true
}

// wait reports false when ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
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
	for _, name := range add { // each by itself: one that is refused would take the others with it
		_ = connection.Subscribe(ctx, name)
	}
	if len(remove) > 0 {
		_ = connection.Unsubscribe(ctx, remove...)
	}
}
