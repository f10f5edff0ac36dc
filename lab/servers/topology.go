package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// How many servers a topology has, as in A4.
const (
	replicas  = 3
	sentinels = 3
	masters   = 3 // of a cluster, each with one replica
)

// SentinelMaster is the name under which the sentinels know the master.
const SentinelMaster = "lab"

// Topology is Redis in one of the article's arrangements.
type Topology struct {
	Kind      string // single, master-slave, sentinel, cluster: as app serve takes it
	Addrs     []string
	Nodes     []*Node // a master first; then master-slave and sentinel: its replicas; cluster: the other masters, then the replicas
	Sentinels []*Node
	Password  string   // empty: the servers require none
	Map       []string // FROM=TO: where this machine reaches the addresses that the servers announce, as app serve takes --addr-map

	proxied bool // each node has a proxy before it
}

// Topology starts the arrangement called kind and returns when it is complete: replicas in sync, sentinels agreed, slots
// covered. Every kind but single needs real servers, or containers.
func (s *Stack) Topology(ctx context.Context, kind string, real bool) (*Topology, error) {
	return s.arrange(ctx, &Topology{Kind: kind}, real)
}

// ProxiedTopology is Topology with a [Proxy] before each node. Clients, replicas and sentinels are told the addresses of
// the proxies, and the nodes of a cluster gossip over more of them. In containers only a single node has a proxy.
func (s *Stack) ProxiedTopology(ctx context.Context, kind string, real bool) (*Topology, error) {
	return s.arrange(ctx, &Topology{Kind: kind, proxied: true}, real)
}

func (s *Stack) arrange(ctx context.Context, t *Topology, real bool) (*Topology, error) {
	if s.checkout != "" {
		return t, s.startContainers(ctx, t)
	}
	if t.Kind != "single" && !real {
		return nil, fmt.Errorf("the topology %s needs a real redis-server on the PATH", t.Kind)
	}
	var err error
	switch t.Kind {
	case "single":
		t.Nodes, err = s.nodes(ctx, "redis", 1, real, t.proxied)
	case "master-slave":
		err = s.masterSlave(ctx, t)
	case "sentinel":
		err = s.sentinel(ctx, t)
	case "cluster":
		err = s.cluster(ctx, t)
	default:
		err = fmt.Errorf("no topology %q", t.Kind)
	}
	t.setAddrs()
	return t, err
}

// setAddrs sets the addresses for clients: those of the sentinels, if there are any.
func (t *Topology) setAddrs() {
	nodes := t.Nodes
	if len(t.Sentinels) > 0 {
		nodes = t.Sentinels
	}
	for _, node := range nodes {
		t.Addrs = append(t.Addrs, node.AnnouncedAddr())
	}
}

// At is one server of the topology as a topology of its own, for a client that must not know the others. addr is the node's or
// that of a proxy before it.
func (t *Topology) At(addr string) *Topology {
	return &Topology{Kind: "single", Addrs: []string{addr}, Password: t.Password, Map: t.Map}
}

// RedLock starts n nodes that are independent of each other. settings are those of [Stack.Redis].
func (s *Stack) RedLock(ctx context.Context, n int, real bool, settings ...string) ([]*Node, error) {
	return s.nodes(ctx, "redlock", n, real, false, settings...)
}

// nodes starts n equal servers simultaneously.
func (s *Stack) nodes(ctx context.Context, name string, n int, real, proxied bool, settings ...string) ([]*Node, error) {
	started := make([]*Node, n)
	group, ctx := errgroup.WithContext(ctx)
	for i := range started {
		group.Go(func() (err error) {
			started[i], err = s.announcing(ctx, fmt.Sprintf("%s-%d", name, i+1), real, proxied, "replica", settings...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return started, nil
}

// announcing starts a server. A proxied one announces its proxy's port to replicas and sentinels ("replica"), or to its cluster
// ("cluster").
func (s *Stack) announcing(ctx context.Context, name string, real, proxied bool, to string, settings ...string) (*Node, error) {
	if !proxied {
		return s.Redis(ctx, name, real, settings...)
	}
	proxy, err := s.Proxy("proxy of "+name, "")
	if err != nil {
		return nil, err
	}
	settings = append(slices.Clone(settings), "--"+to+"-announce-port", strconv.Itoa(portOf(proxy.Addr)))
	node, err := s.Redis(ctx, name, real, settings...)
	if err != nil {
		return nil, err
	}
	node.Proxy = proxy
	proxy.server.Store(node.Addr)
	return node, nil
}

func (s *Stack) masterSlave(ctx context.Context, t *Topology) error {
	master, err := s.announcing(ctx, "master", true, t.proxied, "replica")
	if err != nil {
		return err
	}
	port := strconv.Itoa(portOf(master.AnnouncedAddr()))
	followers, err := s.nodes(ctx, "replica", replicas, true, t.proxied)
	if err != nil {
		return err
	}
	for _, node := range followers {
		if err := node.follow(ctx, port); err != nil {
			return err
		}
	}
	t.Nodes = append([]*Node{master}, followers...)
	return awaitSync(ctx, followers)
}

// follow makes the node a replica, also after a restart, in the way of a sentinel.
func (n *Node) follow(ctx context.Context, port string) error {
	return n.WithClient(func(c *redis.Client) error {
		if err := c.ReplicaOf(ctx, "127.0.0.1", port).Err(); err != nil {
			return err
		}
		return c.ConfigRewrite(ctx).Err()
	})
}

// awaitSync waits until every replica has its master's data and is connected to it.
func awaitSync(ctx context.Context, followers []*Node) error {
	for _, node := range followers {
		err := node.Await(ctx, func(ctx context.Context) error {
			link, err := node.Info(ctx, "replication", "master_link_status")
			if err == nil && link != "up" {
				err = errors.New("its connection to the master is down")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
