package redlock

import (
	"context"

	"locklab/lockstrategy/redislock/pubsub"
	"locklab/lockstrategy/session"
)

// ChannelOf names the channel on which the release of key is published on each node.
func ChannelOf(key string) string { return "redlock_channel:" + key }

// publish notifies on every node, and returns when a majority has answered. The node that has notified most processes counts.
func (q *quorum) publish(ctx context.Context) {
	channel, answers := ChannelOf(q.key), make(chan released, len(q.lock.nodes))
	for i, client := range q.lock.nodes {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.lock.timing.Request)
			defer cancel()
			message, _ := q.lock.hubs[i].Publish(channel, func() (int64, error) { return client.Publish(ctx, channel, "0").Result() })
			answers <- released{i, message}
		}()
	}
	most := <-answers
	for range q.lock.majority() - 1 {
		if a := <-answers; a.message.Others > most.message.Others {
			most = a
		}
	}
	q.released.Store(&most)
}

// released is the message of a release on one node.
type released struct {
	node    int
	message *pubsub.Published
}

// Others implements [lockstrategy.Yielder].
func (q *quorum) Others() int {
	if r := q.released.Load(); r != nil {
		return int(r.message.Others)
	}
	return 0
}

// Yield implements [lockstrategy.Yielder].
func (q *quorum) Yield(ctx context.Context) {
	if q.Others() < 0 {
		session.Polled(longPause).Yield(ctx)
		return
	}
	r := q.released.Load()
	q.lock.hubs[r.node].Yield(ctx, ChannelOf(q.key), r.message, func() bool {
		ctx, cancel := context.WithTimeout(ctx, q.lock.timing.Request)
		defer cancel()
		return q.lock.nodes[r.node].Exists(ctx, Prefix+q.key).Val() > 0
	})
}

// TryNotify implements a step of [session.Probe]. One node that notifies is enough.
func (r *Lock) TryNotify(ctx context.Context, key string) (err error) {
	for _, hub := range r.hubs {
		if err = hub.Try(ctx, ChannelOf(key)); err == nil {
			return nil
		}
	}
	return err
}
