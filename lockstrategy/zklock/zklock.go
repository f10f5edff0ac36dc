// Package zklock is a lock on ZooKeeper: a queue of nodes (position.go), over a connection that knows contexts (client.go).
package zklock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/go-zookeeper/zk"

	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// Config configures [New]. The zero value means the defaults.
type Config struct {
	lockstrategy.Timing // Expiry is the session timeout, within the servers' bounds. A dead holder's key is locked for so long

	// Dial opens a connection. The default is that of [net.Dialer].
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Lock is a lock on an ensemble of ZooKeeper servers. A key is a node with a queue below it. Each caller creates a protected
// ephemeral sequential node there and waits for the deletion of the one before. The first in the queue holds the key.
//
// There is one holder while a majority of the servers keeps its data and the holder stops when its lease's context ends. There may be
// two when a holder ignores its context or pauses for longer than the session timeout, or when the servers lose their disks.
//
// A lease ends half a session timeout after the last write that a majority has confirmed. Such a write is the creation of its node, or a
// renewal, which writes to the node. The end of the session itself is told too late: after the servers have granted the key to the next
// caller. A ping or a read proves too little: a server that is cut off from the others answers them for some time. It is half
// because the leader counts a session from up to a third of the timeout, and half a tick, before such a write. So the timeout must be
// at least three ticks of the servers.
//
// The queue is in the servers, so no process has to yield: one that wants the key again stands behind the others. A process that dies or
// pauses while it waits stops those behind it until its session ends. A holder that hangs does so too, also with [lockstrategy.LeaseFor].
//
// The key's node is a container: the servers delete it some time after it is empty. [lockstrategy.TryOnce] enters the queue and leaves it,
// which costs two writes. The number of a grant is the transaction that created its node, added to the
// time when the root was created ([session.NumberAt]). So tokens grow over a loss of all data, unless the ensemble has elected a leader
// more often than every 38 hours. They do not grow over the return of an older copy.
type Lock struct {
	client *client
	keeper *session.Keeper

	mu     sync.Mutex
	leases int // that are not released
	closed bool
}

// New returns a lock on the ensemble whose servers are at addrs (host:port). It connects when it is first used.
func New(addrs []string, cfg Config) (*Lock, error) {
	timing, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, errors.New("lock: ZooKeeper needs the address of at least one server")
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	cfg.Timing = timing
	return &Lock{client: newClient(addrs, cfg), keeper: session.NewKeeper()}, nil
}

// Ping returns nil when the ensemble's leader answers.
func (z *Lock) Ping(ctx context.Context) error {
	_, err := ask(ctx, z.client, func(c *zk.Conn) (string, error) { return c.Sync("/") })
	if err != nil && !errors.Is(err, lockstrategy.ErrUnavailable) { // ctx has ended: the error until then says more
		return fmt.Errorf("%w: %w", z.client.unavailable(nil), err)
	}
	return err
}

// Close ends the repeated releases. Callers that wait, or ask from now on, get [lockstrategy.ErrUnavailable]. Leases that are held stay
// held, and can be released: the connection is closed with the last of them.
func (z *Lock) Close() error {
	z.keeper.Close()
	z.drop(0, true)
	return nil
}

// hold counts a lease that is granted.
func (z *Lock) hold() error {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.closed {
		return lockstrategy.ErrClosed
	}
	z.leases++
	return nil
}

// drop forgets leases. A lock that is closed and has none left closes the connection, and so ends the session.
func (z *Lock) drop(leases int, closing bool) {
	z.mu.Lock()
	z.leases -= leases
	z.closed = z.closed || closing
	last := z.closed && z.leases == 0
	z.mu.Unlock()
	if last {
		z.client.close()
	}
}

// Acquire enters the key's queue and waits until the caller is the first.
func (z *Lock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	request, err := lockstrategy.NewRequest(options...)
	if err == nil && key == "" {
		err = errors.New("a lock needs a name")
	}
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	ctx, cancel := request.Within(ctx)
	defer cancel()
	for {
		p, err := z.enter(ctx, key)
		if err != nil {
			return nil, lockstrategy.NotAcquired(key, err)
		}
		lease, err := p.wait(ctx, request)
		if err == nil {
			return lease, nil
		}
		p.leave(ctx, err)
		if !errors.Is(err, lockstrategy.ErrGone) { // otherwise the session has ended while it waited, and it enters again
			return nil, lockstrategy.NotAcquired(key, err)
		}
	}
}
