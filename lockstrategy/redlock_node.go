package lockstrategy

import (
	"context"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/pubsub"
)

// node is one Redis of a quorum. While it hangs every request to it fails immediately. Otherwise contenders that share the other nodes
// between them would all wait for it.
type node struct{ server }

func (n *node) send(request func(ctx context.Context) error) error {
	if n.hanging() {
		return errHanging
	}
	return n.ask(context.Background(), request)
}

// publish notifies of a release, and returns the number of other processes that were notified. Unknown: the node is away, or the user
// may not publish or subscribe.
func (n *node) publish(hub *pubsub.Hub, channel string) (listeners int) {
	published := hub.Publishing(channel)
	var notified int64
	err := n.send(func(ctx context.Context) (err error) {
		notified, err = n.client.Publish(ctx, channel, "0").Result()
		return err
	})
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		published(pubsub.Unknown)
		return Unknown
	case err != nil:
		published(pubsub.Unpublished)
		return Unknown
	}
	return published(int(notified))
}

// vote is one node's part in one attempt, as redsync asks for it. redsync goes on when a majority has answered: the release must
// not overtake the request for the key on its way to the other nodes.
type vote struct {
	*node
	asked chan struct{} // closed when the request for the key has ended
	err   error         // then: of that request
}

// Get implements redsync's Pool. redsync's context is not used: it ends when a majority has answered, and then the other nodes
// would not be asked.
func (v *vote) Get(context.Context) (redsyncredis.Conn, error) { return ballot{vote: v}, nil }

// ballot is redsync's connection to a vote. redsync calls no other methods.
type ballot struct {
	redsyncredis.Conn
	vote *vote
}

// SetNX asks for the key.
func (b ballot) SetNX(name, value string, expiry time.Duration) (granted bool, err error) {
	defer func() { b.vote.err = err; close(b.vote.asked) }()
	err = b.send(func(conn redsyncredis.Conn) (err error) {
		granted, err = conn.SetNX(name, value, expiry)
		return err
	})
	return granted, err
}

// Eval releases the key, or extends its lease.
func (b ballot) Eval(lua *redsyncredis.Script, keysAndArgs ...any) (reply any, err error) {
	<-b.vote.asked
	err = b.send(func(conn redsyncredis.Conn) (err error) {
		reply, err = conn.Eval(lua, keysAndArgs...)
		return named(lua.Src, err)
	})
	return reply, err
}

// Close implements redsync's Conn.
func (ballot) Close() error { return nil }

func (b ballot) send(request func(redsyncredis.Conn) error) error {
	return b.vote.send(func(ctx context.Context) error {
		conn, err := goredis.NewPool(b.vote.client).Get(ctx)
		if err != nil {
			return err
		}
		return request(conn)
	})
}
