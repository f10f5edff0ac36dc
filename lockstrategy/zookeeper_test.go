package lockstrategy_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/stack/faultproxy"
)

func TestZooKeeperConforms(t *testing.T) {
	t.Parallel()
	for name, cohort := range withAndWithoutCohort {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := testenv.Ensemble(t, 1)[0]
			admin := newZooKeeperAdmin(t, node.Addr)
			for i := range 100 { // so that the first request of a case is what it is about
				admin.queue(t, fmt.Sprintf("lock:case-%d", i))
				admin.queue(t, fmt.Sprintf("lock:cohort-case-%d", i))
			}
			locktest.Run(t, zooKeeperBackend(admin, node.Addr, cohort))
		})
	}
}

func zooKeeperBackend(admin zooKeeperAdmin, addr string, cohort bool) locktest.Backend {
	return locktest.Backend{
		Wired: true, Fenced: true, Cohort: cohort, Yields: cohort, Queues: true,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			network := new(zooKeeperNetwork)
			z := must(lockstrategy.NewZooKeeper([]string{behind(t, s.Wire, addr)}, lockstrategy.ZooKeeperConfig{
				Lease: s.Lease, Request: request(s), Dial: network.dial,
			}))(t)
			return locktest.Client{
				Opened: behindCohort(t, cohort, z, z.Close, s.HandOff),
				Crash:  network.crash,
				Sent:   func() int { return int(network.answers.Load()) },
			}
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

// zooKeeperAdmin is a connection past all locks.
type zooKeeperAdmin struct{ *zk.Conn }

func newZooKeeperAdmin(t testing.TB, addr string) zooKeeperAdmin {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(silentLog{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
			continue
		}
	})
	return zooKeeperAdmin{conn}
}

type silentLog struct{}

func (silentLog) Printf(string, ...any) {}

func (zooKeeperAdmin) path(key string) string { return "/locklab/" + url.PathEscape(key) }

// queue creates the node of a key, as the first caller does.
func (a zooKeeperAdmin) queue(t testing.TB, key string) {
	t.Helper()
	_, err := a.Create("/locklab", nil, 0, zk.WorldACL(zk.PermAll))
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		t.Fatal(err)
	}
	if _, err := a.Create(a.path(key), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
}

func (a zooKeeperAdmin) entries(t testing.TB, key string) []string {
	t.Helper()
	names, _, err := a.Children(a.path(key))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return names
}

// zooKeeperNetwork is the network of one client. It counts the answers to requests, and can be cut for good.
type zooKeeperNetwork struct {
	answers atomic.Int64
	mu      sync.Mutex
	conn    net.Conn
	session []byte // the answer to the greeting: length, version, timeout, session's number, length of its password, password
	cut     bool
}

func (n *zooKeeperNetwork) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		return nil, errors.Join(errors.New("the process has crashed"), conn.Close())
	}
	n.conn = countingConn{conn, n}
	return n.conn, nil
}

func (n *zooKeeperNetwork) crash() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
	_ = n.conn.Close()
}

type countingConn struct {
	net.Conn
	network *zooKeeperNetwork
}

// Read counts messages whose number is that of a request: pings and events have negative ones, and a greeting begins with zero.
func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n >= 8 && int32(binary.BigEndian.Uint32(p)) > 0 {
		c.network.answers.Add(1)
	} else if n >= 36 && binary.BigEndian.Uint32(p) == 0 {
		c.network.mu.Lock()
		defer c.network.mu.Unlock()
		c.network.session = bytes.Clone(p[:36])
	}
	return n, err
}

// expire ends the client's session on the server: another client opens the same session, and closes it.
func (n *zooKeeperNetwork) expire(t *testing.T, addr string) {
	t.Helper()
	n.crash()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cut = false
	}()
	n.mu.Lock()
	session := bytes.Clone(n.session)
	n.mu.Unlock()
	conn := must(net.Dial("tcp", addr))(t)
	defer conn.Close()
	greeting := make([]byte, 16, 64) // version 0, no transaction seen
	greeting = append(greeting[:12], session[4:]...)
	message := func(body []byte) {
		must(conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)))(t)
		_, _ = conn.Read(make([]byte, 256)) // the answer, or the end
	}
	message(greeting)
	message([]byte{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5}) // request 1: close
}

