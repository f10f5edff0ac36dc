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
	asked  map[string]*channel // what pubsub was asked for
}

// run receives until stop is called.
func (s *connection) run() {
	for s.ctx.Err() == nil {
		pubsub := s.open()
		closed := context.AfterFunc(s.ctx, func() { _ = pubsub.Close() })
		s.update()
		pause := s.receive(pubsub)
		closed()
		_ = pubsub.Close()
		s.hub.lost(s)
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pause):
		}
		if cluster, ok := s.hub.client.(*redis.ClusterClient); ok {
			cluster.ReloadState(s.ctx) // or the next connection goes where the last one went
		}
	}
}

func (s *connection) open() *redis.PubSub {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = make(map[string]*channel)
	if s.shard != "" { // without its channel the connection would go to any server
		s.pubsub = s.hub.client.SSubscribe(s.ctx, s.shard)
	} else {
		s.pubsub = s.hub.client.Subscribe(s.ctx)
	}
	return s.pubsub
}

// update subscribes to the channels that are wanted, and ends the others. Each is asked for by itself: one that the user may not
// receive would take the others with it.
func (s *connection) update() {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := s.hub.wanted(s)
	if s.shard != "" {
		if wanted[s.shard] == nil {
			s.stop()
		}
		return
	}
	if s.pubsub == nil { // not yet open: run calls update again
		return
	}
	for name, c := range wanted {
		if s.asked[name] != c { // also for a channel that was left and is wanted again: the server confirms it once more
			s.asked[name] = c
			_ = s.pubsub.Subscribe(s.ctx, name) // without a connection it is asked for when there is one
		}
	}
	for name := range s.asked {
		if wanted[name] == nil {
			delete(s.asked, name)
			_ = s.pubsub.Unsubscribe(s.ctx, name)
		}
	}
}

// receive passes on what pubsub receives until it breaks, says nothing any more, or its channel has moved. It returns the pause
// before the next connection. It reads by itself because go-redis's Channel wakes two more goroutines for each message, and does
// not notice that a ping has no answer.
func (s *connection) receive(pubsub *redis.PubSub) (pause time.Duration) {
	pause = longPause
	for pinged := false; ; {
		received, err := pubsub.ReceiveTimeout(s.ctx, Silence)
		var timeout net.Error
		switch {
		case err == nil:
			pinged, pause = false, shortPause
			if !s.hub.deliver(s, received) {
				return pause
			}
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged:
			pinged = true
			_ = pubsub.Ping(s.ctx)
		case s.shard == "" && redis.HasErrorPrefix(err, "NOPERM"): // for one channel
		default:
			return pause
		}
	}
}
