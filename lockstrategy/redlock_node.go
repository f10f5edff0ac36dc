package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	redsync "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/pubsub"
)

// node is one Redis of a quorum. After a request that was not answered in time it is only pinged: the other requests fail
// immediately. Otherwise contenders that share the other nodes between them would all wait for it.
type node struct {
	client   redis.UniversalClient
	request  time.Duration
	hanging  atomic.Bool
	sessions *Sessions // whose background pings
}

var errHanging = errors.New("it has not answered the last requests in time")

func (n *node) ask(request func(ctx context.Context) error) error {
	if n.hanging.Load() && n.sessions.ctx.Err() == nil { // after Close nothing pings it, and held leases still need it
		return errHanging
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.request)
	defer cancel()
	err := request(ctx)
	if timedOut(err) && n.hanging.CompareAndSwap(false, true) {
		n.sessions.inBackground(n.ping)
	}
	return err
}

// ping asks a node that hangs until it answers, or cannot be reached. It pauses, because a client may repeat its last timeout without
// asking (TestRedLockPingsWithPauses).
func (n *node) ping() {
	defer n.hanging.Store(false)
	for {
		ctx, cancel := context.WithTimeout(n.sessions.ctx, n.request)
		err := n.client.Ping(ctx).Err()
		cancel()
		if !timedOut(err) {
			return
		}
		select {
		case <-n.sessions.ctx.Done():
			return
		case <-time.After(n.request / 4):
		}
	}
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// deleteOwn deletes a key if it still has a value. So does redsync at a release.
var deleteOwn = redis.NewScript("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0")

// takeBack deletes what a request without an answer may have stored.
func (n *node) takeBack(key, value string) error {
	err := n.ask(func(ctx context.Context) error { return deleteOwn.Run(ctx, n.client, []string{key}, value).Err() })
	if refused := redis.Error(nil); err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, n, err)
	}
	return err
}

// publish notifies of a release, and says how many other processes were notified. Unknown: the node is away, or the user may not publish
// or subscribe.
func (n *node) publish(hub *pubsub.Hub, channel string) (others int) {
	published := hub.Publishing(channel)
	var notified int64
	err := n.ask(func(ctx context.Context) (err error) {
		notified, err = n.client.Publish(ctx, channel, "0").Result()
		return err
	})
	switch {
	case redis.HasErrorPrefix(err, "NOPERM"):
		published(pubsub.Refused)
		return Unknown
	case err != nil:
		published(pubsub.Unpublished)
		return Unknown
	}
	return published(int(notified))
}

// String is the node's address.
func (n *node) String() string {
	if single, ok := n.client.(*redis.Client); ok {
		return single.Options().Addr
	}
	return fmt.Sprint(n.client)
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
func (v *vote) Get(context.Context) (redsync.Conn, error) { return ballot{vote: v}, nil }

// ballot is redsync's connection to a vote. redsync calls no other methods.
type ballot struct {
	redsync.Conn
	vote *vote
}

// SetNX asks for the key.
func (b ballot) SetNX(name, value string, expiry time.Duration) (granted bool, err error) {
	defer func() { b.vote.err = err; close(b.vote.asked) }()
	err = b.ask(func(conn redsync.Conn) (err error) {
		granted, err = conn.SetNX(name, value, expiry)
		return err
	})
	return granted, err
}

// Eval releases the key, or extends its lease.
func (b ballot) Eval(script *redsync.Script, keysAndArgs ...any) (reply any, err error) {
	<-b.vote.asked
	err = b.ask(func(conn redsync.Conn) (err error) {
		reply, err = conn.Eval(script, keysAndArgs...)
		return named(script.Src, err)
	})
	return reply, err
}

// Close implements redsync's Conn.
func (ballot) Close() error { return nil }

func (b ballot) ask(request func(redsync.Conn) error) error {
	return b.vote.ask(func(ctx context.Context) error {
		conn, err := goredis.NewPool(b.vote.client).Get(ctx)
		if err != nil {
			return err
		}
		return request(conn)
	})
}
