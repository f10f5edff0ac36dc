package zklock_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lab/testenv/testlocks"
)

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

func (a zooKeeperAdmin) entries(t testing.TB, key string) []string {
	t.Helper()
	names, _, err := a.Children(a.path(key))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return names
}

// owner is the session of the only node in a key's queue.
func (a zooKeeperAdmin) owner(t testing.TB, key string) int64 {
	t.Helper()
	names := a.entries(t, key)
	if len(names) != 1 {
		t.Fatalf("the queue of %s is %v", key, names)
	}
	_, node, err := a.Exists(a.path(key) + "/" + names[0])
	if err != nil {
		t.Fatal(err)
	}
	return node.EphemeralOwner
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
	conn := testlocks.Must(net.Dial("tcp", addr))(t)
	defer conn.Close()
	greeting := make([]byte, 16, 64) // version 0, no transaction seen
	greeting = append(greeting[:12], session[4:]...)
	message := func(body []byte) {
		testlocks.Must(conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)))(t)
		_, _ = conn.Read(make([]byte, 256)) // the answer, or the end
	}
	message(greeting)
	message([]byte{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5}) // request 1: close
}
