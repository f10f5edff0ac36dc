package zklock_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/locktest"
	"locklab/lockstrategy/zklock"
	"locklab/versions"
)

var sharedZooKeeper = testenv.Shared[*servers.ZooKeeperNode]{
	Need: testenv.ZooKeeper,
	Start: func(ctx context.Context, s *servers.Stack) (*servers.ZooKeeperNode, error) {
		nodes, err := s.ZooKeeper(ctx, 1)
		if err != nil {
			return nil, err
		}
		return nodes[0], nil
	},
}

func TestZooKeeperConforms(t *testing.T) {
	t.Parallel()
	for name, queued := range testlocks.AloneAndQueued {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testlocks.OnServer(t, queued)
			node := sharedZooKeeper.Of(t)
			admin := newZooKeeperAdmin(t, node.Addr)
			locktest.Run(t, zooKeeperBackend(admin, node.Addr, queued))
		})
	}
}

func zooKeeperBackend(admin zooKeeperAdmin, addr string, queued bool) locktest.Backend {
	return locktest.Backend{
		Wired: true, Fenced: true, Queued: queued, Yields: queued, Queues: true, Watches: true,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			network, bound := new(zooKeeperNetwork), testlocks.Request(s)
			if s.Wire != nil { // a request lasts so long while the wire is cut
				bound = min(bound, 4*time.Second)
			}
			z := testlocks.Must(zklock.New([]string{testlocks.Behind(t, s.Wire, addr)}, zklock.Config{
				Timing: lockstrategy.Timing{Expiry: s.Lease, Request: bound}, Dial: network.dial,
			}))(t)
			client := testlocks.Opened(t, queued, z, z.Close, s.HandOff)
			client.Crash = network.crash
			client.Sent = func() int { return int(network.answers.Load()) }
			return client
		},
		Server: &locktest.Server{
			Entries: func(t *testing.T, key string) []string { return admin.entries(t, key) },
			Forget: func(t *testing.T, key string) {
				for _, name := range admin.entries(t, key) {
					if err := admin.Delete(admin.path(key)+"/"+name, -1); err != nil {
						t.Error(err)
					}
				}
			},
			Listening:   func(t *testing.T, key string) int { return len(admin.entries(t, key)) },
			ForgetToken: func(*testing.T, string) {}, // a transaction number is not lost
		},
	}
}

// A create whose answer is lost is found by its GUID: the caller gets its lease, and stands in the queue once. A release
// whose answer is lost has released.
func TestZooKeeperFindsItsNode(t *testing.T) {
	t.Parallel()
	addr := sharedZooKeeper.Of(t).Addr
	admin := newZooKeeperAdmin(t, addr)
	wire := faultproxy.New(faultproxy.TCP(addr))
	t.Cleanup(wire.Close)
	lock := testlocks.Open(t, versions.NameZooKeeper, versions.Backends{
		ZooKeeper: []string{testlocks.Must(wire.Listen())(t)}, Expiry: time.Minute, Request: 20 * time.Second,
	})
	testlocks.Released(t, testlocks.Granted(t, lock, t.Name()))
	lost := make(chan struct{})
	wire.LoseReply(nil, func(faultproxy.Chunk) { close(lost) })
	lease := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	select {
	case <-lost:
	default:
		t.Fatal("no answer was lost: nothing is tested")
	}
	if names := admin.entries(t, t.Name()); len(names) != 1 {
		t.Errorf("the queue has %v", names)
	}
	lost = make(chan struct{})
	wire.LoseReply(nil, func(faultproxy.Chunk) { close(lost) })
	testlocks.Released(t, lease)
	<-lost
}

// An expired session ends its leases long before they would be renewed. A caller that waits enters the queue again, in a new session.
func TestZooKeeperSessionExpires(t *testing.T) {
	t.Parallel()
	addr := sharedZooKeeper.Of(t).Addr
	network := new(zooKeeperNetwork)
	cfg := zklock.Config{Timing: lockstrategy.Timing{Expiry: time.Hour, Request: 15 * time.Second}, Dial: network.dial}
	z := testlocks.Must(zklock.New([]string{addr}, cfg))(t)
	lock := testlocks.Opened(t, false, z, z.Close, localqueue.HandOff{})
	lease := testlocks.Granted(t, lock, t.Name())
	other := testlocks.Granted(t, testlocks.Open(t, versions.NameZooKeeper, versions.Backends{ZooKeeper: []string{addr}}), t.Name()+"/other")
	waiter := testlocks.InBackground(t, lock, t.Name()+"/other")
	admin := newZooKeeperAdmin(t, addr)
	testenv.Eventually(t, "it waits", func() bool { return len(admin.entries(t, t.Name()+"/other")) == 2 })
	network.expire(t, addr)
	<-lease.Context().Done()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrGone) {
		t.Errorf("the lease ended with %v", cause)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
		t.Errorf("its release says %v", err)
	}
	testenv.Eventually(t, "it waits again", func() bool { return len(admin.entries(t, t.Name()+"/other")) == 2 })
	testlocks.Released(t, other)
	testlocks.Released(t, <-waiter)
	testlocks.Released(t, testlocks.Granted(t, lock, t.Name()))
}

