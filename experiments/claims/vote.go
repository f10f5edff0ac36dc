package claims

import (
	"context"

	"locklab/experiments"
	"locklab/stack"
)

// happens is something that happens to a node while A has the lock.
type happens func(context.Context, *experiments.Trial, *stack.Node) error

func nothing(context.Context, *experiments.Trial, *stack.Node) error { return nil }

// onThree lets A have the lock by three of five nodes. Something happens to the third of them, whose vote decides, and B
// asks all five.
func onThree(what happens) func(context.Context, *experiments.Trial) error { return onFive(what, 4, 5) }

// onFive is the same with a lock that A has by all nodes but those it does not reach.
func onFive(what happens, without ...int) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		q, err := startQuorum(ctx, t, 5)
		if err != nil {
			return err
		}
		return contest(ctx, t,
			func(ctx context.Context) (*client, error) { return q.comes(ctx, "A", longLease, without...) },
			func(ctx context.Context) (*client, error) {
				if err := what(ctx, t, q.nodes[2]); err != nil {
					return nil, err
				}
				return q.comes(ctx, "B", longLease)
			},
		)
	}
}

// onSingle is the same on the only Redis that there is. A has a line of its own to it.
func onSingle(what happens) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		servers, err := t.Stack.ProxiedTopology(ctx, "single", t.Real)
		if err != nil {
			return err
		}
		node := servers.Nodes[0]
		x := &replicated{t: t, servers: servers, master: node}
		return contest(ctx, t,
			func(ctx context.Context) (*client, error) {
				a, err := x.comes(ctx, "A", longLease)
				if err == nil {
					a.settles = true
				}
				return a, err
			},
			func(ctx context.Context) (*client, error) {
				if err := what(ctx, t, node); err != nil {
					return nil, err
				}
				x.servers = servers.At(node.Addr)
				return x.comes(ctx, "B", longLease)
			},
		)
	}
}
