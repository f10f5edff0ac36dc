package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// askRole bounds the wait for one node's role, so that a node that hangs delays no new connection for long.
const askRole = time.Second

// errNoMaster says that all nodes are replicas, as they are while one of them is promoted.
var errNoMaster = errors.New("none of the nodes is a master")

// masterSlave finds the master among the nodes of a topology without sentinels, where nobody announces a promotion. go-redis has no client
// for that. Every node is asked for its role before each connection to the master, and when the master refuses a write or gives no answer
// in time. When another node is the master then, [oneMaster] closes the connections to the old one.
//
// What is NOT guaranteed: a master that works is not asked for its role again. Commands go to it until it refuses a write, although
// another node was promoted.
type masterSlave struct {
	oneMaster
	nodes  []*redis.Client
	last   atomic.Pointer[redis.Client] // the last master that was found
	asking singleflight.Group           // callers that come while the nodes are asked share the answer
	again  func() error                 // opens a connection to the master, and closes it
}

// openMasterSlave opens a client for each node, and one for the master. The order of the addresses does not matter.
func (r *Redis) openMasterSlave(ctx context.Context) error {
	m := &masterSlave{oneMaster: oneMaster{open: make(map[*current]bool)}}
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
	r.Master = master
	r.isMaster = func(node redis.UniversalClient) bool { return redis.UniversalClient(m.last.Load()) == node }
	_, err := m.find(ctx)
	return err
}

// find returns the client of the node that is the master.
func (m *masterSlave) find(ctx context.Context) (*redis.Client, error) {
	master, err, _ := m.asking.Do("", func() (any, error) {
		master, err := m.ask(context.WithoutCancel(ctx))
		if err == nil {
			m.last.Store(master)
		}
		return master, err
	})
	return master.(*redis.Client), err
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
	last := m.last.Load()
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

// dial opens a connection to the master. Every error of it says that nothing was sent.
func (m *masterSlave) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	master, err := m.find(ctx)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return master.Options().Dialer(ctx, network, master.Options().Addr)
}

// DialHook implements [redis.Hook].
func (m *masterSlave) DialHook(next redis.DialHook) redis.DialHook {
	dial := m.oneMaster.DialHook(next)
	m.again = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), askRole+dialTimeout)
		defer cancel()
		conn, err := dial(ctx, "tcp", "")
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return dial
}

// ProcessHook implements [redis.Hook].
func (m *masterSlave) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		var network net.Error
		if redis.IsReadOnlyError(err) || errors.As(err, &network) && network.Timeout() {
			go m.asking.Do("again", func() (any, error) { return nil, m.again() }) //nolint:errcheck // the next command finds out
		}
		return err
	}
}

func roleOf(ctx context.Context, client *redis.Client) (string, error) {
	answer, err := client.Do(ctx, "ROLE").Slice()
	if err != nil || len(answer) == 0 {
		return "", fmt.Errorf("ask for the role: %w", err)
	}
	role, _ := answer[0].(string)
	return role, nil
}