// A create whose answer is lost is found by its GUID: the caller gets its lease, and stands in the queue once.
func TestZooKeeperFindsItsNode(t *testing.T) {
	t.Parallel()
	addr := testenv.Ensemble(t, 1)[0].Addr
	admin := newZooKeeperAdmin(t, addr)
	wire := faultproxy.New(faultproxy.TCP(addr))
	t.Cleanup(wire.Close)
	lock := open(t, lockstrategy.NameZooKeeper, lockstrategy.Backends{
		ZooKeeper: []string{must(wire.Listen())(t)}, Lease: time.Minute, Request: 20 * time.Second,
	})
	giveBack(t, granted(t, lock, "k"))
	lost := make(chan struct{})
	wire.LoseReply(nil, func(faultproxy.Chunk) { close(lost) })
	lease := must(lock.Acquire(t.Context(), "k"))(t)
	select {
	case <-lost:
	default:
		t.Fatal("no answer was lost: nothing is tested")
	}
	if names := admin.entries(t, "k"); len(names) != 1 {
		t.Errorf("the queue has %v", names)
	}
	giveBack(t, lease)
}

// An expired session ends its leases long before they would be renewed. A caller that waits enters the queue again, in a new session.
func TestZooKeeperSessionExpires(t *testing.T) {
	t.Parallel()
	addr := testenv.Ensemble(t, 1)[0].Addr
	network := new(zooKeeperNetwork)
	z := must(lockstrategy.NewZooKeeper([]string{addr}, lockstrategy.ZooKeeperConfig{Lease: time.Hour, Dial: network.dial}))(t)
	lock := behindCohort(t, false, z, z.Close, lockstrategy.HandOff{})
	lease := granted(t, lock, "k")
	waiter := make(chan *lockstrategy.Lease)
	other := granted(t, open(t, lockstrategy.NameZooKeeper, lockstrategy.Backends{ZooKeeper: []string{addr}}), "other")
	go func() {
		lease, err := lock.Acquire(t.Context(), "other")
		if err != nil {
			t.Error(err)
		}
		waiter <- lease
	}()
	admin := newZooKeeperAdmin(t, addr)
	testenv.Eventually(t, "it waits", func() bool { return len(admin.entries(t, "other")) == 2 })
	network.expire(t, addr)
	<-lease.Context().Done()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrGone) {
		t.Errorf("the lease ended with %v", cause)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
		t.Errorf("its release says %v", err)
	}
	testenv.Eventually(t, "it waits again", func() bool { return len(admin.entries(t, "other")) == 2 })
	giveBack(t, other)
	giveBack(t, <-waiter)
	giveBack(t, granted(t, lock, "k"))
}

// A node that is deleted by hand ends its lease long before it would be renewed.
func TestZooKeeperNodeIsDeleted(t *testing.T) {
	t.Parallel()
	addr := testenv.Ensemble(t, 1)[0].Addr
	lock := open(t, lockstrategy.NameZooKeeper, lockstrategy.Backends{ZooKeeper: []string{addr}, Lease: time.Hour})
	lease := granted(t, lock, "./k") // no name of a node
	admin := newZooKeeperAdmin(t, addr)
	path := "/locklab/%2E%2Fk"
	names, _, err := admin.Children(path)
	if err != nil || len(names) != 1 {
		t.Fatalf("the queue has %v (%v)", names, err)
	}
	if err := admin.Delete(path+"/"+names[0], -1); err != nil {
		t.Fatal(err)
	}
	<-lease.Context().Done()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrGone) {
		t.Errorf("the lease ended with %v", cause)
	}
	_ = lease.Release(t.Context())
}

