package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// askRole bounds the wait for one node's role, so that a node that hangs delays no new connection for long.
const askRole = time.Second

// errNoMaster says that all nodes are replicas, as they are while one of them is promoted.
var errNoMaster = errors.New("none of the nodes is a master")

// masterSlave finds the master among the nodes of a topology without sentinels, where nobody announces a promotion. go-redis has no client
// for that. Every node is asked for its role before the first connection to the master. It is asked again when the master refuses a
// write, or cannot be dialed.
//
// What is NOT guaranteed: connections that are open stay at a master that still accepts writes, although another node was promoted.
type masterSlave struct {
	nodes []*redis.Client

	mu     sync.Mutex    // held while the nodes are asked
	master *redis.Client // nil: the nodes must be asked
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
	master.AddHook(m) // the last one added is asked first, and later asks again
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
		m.master, m.err = m.ask(context.WithoutCancel(ctx))
	}
	return m.master, m.err
}

// ask asks all nodes simultaneously for their roles.
func (m *masterSlave) ask(ctx context.Context) (master *redis.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, askRole)
	defer cancel()
	roles, failed := make([]string, len(m.nodes)), make([]error, len(m.nodes))
	var asked sync.WaitGroup
	for i, node := range m.nodes {
		asked.Go(func() { roles[i], failed[i] = roleOf(ctx, node) })
	}
	asked.Wait()
	for i, node := range m.nodes {
		switch {
		case roles[i] != "master":
		case master != nil:
			return nil, fmt.Errorf("%s is a second master: name one master and its replicas", node.Options().Addr)
		default:
			master = node
		}
	}
	if unknown := errors.Join(failed...); master == nil && unknown != nil {
		return nil, fmt.Errorf("no master among the nodes that answer: %w", unknown)
	}
	if master == nil {
		return nil, errNoMaster
	}
	return master, nil
}

// forget lets the nodes be asked again before the next connection.
func (m *masterSlave) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.master, m.err = nil, nil
}

func (m *masterSlave) isMaster(node redis.UniversalClient) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.master == node
}

// dial opens a connection to the master. Every error of it says that nothing was sent.
func (m *masterSlave) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	master, err := m.find(ctx)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	conn, err := master.Options().Dialer(ctx, network, master.Options().Addr)
	if err != nil {
		m.forget()
	}
	return conn, err
}

// DialHook implements [redis.Hook].
func (m *masterSlave) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook]. go-redis has closed the connection that refused to write: the next one goes to the new master.
func (m *masterSlave) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if redis.IsReadOnlyError(err) {
			m.forget()
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
