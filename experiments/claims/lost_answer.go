package claims

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/stack"
	"locklab/topology"
)

// loser is a client of one Redis that can be made to lose an answer. The server has done what it was asked, and its
// answer has come to this machine; then it is thrown away, and the connection closed.
type loser struct {
	steps.Client
	t     *experiments.Trial
	admin redis.UniversalClient // its connections lose nothing
	key   string                // of the lock
	armed atomic.Bool
}

// newLoser starts one Redis. No command is repeated, as everywhere in the lab.
func newLoser(ctx context.Context, t *experiments.Trial, key string) (*loser, error) {
	servers, err := t.Stack.Topology(ctx, string(topology.Single), t.Real)
	if err != nil {
		return nil, err
	}
	l := &loser{t: t, key: key}
	if l.admin, err = connect(ctx, t, servers); err != nil {
		return nil, err
	}
	l.UniversalClient = l.connect(servers.Nodes[0])
	return l, l.Ping(ctx).Err() // a connection is up: what begins one is no answer to lose
}

func (l *loser) connect(node *stack.Node) redis.UniversalClient {
	client := redis.NewClient(&redis.Options{
		Addr: node.Addr, Dialer: l.dial, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
	})
	l.t.Cleanup(client.Close)
	return client
}

// LoseAnswer implements [steps.Loser].
func (l *loser) LoseAnswer() { l.armed.Store(true) }

func (l *loser) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &lossy{c, l}, nil
}

type lossy struct {
	net.Conn
	loser *loser
}

// Read passes on what comes, unless it is to be lost.
func (c *lossy) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n == 0 || !c.loser.armed.CompareAndSwap(true, false) {
		return n, err
	}
	c.loser.prove(string(b[:n]))
	c.Close()
	return 0, fmt.Errorf("the answer is lost: %w", net.ErrClosed)
}

// leftBehind notes that the lock is there, though nobody has it, if the server says so.
func (l *loser) leftBehind(ctx context.Context) error {
	there, err := l.admin.Exists(ctx, l.key).Result()
	if there > 0 {
		l.t.Note("redis", steps.Behind)
	}
	return err
}

// prove records the fault, with the lock as the server has it at this moment. Without a lock nothing is proven.
func (l *loser) prove(answer string) {
	proof := ""
	kind, err := l.admin.Type(context.Background(), l.key).Result()
	if err == nil && kind != "none" {
		proof = fmt.Sprintf("the answer %q had come and was not passed on; the server has %s, a %s", answer, l.key, kind)
	}
	l.t.Fault("wire", "the answer is lost, the connection closed", proof)
}
