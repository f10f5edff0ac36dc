package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lockstrategy"
)

const root = "/locklab" // the node above those of the keys

// client is a connection of package zk, which knows no context and no longest wait for an answer. It gives both to requests. A
// server that does not answer in time is left for the next one, with the same session.
type client struct {
	addrs []string
	cfg   Config
	life  context.Context // ends with close
	end   context.CancelFunc

	mu              sync.Mutex
	conn            *zk.Conn        // nil before its first use
	events          <-chan zk.Event // closed when conn has no goroutine left
	wire            *wire           // the latest
	up, down        chan struct{}   // closed while there is a session, and while there is none
	timeout         time.Duration   // of the session, as the server has granted it
	failing         error           // why there is no session
	next            int             // the server to try next
	dialed          time.Time
	greetingTimeout time.Duration // of the next greeting. Only package zk's goroutine that dials uses it, dialed, and the next two
	refused         time.Time     // since when servers have refused the session; zero: the last one that answered a greeting took it
	grants          []string      // the servers that have refused the session, and then granted another client a new one
}

const (
	// redialPause is the shortest time between two dials: package zk makes none (TestZooKeeperDialsWithPauses).
	redialPause = 100 * time.Millisecond

	// firstGreeting is short: a server alone that has just started may never answer a greeting. Each next one without an answer waits for
	// twice as long, up to the timeout of a request.
	firstGreeting = 500 * time.Millisecond
)

var errNoAnswer = errors.New("no answer in time")

func newClient(addrs []string, cfg Config) *client {
	c := &client{
		addrs: zk.FormatServers(addrs), cfg: cfg, up: make(chan struct{}), down: make(chan struct{}), greetingTimeout: firstGreeting,
	}
	c.life, c.end = context.WithCancel(context.Background())
	close(c.down)
	return c
}

// ask sends a request, which must be harmless when it is executed twice: it is sent again when the connection is lost. The error is
// [zk.ErrNoNode], or wraps ErrUnavailable or ctx's own.
func ask[T any](ctx context.Context, c *client, request func(*zk.Conn) (T, error)) (nothing T, err error) {
	type answer struct {
		value T
		err   error
	}
	until := time.After(c.cfg.Request)
	for {
		if err := c.ready(ctx, until); err != nil {
			return nothing, err
		}
		wire, answered := c.current(), make(chan answer, 1)
		go func() {
			value, err := request(c.conn)
			answered <- answer{value, err}
		}()
		select {
		case a := <-answered:
			switch {
			case a.err == nil || errors.Is(a.err, zk.ErrNoNode):
				return a.value, a.err
			case !connectionLost(a.err):
				return nothing, c.unavailable(a.err)
			}
		case <-until:
			wire.hangUp()
			return nothing, c.unavailable(errNoAnswer)
		}
	}
}

// everybody may do everything with a node, as is usual where ZooKeeper knows no users.
var everybody = zk.WorldACL(zk.PermAll)

func createParent(conn *zk.Conn, path string) error {
	_, err := conn.CreateContainer(path, nil, zk.FlagContainer, everybody)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = conn.Create(root, nil, zk.FlagPersistent, everybody)
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			_, err = conn.CreateContainer(path, nil, zk.FlagContainer, everybody)
		}
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// connectionLost reports whether the connection broke before the answer to a request came. The server may have executed it.
func connectionLost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrSessionMoved) ||
		errors.Is(err, zk.ErrClosing)
}

// ready waits until there is a session. The first call connects.
func (c *client) ready(ctx context.Context, until <-chan time.Time) error {
	up, err := c.connect()
	switch {
	case err != nil:
		return c.unavailable(err)
	case c.life.Err() != nil:
		return lockstrategy.ErrClosed
	case isClosed(up):
		return nil
	}
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return lockstrategy.EndOf(ctx)
	case <-c.life.Done():
		return lockstrategy.ErrClosed
	case <-until:
		return c.unavailable(nil)
	}
}

func (c *client) connect() (up <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil && c.life.Err() == nil {
		c.conn, c.events, err = zk.Connect(c.addrs, c.cfg.Expiry, zk.WithDialer(c.dial), zk.WithHostProvider(c),
			zk.WithEventCallback(c.changed), zk.WithLogger(c), zk.WithLogInfo(false))
	}
	return c.up, err
}

// disconnected is closed when the session of this moment has no connection any more.
func (c *client) disconnected() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

func (c *client) current() *wire {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wire
}

func (c *client) sessionTimeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeout
}

// unavailable names the servers, and the last error.
func (c *client) unavailable(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Errorf("%w: ZooKeeper at %s: %w", lockstrategy.ErrUnavailable, strings.Join(c.addrs, ", "), cmp.Or(err, c.failing, errNoAnswer))
}

// close ends the session.
func (c *client) close() {
	c.end()
	c.mu.Lock()
	conn, events, connected := c.conn, c.events, isClosed(c.up)
	c.mu.Unlock()
	if conn == nil {
		return
	}
	if !connected {
		c.current().hangUp() // it may wait for an answer
	}
	conn.Close() // it waits for a second at most
	c.current().hangUp()
	for range events { // until its goroutines have ended
		continue
	}
}

// changed receives the events of the session.
func (c *client) changed(e zk.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.Type != zk.EventSession:
	case e.State == zk.StateHasSession:
		close(c.up)
		c.down, c.failing = make(chan struct{}), nil
	case e.State == zk.StateDisconnected && isClosed(c.up):
		close(c.down)
		c.up = make(chan struct{})
	}
}

func isClosed[T any](c <-chan T) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Printf implements zk.Logger, which gets the errors of connections.
func (c *client) Printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = errors.New(strings.Replace(fmt.Sprintf(format, args...), "authentication failed", "no session", 1))
}

// Init implements zk.HostProvider. The default provider pauses for a second between servers.
func (c *client) Init([]string) error { return nil }

// Len implements zk.HostProvider.
func (c *client) Len() int { return len(c.addrs) }

// Next implements zk.HostProvider. Only after retryStart package zk looks whether it was closed.
func (c *client) Next() (addr string, retryStart bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = (c.next + 1) % len(c.addrs)
	return c.addrs[c.next], c.life.Err() != nil
}

// Connected implements zk.HostProvider.
func (c *client) Connected() {}

// dial implements zk.Dialer.
func (c *client) dial(network, addr string, _ time.Duration) (net.Conn, error) {
	select {
	case <-time.After(time.Until(c.dialed.Add(redialPause))):
	case <-c.life.Done():
		return nil, lockstrategy.ErrClosed
	}
	c.dialed = time.Now()
	c.current().hangUp() // package zk does not close the connection of a session that has expired
	ctx, cancel := context.WithTimeout(c.life, c.cfg.Request)
	defer cancel()
	conn, err := c.cfg.Dial(ctx, network, addr)
	if errors.Is(err, syscall.EPIPE) { // it was closed before the dial had seen that it is open
		err = errRefused
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = &wire{Conn: conn, client: c, addr: addr}
	return c.wire, nil
}