// A server that is cut off from the majority still answers reads. It must not keep a lease alive: nothing is counted from then on.
func TestZooKeeperLeaseNeedsAMajority(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	nodes := testenv.Ensemble(t, 3)
	lock := open(t, lockstrategy.NameZooKeeper, lockstrategy.Backends{ZooKeeper: []string{nodes[0].Addr}, Lease: timeout})
	lease := granted(t, lock, "k")
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

// A server that does not answer is left for another, in the same session.
func TestZooKeeperLeavesAServerThatHangs(t *testing.T) {
	t.Parallel()
	addr := testenv.Ensemble(t, 1)[0].Addr
	network := new(zooKeeperNetwork)
	ways := make(map[string]*faultproxy.Proxy)
	var addrs []string
	for range 2 {
		way := faultproxy.New(faultproxy.TCP(addr))
		t.Cleanup(way.Close)
		addrs = append(addrs, must(way.Listen())(t))
		ways[addrs[len(addrs)-1]] = way
	}
	z := must(lockstrategy.NewZooKeeper(addrs, lockstrategy.ZooKeeperConfig{Lease: time.Hour, Dial: network.dial}))(t)
	lock := behindCohort(t, false, z, z.Close, lockstrategy.HandOff{})
	held := granted(t, lock, "held")
	ways[network.conn.RemoteAddr().String()].Hang()
	if err := z.Ping(t.Context()); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Errorf("a server that hangs: %v", err)
	}
	testenv.Eventually(t, "the other one answers", func() bool { return z.Ping(t.Context()) == nil })
	giveBack(t, held)
}

// A lock that was closed keeps its leases: the session ends with the last of them.
func TestZooKeeperClosedKeepsItsLeases(t *testing.T) {
	t.Parallel()
	addr := testenv.Ensemble(t, 1)[0].Addr
	lock := open(t, lockstrategy.NameZooKeeper, lockstrategy.Backends{ZooKeeper: []string{addr}, Lease: 2 * time.Second})
	lease := granted(t, lock, "k")
	before := lease.Until()
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Acquire(t.Context(), "b"); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Errorf("a lock that was closed: %v", err)
	}
	testenv.Eventually(t, "it is renewed", func() bool { return lease.Until().After(before) })
	giveBack(t, lease)
	admin := newZooKeeperAdmin(t, addr)
	if names := admin.entries(t, "k"); len(names) != 0 {
		t.Errorf("the queue has %v", names)
	}
}

// More hand-offs than a token has room for would reach the tokens of the next grant.
func TestZooKeeperTokensGrow(t *testing.T) {
	t.Parallel()
	node := testenv.Ensemble(t, 1)[0]
	lock := open(t, lockstrategy.NameZooKeeper, lockstrategy.Backends{
		ZooKeeper: []string{node.Addr}, HandOff: lockstrategy.HandOff{Count: 10_000, Time: time.Hour},
	})
	var last atomic.Uint64
	grow := func(lease *lockstrategy.Lease) {
		if token := lease.FencingToken(); token <= last.Load() || token >= 1<<53 {
			t.Errorf("token %d was followed by %d", last.Load(), token)
		}
		last.Store(lease.FencingToken())
		giveBack(t, lease)
	}
	first := granted(t, lock, "k")
	var callers sync.WaitGroup
	for range 3000 {
		callers.Go(func() {
			lease, err := lock.Acquire(t.Context(), "k")
			if err != nil {
				t.Error(err)
				return
			}
			grow(lease)
		})
	}
	testenv.Eventually(t, "all wait", func() bool { return lock.Cohort.Waiting() == 3000 })
	grow(first)
	callers.Wait()
	if _, err := node.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "it is back", func() bool {
		lease, err := lock.Acquire(t.Context(), "k")
		if err == nil {
			grow(lease)
		}
		return err == nil
	})
}

// What is no ZooKeeper, or is away, is named; no request waits for it.
func TestZooKeeperUnavailable(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.ZooKeeper)
	talk := func(say string) string {
		l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
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
			lock := open(t, lockstrategy.NameZooKeeper, lockstrategy.Backends{ZooKeeper: []string{c.addr}, Request: time.Second})
			_, err := lock.Acquire(t.Context(), "k")
			says := fmt.Sprint(err)
			if !errors.Is(err, lockstrategy.ErrUnavailable) || !regexp.MustCompile(c.want).MatchString(says) || !strings.Contains(says, c.addr) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// granted acquires key from a server that may be slow: it has just been started, on a machine that is busy.
func granted(t *testing.T, lock lockstrategy.Strategy, key string) (lease *lockstrategy.Lease) {
	t.Helper()
	testenv.Eventually(t, "it grants "+key, func() bool {
		var err error
		lease, err = lock.Acquire(t.Context(), key)
		if err != nil && !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	return lease
}

func giveBack(t *testing.T, lease *lockstrategy.Lease) {
	t.Helper()
	if err := lease.Release(context.Background()); err != nil {
		t.Error(err)
	}
}
