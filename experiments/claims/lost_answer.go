package claims

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/stack"
	"locklab/stack/faultproxy"
	"locklab/topology"
)

// loser is a client of one Redis that can be made to lose an answer. The server has done what it was asked, and its
// answer has come to this machine; then it is thrown away, and the connection closed.
type loser struct {
	steps.Client
	t     *experiments.Trial
	proxy *stack.Proxy
	admin redis.UniversalClient // its connections lose nothing
	key   string                // of the lock
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
	if l.proxy, err = t.Stack.Proxy("wire", servers.Nodes[0].Addr); err != nil {
		return nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: l.proxy.Addr, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	t.Cleanup(client.Close)
	l.UniversalClient = client
	return l, l.Ping(ctx).Err() // a connection is up: what begins one is no answer to lose
}

// LoseAnswer implements [steps.Loser].
func (l *loser) LoseAnswer() {
	l.proxy.LoseReply(nil, func(reply faultproxy.Chunk) { l.prove(string(reply.Data)) })
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