// The renewal of a lease has two bounds: what LeaseFor says is one of them, because the session keeps the node. The shorter one counts.
func TestZooKeeperTheShorterBoundCounts(t *testing.T) {
	t.Parallel()
	addr := sharedZooKeeper.Of(t).Addr
	lock := testlocks.Open(t, versions.NameZooKeeper, versions.Backends{ZooKeeper: []string{addr}, Expiry: time.Hour})
	testlocks.Released(t, testlocks.Granted(t, lock, t.Name()))
	const short, long = time.Minute, 10 * time.Minute
	for _, options := range [][]lockstrategy.Option{
		{lockstrategy.LeaseFor(long), lockstrategy.RenewAtMost(short)},
		{lockstrategy.LeaseFor(short), lockstrategy.RenewAtMost(long)},
	} {
		lease := testlocks.Must(lock.Acquire(t.Context(), t.Name(), options...))(t)
		if left := time.Until(lease.Until()); left > short {
			t.Errorf("it is relied on for %s", left)
		}
		testlocks.Released(t, lease)
	}
}

// Otherwise each key that was ever locked would stay. The servers look for empty containers once a minute, and here more often.
func TestZooKeeperTheServersDeleteAKeysNode(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dznode.container.checkIntervalMs=100")
	addr := testenv.Ensemble(t, 1)[0].Addr
	lock := testlocks.Open(t, versions.NameZooKeeper, versions.Backends{ZooKeeper: []string{addr}})
	admin := newZooKeeperAdmin(t, addr)
	for _, key := range []string{"the first makes the root", "k"} {
		testlocks.Released(t, testlocks.Granted(t, lock, key))
		testenv.Eventually(t, "the node of "+key+" is gone", func() bool {
			there, _, err := admin.Exists(admin.path(key))
			return !there && err == nil
		})
	}
}

// A server that is cut off from the majority still answers reads. It must not keep a lease alive: nothing is counted from then on.
func TestZooKeeperLeaseNeedsAMajority(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	nodes := testenv.Ensemble(t, 3)
	lock := testlocks.Open(t, versions.NameZooKeeper, versions.Backends{ZooKeeper: []string{nodes[0].Addr}, Expiry: timeout})
	lease := testlocks.Granted(t, lock, "k")
	testenv.Pause(t, nodes[1])
	testenv.Pause(t, nodes[2])
	paused := time.Now()
	<-lease.Context().Done()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrUnreachable) {
		t.Errorf("the lease ended with %v", cause)
	}
	if relied := lease.Until().Sub(paused); relied > timeout/2 {
		t.Errorf("it was relied on for %s without a majority", relied)
	}
	_ = lease.Release(t.Context())
}

// A ping that ends with its context says so, and that no server has answered.
func TestZooKeeperAPingEndsWithItsContext(t *testing.T) {
	z := testlocks.Must(zklock.New([]string{"127.0.0.1:1"}, zklock.Config{}))(t)
	defer z.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := z.Ping(ctx); !errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A server that does not answer is left for another, in the same session.
func TestZooKeeperLeavesAServerThatHangs(t *testing.T) {
	t.Parallel()
	addr := sharedZooKeeper.Of(t).Addr
	network := new(zooKeeperNetwork)
	ways := make(map[string]*faultproxy.Proxy)
	var addrs []string
	for range 2 {
		way := faultproxy.New(faultproxy.TCP(addr))
		t.Cleanup(way.Close)
		addrs = append(addrs, testlocks.Must(way.Listen())(t))
		ways[addrs[len(addrs)-1]] = way
	}
	cfg := zklock.Config{Timing: lockstrategy.Timing{Expiry: time.Hour, Request: 5 * time.Second}, Dial: network.dial}
	z := testlocks.Must(zklock.New(addrs, cfg))(t)
	lock := testlocks.Opened(t, false, z, z.Close, localqueue.HandOff{})
	held := testlocks.Granted(t, lock, t.Name())
	ways[network.conn.RemoteAddr().String()].Hang()
	if err := z.Ping(t.Context()); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Errorf("a server that hangs: %v", err)
	}
	testenv.Eventually(t, "the other one answers", func() bool { return z.Ping(t.Context()) == nil })
	testlocks.Released(t, held)
}

