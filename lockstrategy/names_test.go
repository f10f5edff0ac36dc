package lockstrategy_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/stack/faultproxy"
	"locklab/topology"
)

// names is the DNS server of this test binary. It knows the names that end with [moving].
var names = new(nameServer)

const moving = ".moving.test."

type nameServer struct {
	at sync.Map // from a name to its address, a [4]byte
}

// start serves until the tests have ended. From now on Go's resolver asks this server only.
func (n *nameServer) start() {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	testenv.AtEnd(conn.Close)
	go n.serve(conn)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *nameServer) serve(conn net.PacketConn) {
	packet := make([]byte, 4096)
	for {
		length, from, err := conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var message dnsmessage.Message
		if message.Unpack(packet[:length]) == nil && len(message.Questions) == 1 {
			n.answer(&message)
			if reply, err := message.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}
}

// answer makes a reply of a question. It has no address of version 6.
func (n *nameServer) answer(message *dnsmessage.Message) {
	question := message.Questions[0]
	message.Response, message.Authoritative, message.Additionals = true, true, nil
	at, known := n.at.Load(question.Name.String())
	switch {
	case !known:
		message.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		message.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: at.([4]byte)},
		}}
	}
}

// moved is a server with a name, at 127.0.0.1 and then at 127.0.0.2. It has the same port at both.
type moved struct {
	name, port string
	server     string // the server itself, which both pass connections on to
	proxy      *faultproxy.Proxy
}

func (m *moved) serve(t *testing.T, last byte) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(net.IPv4(127, 0, 0, last).String(), m.port))
	if err != nil {
		testenv.Skip(t, fmt.Sprintf("no second address of the loopback interface: %v", err))
	}
	_, m.port, _ = net.SplitHostPort(l.Addr().String())
	m.proxy = faultproxy.New(faultproxy.TCP(m.server))
	m.proxy.Serve(l)
	t.Cleanup(m.proxy.Close)
	names.at.Store(m.name, [4]byte{127, 0, 0, last})
}

// addr is what a client is told.
func (m *moved) addr() string { return net.JoinHostPort(strings.TrimSuffix(m.name, "."), m.port) }

// A server comes back at another address of the same name. Its client looks the name up when it dials.
func TestAServerComesBackAtAnotherAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		strategy string
		needs    testenv.Need
	}{
		"single": {lockstrategy.NameRedis, testenv.RedisServer}, "master-slave": {lockstrategy.NameRedis, testenv.RedisServer},
		"sentinel": {lockstrategy.NameRedis, testenv.RedisServer}, "cluster": {lockstrategy.NameRedis, testenv.RedisServer},
		"redlock": {lockstrategy.NameRedLock, testenv.RedisServer}, "database": {lockstrategy.NameDatabase, testenv.MariaDB},
		"zookeeper": {lockstrategy.NameZooKeeper, testenv.ZooKeeper}, "etcd": {lockstrategy.NameEtcd, testenv.Etcd},
		"memcached": {lockstrategy.NameMemcached, testenv.Memcached},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Needs(t, c.needs)
			servers, cfg := movable(t, name, c.strategy)
			opened := must(topology.Connect(testenv.Context(t), c.strategy, cfg))(t)
			t.Cleanup(func() { _ = opened.Close() })
			var backends lockstrategy.Backends
			backends.Use(opened.Backend())
			lock := must(lockstrategy.Open(c.strategy, backends))(t)
			t.Cleanup(func() { _ = lock.Close() })
			released(t, must(lock.Acquire(testenv.Context(t), "k"))(t))
			for _, m := range servers {
				m.proxy.Close()
				m.serve(t, 2)
			}
			testenv.Eventually(t, "the lock is granted by the server at its new address", func() bool {
				lease, err := lock.Acquire(testenv.Context(t), "k", lockstrategy.TryOnce())
				return err == nil && lease.Release(testenv.Context(t)) == nil
			})
		})
	}
}

// movable starts servers that have names, and says how to reach them.
func movable(t *testing.T, name, strategy string) (servers []*moved, cfg topology.Config) {
	t.Helper()
	var addrs []string // of all
	if strategy == lockstrategy.NameRedis {
		started := testenv.Topology(t, name)
		cfg.Kind, cfg.Addrs, cfg.SentinelMaster = topology.Kind(name), started.Addrs, stack.SentinelMaster
		addrs = append(stack.Addrs(started.Nodes), stack.Addrs(started.Sentinels)...)
	} else {
		cfg.Addrs = must(testenv.Stack(t).Start(testenv.Context(t), strategy, 1, true))(t).Addrs
		addrs = cfg.Addrs
	}
	named := strings.Join(cfg.Addrs, " ")
	var announced []string
	for i, addr := range addrs {
		if _, after, isURL := strings.Cut(addr, "tcp("); isURL {
			addr, _, _ = strings.Cut(after, ")")
		}
		m := &moved{name: fmt.Sprintf("%s-%d%s", name, i, moving), port: "0", server: addr}
		m.serve(t, 1)
		servers, announced = append(servers, m), append(announced, addr+"="+m.addr())
		named = strings.ReplaceAll(named, addr, m.addr())
	}
	cfg.Addrs = strings.Fields(named)
	cfg.Map = must(topology.ParseAddrMap(announced))(t)
	return servers, cfg
}
