package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// askRole bounds the wait for one node's role, so that a node that hangs delays no new connection for long.
const askRole = time.Second

// errNoMaster says that all nodes are replicas, as they are while one of them is promoted.
const errNoMaster = replies.NotYet("none of the nodes is a master")

// masterSlave finds the master among the nodes of a topology without sentinels, where nobody announces a promotion. go-redis has no client
// for that. Every node is asked for its role before the first connection to the master. It is asked again when the master refuses a
// write, gives no answer in time, or cannot be dialed. When another node is the master then, no command is sent to the old one any more.
//
// What is NOT guaranteed: a master that works is not asked for its role again. Commands go to it until it refuses a write, although
// another node was promoted.
type masterSlave struct {
	nodes []*redis.Client

	last atomic.Value // *redis.Client: the last master that was found

	mu     sync.Mutex    // held while the nodes are asked
	master *redis.Client // nil if the nodes must be asked
	asked  time.Time     // when they were asked last
	err    error         // why that found no master
}

// openMasterSlave opens a client for each node, and one for the master. The order of the addresses does not matter.
func (r *Redis) openMasterSlave(ctx context.Context) error {
	m := &masterSlave{}
	for _, addr := range r.cfg.Addrs {
		node := newClient(addr, r.cfg.Access)
		m.nodes, r.replicas = append(m.nodes, node), append(r.replicas, node)
	}
	for _, node := range m.nodes {
		err := until(ctx, func(ctx context.Context) error {
			_, err := roleOf(ctx, node)
			return err
		})
		if err != nil {
			return err
		}
	}
	o := options(r.cfg.Access, r.String()).Simple() // its address is a name for people: dial knows where the master is
	o.Dialer = m.dial
	master := redis.NewClient(o)
	master.AddHook(named{r.String()})
	master.AddHook(later{})
	master.AddHook(m) // it sees each reply before later sends the command again
	r.Master, r.isMaster = master, m.isMaster
	_, err := m.find(ctx)
	return err
}

// find returns the client of the node that is the master. Callers that come while the nodes are asked share the next answer.
func (m *masterSlave) find(ctx context.Context) (*redis.Client, error) {
	came := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.master == nil && (m.err == nil || m.asked.Before(came)) {
		m.asked = time.Now()
		if m.master, m.err = m.ask(context.WithoutCancel(ctx)); m.err == nil {
			m.last.Store(m.master)
		}
	}
	return m.master, m.err
}

// ask asks all nodes simultaneously for their roles. Of several masters, the last one that was found stays.
func (m *masterSlave) ask(ctx context.Context) (*redis.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, askRole)
	defer cancel()
	roles, failed := make([]string, len(m.nodes)), make([]error, len(m.nodes))
	var asked sync.WaitGroup
	for i, node := range m.nodes {
		asked.Go(func() { roles[i], failed[i] = roleOf(ctx, node) })
	}
	asked.Wait()
	var masters []*redis.Client
	for i, node := range m.nodes {
		if roles[i] == "master" {
			masters = append(masters, node)
		}
	}
	unknown := errors.Join(failed...)
	last, _ := m.last.Load().(*redis.Client)
	switch {
	case slices.Contains(masters, last):
		return last, nil
	case len(masters) == 1:
		return masters[0], nil
	case len(masters) > 1:
		return nil, fmt.Errorf("%s is a second master: name one master and its replicas", masters[1].Options().Addr)
	case unknown != nil:
		return nil, fmt.Errorf("no master among the nodes that answer: %w", unknown)
	}
	return nil, errNoMaster
}

// forget lets the nodes be asked again before the next connection.
func (m *masterSlave) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.master, m.err = nil, nil
}

func (m *masterSlave) isMaster(node redis.UniversalClient) bool { return m.last.Load() == node }

// dial opens a connection to the master. Every error of it says that nothing was sent.
func (m *masterSlave) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	master, err := m.find(ctx)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	conn, err := master.Options().Dialer(ctx, network, master.Options().Addr)
	if err != nil {
		m.forget()
		return nil, err
	}
	return &toMaster{conn, m, master}, nil
}

// errOldMaster says that nothing was sent, because another node has become the master.
const errOldMaster = replies.NotYet("another node has become the master")

// toMaster is a connection to the node that was the master when it was opened.
type toMaster struct {
	net.Conn
	nodes *masterSlave
	node  *redis.Client
}

func (c *toMaster) old() error {
	if c.nodes.last.Load() == c.node {
		return nil
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: c.RemoteAddr(), Err: errOldMaster}
}

// Write sends nothing to a node that is not the master any more.
func (c *toMaster) Write(b []byte) (int, error) {
	if err := c.old(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// SyscallConn is what go-redis asks for before it uses an idle connection. An error makes it close the connection, and open another.
func (c *toMaster) SyscallConn() (syscall.RawConn, error) {
	if err := c.old(); err != nil {
		return nil, err
	}
	return socketOf(c.Conn)
}

// socketOf is the socket of a connection that another one wraps.
func socketOf(conn net.Conn) (syscall.RawConn, error) {
	if socket, is := conn.(syscall.Conn); is {
		return socket.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// DialHook implements [redis.Hook].
func (m *masterSlave) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (m *masterSlave) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		var network net.Error
		switch {
		case redis.IsReadOnlyError(err): // go-redis has closed that connection, and the next one asks
			m.forget()
		case errors.As(err, &network) && network.Timeout(): // the pool has more connections to a node that hangs: it may open none for long
			m.forget()
			go func() { _, _ = m.find(context.Background()) }()
		}
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (m *masterSlave) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func roleOf(ctx context.Context, client *redis.Client) (string, error) {
	answer, err := client.Do(ctx, "ROLE").Slice()
	if err != nil || len(answer) == 0 {
		return "", fmt.Errorf("ask for the role: %w", err)
	}
	role, _ := answer[0].(string)
	return role, nil
}