// A server alone that has just started may never answer a greeting: while it loads its database, it cannot close a connection.
// The client greets again, long before a request's time is over.
func TestZooKeeperGreetsAgain(t *testing.T) {
	t.Parallel()
	addr := sharedZooKeeper.Of(t).Addr
	silent := testlocks.Must(net.Listen("tcp", "127.0.0.1:0"))(t) // whose connections nobody reads
	defer silent.Close()
	first := silent.Addr().String()
	z := testlocks.Must(zklock.New([]string{addr}, zklock.Config{
		Timing: lockstrategy.Timing{Expiry: time.Hour, Request: 15 * time.Second},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			addr, first = cmp.Or(first, addr), ""
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}))(t)
	testlocks.Released(t, testlocks.Must(testlocks.Opened(t, false, z, z.Close, localqueue.HandOff{}).Acquire(t.Context(), t.Name()))(t))
}

// While Close ends the session, nothing else is sent, and Close ends although nothing could be written any more.
func TestZooKeeperCloseEnds(t *testing.T) {
	t.Parallel()
	sent, late := make(chan struct{}), new(atomic.Int32)
	z := testlocks.Must(zklock.New([]string{sharedZooKeeper.Of(t).Addr}, zklock.Config{
		Timing: lockstrategy.Timing{Expiry: time.Hour, Request: 15 * time.Second},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &farewellConn{Conn: conn, sent: sent, broken: make(chan struct{}), late: late}, err
		},
	}))(t)
	if err := z.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all errgroup.Group
	all.Go(z.Close)
	for range 20 {
		all.Go(func() error {
			select {
			case <-sent:
			case <-testenv.Context(t).Done():
				return errors.New("the session is not ended")
			}
			if err := z.Ping(t.Context()); !errors.Is(err, lockstrategy.ErrClosed) {
				return fmt.Errorf("a ping of a closed lock: %w", err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil || late.Load() > 0 {
		t.Errorf("%v; %d requests were sent after the end of the session", err, late.Load())
	}
}

// farewellConn is a connection that writes nothing after the end of the session. Then it reads nothing until it is broken.
type farewellConn struct {
	net.Conn
	sent, broken chan struct{}
	once         sync.Once
	late         *atomic.Int32 // requests after that
}

func (c *farewellConn) Write(p []byte) (int, error) {
	const closing = -11
	if requestIn(p) == closing {
		defer close(c.sent)
		return c.Conn.Write(p)
	}
	select {
	case <-c.sent:
		c.late.Add(1)
		return 0, &net.OpError{Op: "write", Err: net.ErrClosed}
	default:
		return c.Conn.Write(p)
	}
}

func (c *farewellConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.sent:
		<-c.broken
	default:
	}
	return n, err
}

func (c *farewellConn) Close() error {
	c.once.Do(func() { close(c.broken) })
	return c.Conn.Close()
}

// A server that answers a greeting slowly is greeted once when the client connects again: the client knows how long it takes.
func TestZooKeeperRemembersASlowGreeting(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.New(faultproxy.TCP(sharedZooKeeper.Of(t).Addr))
	defer proxy.Close()
	proxy.Delay(faultproxy.Latency(700*time.Millisecond, 0))
	var dials atomic.Int32
	z := testlocks.Must(zklock.New([]string{testlocks.Must(proxy.Listen())(t)}, zklock.Config{
		Timing: lockstrategy.Timing{Expiry: time.Hour, Request: 15 * time.Second},
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}))(t)
	lock := testlocks.Opened(t, false, z, z.Close, localqueue.HandOff{})
	testlocks.Released(t, testlocks.Granted(t, lock, t.Name()))
	first, again := dials.Load(), int32(0)
	for range 3 { // a stall may make one greeting slower than the client knows
		before := dials.Load()
		proxy.Reset()
		testlocks.Released(t, testlocks.Granted(t, lock, t.Name()))
		if again = dials.Load() - before; again == 1 {
			break
		}
	}
	if first < 2 || again != 1 {
		t.Errorf("%d connections at first, and %d afterwards; want two or more, and one", first, again)
	}
}

// A request is sent again when its connection has ended and only the write says so.
func TestZooKeeperWritesAgain(t *testing.T) {
	t.Parallel()
	var ends atomic.Bool // with the next write
	z := over(t, lockstrategy.Timing{Expiry: time.Hour, Request: 15 * time.Second}, func(conn net.Conn, _ int32) {
		if ends.Swap(false) {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	})
	lease := testlocks.Granted(t, z, t.Name())
	ends.Store(true)
	testlocks.Released(t, lease)
	if ends.Load() {
		t.Error("no write failed: nothing is tested")
	}
}

// A caller that has waited for long holds the key only when its node is still there: its session may have expired meanwhile.
func TestZooKeeperALateGrantIsConfirmed(t *testing.T) {
	t.Parallel()
	admin, key := newZooKeeperAdmin(t, sharedZooKeeper.Of(t).Addr), t.Name()
	var deleted atomic.Int32
	z := over(t, lockstrategy.Timing{Expiry: 6 * time.Second, Request: 3 * time.Second}, func(_ net.Conn, request int32) {
		const setData = 5
		if request != setData || deleted.Load() > 0 {
			return
		}
		names, _, err := admin.Children(admin.path(key))
		for _, name := range names {
			deleted.Add(1)
			err = errors.Join(err, admin.Delete(admin.path(key)+"/"+name, -1))
		}
		if err != nil {
			t.Error(err)
		}
	})
	other := testlocks.Open(t, versions.NameZooKeeper, versions.Backends{ZooKeeper: []string{sharedZooKeeper.Of(t).Addr}, Expiry: time.Hour})
	first := testlocks.Granted(t, other, key)
	granted := testlocks.InBackground(t, z, key)
	testenv.Eventually(t, "the second waits", func() bool { return len(admin.entries(t, key)) == 2 })
	time.Sleep(1100 * time.Millisecond) // more than a third of its lease
	testlocks.Released(t, first)
	testlocks.Released(t, <-granted)
	if deleted.Load() != 1 {
		t.Errorf("%d nodes were deleted when the late grant was confirmed, want 1", deleted.Load())
	}
}

// over returns a lock on the shared server. before is called before a request is written, and may break the connection.
func over(t *testing.T, timing lockstrategy.Timing, before func(conn net.Conn, request int32)) locktest.Client {
	t.Helper()
	z := testlocks.Must(zklock.New([]string{sharedZooKeeper.Of(t).Addr}, zklock.Config{
		Timing: timing,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return watchedConn{conn, before}, err
		},
	}))(t)
	return testlocks.Opened(t, false, z, z.Close, localqueue.HandOff{})
}

type watchedConn struct {
	net.Conn
	before func(conn net.Conn, request int32)
}

func (c watchedConn) Write(p []byte) (int, error) {
	c.before(c.Conn, requestIn(p))
	return c.Conn.Write(p)
}

// requestIn is which request p is, behind its length and its number.
func requestIn(p []byte) int32 {
	if len(p) < 12 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(p[8:]))
}

// The error names a server that is away, or is no ZooKeeper. No request waits for it.
func TestZooKeeperUnavailable(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.ZooKeeper)
	talk := func(say string) string {
		l := testlocks.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte(say))
				defer conn.Close()
			}
		}()
		return l.Addr().String()
	}
	for name, c := range map[string]struct{ addr, want string }{
		"another protocol": {talk("HTTP/1.1 400 Bad Request\r\n\r\n"), "it is no ZooKeeper"},
		"no word":          {talk(""), "time|does not answer"},
		"away":             {"127.0.0.1:1", "connection refused"},
		"no such host":     {"localhost.invalid:2181", "localhost.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock := testlocks.Open(t, versions.NameZooKeeper, versions.Backends{ZooKeeper: []string{c.addr}, Request: 5 * time.Second})
			_, err := lock.Acquire(t.Context(), "k")
			says := fmt.Sprint(err)
			if !errors.Is(err, lockstrategy.ErrUnavailable) || !regexp.MustCompile(c.want).MatchString(says) || !strings.Contains(says, c.addr) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Between two dials lies a pause, however fast a dial fails.
func TestZooKeeperDialsWithPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		refuse := func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, errors.New("refused")
		}
		cfg := zklock.Config{Timing: lockstrategy.Timing{Request: time.Second}, Dial: refuse}
		z := testlocks.Must(zklock.New([]string{"127.0.0.1:1", "127.0.0.1:2"}, cfg))(t)
		began := time.Now()
		if _, err := z.Acquire(t.Context(), "k"); !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		_ = z.Close()
		if most := int64(time.Since(began)/(100*time.Millisecond)) + 1; dials.Load() < 2 || dials.Load() > most {
			t.Errorf("%d dials, want 2 to %d", dials.Load(), most)
		}
	})
}
