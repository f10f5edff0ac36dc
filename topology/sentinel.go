package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// askSentinel bounds the wait for one reply of a sentinel. When a sentinel hangs, go-redis asks it twice and then all of them, and
// waits for the slowest. All three waits are shorter than half a request of a lock. When no sentinel is as fast, commands and locks
// try again ([replies.NotNow]).
const askSentinel = 300 * time.Millisecond

// openSentinel opens clients that ask the sentinels for the master. After a failover the sentinels tell go-redis the new
// master, and it drops the connections to the old one.
func (r *Redis) openSentinel(ctx context.Context) error {
	r.Master = r.failover(false)
	r.replicas = []redis.UniversalClient{r.failover(true)}
	return until(ctx, r.Ping)
}

func (r *Redis) failover(replicas bool) *redis.Client {
	o := options(r.cfg.Access, r.cfg.Addrs...).Failover()
	o.MasterName, o.ReplicaOnly = r.cfg.SentinelMaster, replicas
	client := redis.NewFailoverClient(o)
	// The client has copied its own limits. go-redis reads those of o when it asks a sentinel.
	o.ReadTimeout, o.WriteTimeout = askSentinel, askSentinel
	client.AddHook(sentinelsFirst{})
	if !replicas {
		client.AddHook(&oneMaster{open: make(map[*current]bool)})
	}
	client.AddHook(named{r.String()})
	client.AddHook(later{})
	return client
}

// errNoSentinel says that nothing was sent, because it is not known to which server.
const errNoSentinel = replies.NotYet("no sentinel has named a server in time")

// sentinelsFirst marks the errors of requests to sentinels, which look like lost replies of the master.
type sentinelsFirst struct{}

// DialHook implements [redis.Hook].
func (sentinelsFirst) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if replies.MayHaveRun(err) {
			return nil, fmt.Errorf("%w: %w", errNoSentinel, err)
		}
		return conn, err
	}
}

// ProcessHook implements [redis.Hook].
func (sentinelsFirst) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (sentinelsFirst) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// oneMaster closes the connections to a master when one to another master is opened. go-redis leaves those of subscriptions open. After a
// planned failover the old master goes on for some ten seconds, and they would receive nothing that the new one publishes. A sentinel that
// is behind the others leads back to the old master until it knows better, as it does in go-redis.
type oneMaster struct {
	mu     sync.Mutex
	dials  int // that have begun
	newest int // of them that have opened a connection
	addr   string
	open   map[*current]bool
}

// DialHook implements [redis.Hook]. go-redis calls it for connections to the master, and not for those to sentinels.
func (m *oneMaster) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		m.mu.Lock()
		m.dials++
		n := m.dials
		m.mu.Unlock()
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return m.keep(conn, n)
	}
}

// keep closes the connections to another master than that of the newest dial, which may be this one.
func (m *oneMaster) keep(conn net.Conn, dial int) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	addr := conn.RemoteAddr().String()
	if dial < m.newest && addr != m.addr {
		return nil, errors.Join(&net.OpError{Op: "dial", Net: "tcp", Addr: conn.RemoteAddr(), Err: errOldMaster}, conn.Close())
	}
	m.newest, m.addr = max(m.newest, dial), addr
	for c := range m.open {
		if c.RemoteAddr().String() != addr {
			delete(m.open, c)
			_ = c.Conn.Close()
		}
	}
	c := &current{conn, m}
	m.open[c] = true
	return c, nil
}

// ProcessHook implements [redis.Hook].
func (m *oneMaster) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (m *oneMaster) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// current is a connection to the master.
type current struct {
	net.Conn
	of *oneMaster
}

// Close closes the connection.
func (c *current) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.open, c)
	return c.Conn.Close()
}

// SyscallConn is what go-redis asks for before it uses an idle connection.
func (c *current) SyscallConn() (syscall.RawConn, error) { return socketOf(c.Conn) }
