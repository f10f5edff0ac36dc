package failovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy/redlock"
	"locklab/topology"
	"locklab/versions"
)

// Quorum is nodes that know nothing of each other.
type Quorum struct {
	*lab.Trial
	Nodes []*servers.Node

	votes map[string]string // as Votes has seen them: the owner of the lock, by the node's name
}

// StartQuorum starts n nodes. settings are for each redis-server.
func StartQuorum(ctx context.Context, t *lab.Trial, n int, settings ...string) *Quorum {
	nodes, err := t.Stack.RedLock(ctx, n, t.Real, settings...)
	t.Must(err)
	return &Quorum{Trial: t, Nodes: nodes, votes: make(map[string]string)}
}

// NodeTimeout is how long the clients of [Quorum.NewClient] wait for one node: v4's default, scaled.
func (q *Quorum) NodeTimeout() time.Duration { return q.Scaled(redlock.DefaultNodeTimeout) }

// NewClient returns a client of RedLock with connections of its own. It does not reach the nodes in without (from 1): its
// proxies to them end, and refuse it.
func (q *Quorum) NewClient(ctx context.Context, name string, lease time.Duration, without ...int) *clients.Client {
	proxies, through := q.Proxies(name)
	addrs := servers.Addrs(q.Nodes)
	for _, n := range without {
		addrs[n-1] = through[n-1]
	}
	nodes := q.Connect(ctx, addrs)
	for _, n := range without {
		proof := clients.EndProxy(ctx, q.Trial, proxies[n-1])
		q.Record(history.Event{Timeline: q.Nodes[n-1].Name, Kind: history.Note, Text: name + " does not reach it", Proof: proof})
	}
	return q.ClientOf(name, nodes, lease, min(q.NodeTimeout(), lease/3))
}

// ClientOf returns a client of RedLock over connections to its nodes, which waits for each for at most timeout; 0: the lock's default.
func (q *Quorum) ClientOf(name string, nodes []redis.UniversalClient, lease, timeout time.Duration) *clients.Client {
	b := versions.Backends{Nodes: nodes, Expiry: lease, NodeTimeout: timeout}
	return clients.Open(q.Trial, name, versions.NameRedLock, b)
}

// Connect returns a connection to each address, as the app opens it.
func (q *Quorum) Connect(ctx context.Context, addrs []string) []redis.UniversalClient {
	nodes, err := topology.OpenIndependent(ctx, addrs, topology.Access{})
	q.Must(err)
	q.Cleanup(nodes.Close)
	for _, node := range nodes.Nodes {
		q.Tap(node)
	}
	return nodes.Nodes
}

// Proxies puts a proxy before each node, for one side or client.
func (q *Quorum) Proxies(of string) (proxies []*servers.Proxy, addrs []string) {
	for _, n := range q.Nodes {
		p, err := q.Stack.Proxy(of+" to "+n.Name, n.Addr)
		q.Must(err)
		proxies, addrs = append(proxies, p), append(addrs, p.Addr)
	}
	return proxies, addrs
}

// Votes records, on the timeline of each node, a vote for a client. The client was granted the lock: every vote that has changed since
// the last call is its vote.
func (q *Quorum) Votes(ctx context.Context, client string) {
	for _, n := range q.Nodes {
		owner := ""
		q.Must(n.WithClient(func(c *redis.Client) (err error) {
			if owner, err = c.Get(ctx, clients.NodeKey).Result(); errors.Is(err, redis.Nil) {
				return nil
			}
			return err
		}))
		if owner != "" && owner != q.votes[n.Name] {
			q.Note(n.Name, "voted for "+client)
		}
		q.votes[n.Name] = owner
	}
}

// OnDecidingNode is A, then a fault, then B. A holds the lock by three of five nodes, and the fault is on the third of them.
// Its vote decides.
func OnDecidingNode(fault clients.Fault) lab.Scenario { return OnThirdNode(fault, 4, 5) }

// OnThirdNode is the same with a lock that A holds by all nodes but those that it does not reach.
func OnThirdNode(fault clients.Fault, without ...int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) { StartQuorum(ctx, t, 5).OnThirdNode(ctx, fault, without...) }
}

// OnThirdNode is the scenario of that name on these nodes.
func (q *Quorum) OnThirdNode(ctx context.Context, fault clients.Fault, without ...int) {
	s := clients.NewSuccession(q.Trial)
	s.Come(ctx, q.NewClient(ctx, "A", clients.LongLease, without...))
	third := q.Nodes[2]
	q.Must(third.Await(ctx, func(ctx context.Context) error { // three other nodes may have been faster
		return third.WithClient(func(c *redis.Client) error { return c.Get(ctx, clients.NodeKey).Err() })
	}))
	q.Votes(ctx, "A")
	fault(ctx, q.Trial, third)
	if b := s.Come(ctx, q.NewClient(ctx, "B", clients.LongLease)); b != nil {
		q.Votes(ctx, "B")
	}
	s.Finish(ctx)
}

// Hangs marks the fault of a node that accepts connections and answers nothing.
var Hangs = history.Mark{Name: "hangs"}

// Available is a check of a lock over so many nodes. It must not refuse a client while a majority lives, grant the lock
// without one, or keep a client waiting that it could refuse. A node that hangs counts as down.
func Available(nodes int) func([]history.Event) []history.Violation {
	return func(trial []history.Event) (found []history.Violation) {
		var down []int // the events that say so
		add := func(e history.Event, what string) {
			found = append(found, history.Violation{
				What:   fmt.Sprintf("%s was %s with %d of %d nodes down", e.Timeline, what, len(down), nodes),
				Events: append(slices.Clone(down), e.Seq),
			})
		}
		for _, e := range trial {
			majority := len(down) <= (nodes-1)/2
			switch {
			case e.Kind == history.Fault && (clients.Killed.In(e) || Hangs.In(e)):
				down = append(down, e.Seq)
			case e.Kind == history.Heal && len(down) > 0:
				down = down[1:]
			case e.Kind == history.Refuse && e.Text == history.Taken: // it works
			case e.Kind == history.Refuse && majority:
				add(e, "refused")
			case e.Kind == history.Refuse && e.Text == history.Deadline:
				add(e, "kept waiting")
			case e.Kind == history.Grant && !majority:
				add(e, "granted the lock")
			}
		}
		return found
	}
}
