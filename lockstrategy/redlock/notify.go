package redlock

import (
	"context"

	"locklab/lockstrategy/session"
)

// ChannelOf names the channel on which the release of key is published on each node.
func ChannelOf(key string) string { return "redlock_channel:" + key }

// publish notifies on every node, and returns when a majority has answered. The node that has notified most processes counts.
func (q *quorum) publish(ctx context.Context) {
	channel, answers := ChannelOf(q.key), make(chan notified, len(q.lock.nodes))
	for i, client := range q.lock.nodes {
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.lock.timing.Request)
			defer cancel()
			receives := q.lock.hubs[i].Publishing(channel)
			others, err := client.Publish(ctx, channel, "0").Result()
			switch {
			case err != nil:
				others = -1
			case receives && others > 0:
				others-- // this process
			}
			answers <- notified{i, int(others)}
		}()
	}
	most := notified{others: -1}
	for range q.lock.majority() {
		if a := <-answers; a.others > most.others {
			most = a
		}
	}
	q.notified.Store(&most)
}

// notified is how many other processes a node has notified. Below 0: it may not publish, or did not answer.
type notified struct{ node, others int }

// Others implements [lockstrategy.Yielder].
func (q *quorum) Others() int {
	if n := q.notified.Load(); n != nil {
		return n.others
	}
	return 0
}

// Yield implements [lockstrategy.Yielder].
func (q *quorum) Yield(ctx context.Context) {
	if q.Others() < 0 {
		session.Polled(longPause).Yield(ctx)
		return
	}
	node := q.notified.Load().node
	q.lock.hubs[node].Yield(ctx, ChannelOf(q.key), q.Others(), func() bool {
		ctx, cancel := context.WithTimeout(ctx, q.lock.timing.Request)
		defer cancel()
		return q.lock.nodes[node].Exists(ctx, Prefix+q.key).Val() > 0
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
