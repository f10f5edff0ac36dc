package lockstrategy_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
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
	}
	return n, err
}
