package zklock

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"locklab/lockstrategy"

	"github.com/go-zookeeper/zk"
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
	conn            *zk.Conn        // nil: it was not used yet
	events          <-chan zk.Event // closed when conn has no goroutine left
	wire            *wire           // the latest
	up, down        chan struct{}   // closed while there is a session, and while there is none
	timeout         time.Duration   // of the session, as the server has granted it
	failing         error           // why there is no session
	next            int             // the server to try next
	dialed          time.Time
	greetingTimeout time.Duration // of the next greeting. Only package zk's goroutine that dials uses it, and dialed
}

const (
	// redialPause is the shortest time between two dials: package zk makes none (TestZooKeeperDialsWithPauses).
	redialPause = 100 * time.Millisecond

	// firstGreeting is short: a server alone that has just started may never answer a greeting. Each next one without an answer waits for
	// twice as long, up to the timeout of a request.
	firstGreeting = 500 * time.Millisecond
)

var (
	errNoAnswer    = errors.New("no answer in time")
	errNoZooKeeper = errors.New("the server speaks another protocol: it is no ZooKeeper")
	errNoGreeting  = errors.New("the server does not answer the greeting: it hangs, or is no ZooKeeper")
)

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

func isClosed(c <-chan struct{}) bool {
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
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wire = &wire{Conn: conn, client: c}
	return c.wire, nil
}

// wire is one connection. It reads how the server answers the greeting, of which package zk says too little: length, version of
// the protocol, timeout of the session.
type wire struct {
	net.Conn
	client *client
	greets []byte
}

const (
	greeting        = 12   // bytes that are read of it
	longestGreeting = 1024 // another server's first bytes are a larger number
)

// hangUp closes the connection. Package zk connects again.
func (w *wire) hangUp() {
	if w != nil {
		_ = w.Close()
	}
}

// Write hangs up when it fails, and the reader learns that. Package zk has room for two answers to a request: with an error it would give
// three when it is closed meanwhile (closed, not written, disconnected), and wait forever (go-zookeeper/zk#163 is of the kind).
func (w *wire) Write(p []byte) (int, error) {
	if _, err := w.Conn.Write(p); err != nil {
		w.hangUp()
	}
	return len(p), nil
}

// SetReadDeadline bounds the wait for the greeting: package zk would wait for longer than the session lasts.
func (w *wire) SetReadDeadline(t time.Time) error {
	if len(w.greets) < greeting {
		t = time.Now().Add(min(w.client.greetingTimeout, w.client.cfg.Request))
	}
	return w.Conn.SetReadDeadline(t)
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	missing := greeting - len(w.greets)
	if missing == 0 {
		return n, err
	}
	w.greets = append(w.greets, p[:min(n, missing)]...)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		w.client.greetingTimeout = min(2*w.client.greetingTimeout, w.client.cfg.Request)
		return n, errNoGreeting
	}
	if len(w.greets) >= 4 && binary.BigEndian.Uint32(w.greets) > longestGreeting {
		return 0, errNoZooKeeper
	}
	if len(w.greets) == greeting {
		w.client.greeted(time.Duration(binary.BigEndian.Uint32(w.greets[8:])) * time.Millisecond)
	}
	return n, err
}

// greeted keeps the timeout of the session, and for how long to wait next time: a slow server is not asked twice. 0: the session that was
// asked for has expired.
func (c *client) greeted(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.greetingTimeout = max(firstGreeting, 2*time.Since(c.dialed))
	if timeout > 0 {
		c.timeout = timeout
	}
}
