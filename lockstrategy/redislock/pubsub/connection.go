package pubsub

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// Silence is how long a connection may receive nothing before it is pinged, and then replaced (TestASilentConnectionIsReplaced).
	Silence = 3 * time.Second
	// A pause lies between two connections: the longer one when the last one received nothing (TestABrokenConnectionIsReplaced).
	shortPause = 100 * time.Millisecond
	longPause  = time.Second
)

// connection receives on one go-redis PubSub after the other.
type connection struct {
	hub   *Hub
	shard string // the only channel of a sharded connection; empty: all plain channels
	ctx   context.Context
	stop  context.CancelFunc

	mu     sync.Mutex // orders subscribing
	pubsub *redis.PubSub
	asked  map[string]*channel // the channels that pubsub was asked for
}

// run receives until stop is called.
func (conn *connection) run() {
	for conn.ctx.Err() == nil {
		pubsub := conn.open()
		closed := context.AfterFunc(conn.ctx, func() { _ = pubsub.Close() })
		conn.update()
		pause := conn.receive(pubsub)
		closed()
		_ = pubsub.Close()
		conn.hub.lost(conn)
		select {
		case <-conn.ctx.Done():
			return
		case <-time.After(pause):
		}
		if cluster, ok := conn.hub.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(conn.ctx) // or the next connection goes where the last one went
		}
	}
}

func (conn *connection) open() *redis.PubSub {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.asked = make(map[string]*channel)
	if conn.shard != "" { // without its channel the connection would go to any server
		conn.pubsub = conn.hub.client.SSubscribe(conn.ctx, conn.shard)
	} else {
		conn.pubsub = conn.hub.client.Subscribe(conn.ctx)
	}
	return conn.pubsub
}

// update subscribes to the channels that are wanted, and ends the others. Each is asked for by itself: one that the user may not
// receive would take the others with it.
func (conn *connection) update() {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	wanted := conn.hub.wanted(conn)
	if conn.shard != "" {
		if wanted[conn.shard] == nil {
			conn.stop()
		}
		return
	}
	if conn.pubsub == nil { // not yet open: run calls update again
		return
	}
	for name, c := range wanted {
		if conn.asked[name] != c { // also for a channel that was left and is wanted again: the server confirms it once more
			conn.asked[name] = c
			_ = conn.pubsub.Subscribe(conn.ctx, name) // without a connection it is asked for when there is one
		}
	}
	for name := range conn.asked {
		if wanted[name] == nil {
			delete(conn.asked, name)
			_ = conn.pubsub.Unsubscribe(conn.ctx, name)
		}
	}
}

// receive passes messages on until pubsub breaks, is silent for too long, or its channel has moved. It returns the pause
// before the next connection. It reads by itself because go-redis's Channel wakes two more goroutines for each message, and does
// not notice that a ping has no answer.
func (conn *connection) receive(pubsub *redis.PubSub) (pause time.Duration) {
	pause = longPause
	for pinged := false; ; {
		received, err := pubsub.ReceiveTimeout(conn.ctx, Silence)
		var timeout net.Error
		switch {
		case err == nil:
			pinged, pause = false, shortPause
			if !conn.hub.deliver(conn, received) {
				return pause
			}
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged:
			pinged = true
			_ = pubsub.Ping(conn.ctx)
		case conn.shard == "" && redis.HasErrorPrefix(err, "NOPERM"): // for one channel
		default:
			return pause
		}
	}
}
