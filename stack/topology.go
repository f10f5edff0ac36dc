package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	Password  string   // empty: none is asked for
	Map       []string // FROM=TO: where this machine reaches what the servers announce, as app serve takes --addr-map

	linked bool // each node has a link before it
}

// Topology starts the arrangement called kind and returns when it is whole: replicas in step,
// sentinels agreed, slots covered. All but single need real servers, or containers.
func (s *Stack) Topology(ctx context.Context, kind string, real bool) (*Topology, error) {
	return s.arrange(ctx, &Topology{Kind: kind}, real)
}

// ProxiedTopology is Topology with a [Proxy] before each node, of real servers. Clients, replicas and sentinels are told the links'
// addresses; the nodes of a cluster gossip past them. Of containers only a single one has a link.
func (s *Stack) ProxiedTopology(ctx context.Context, kind string, real bool) (*Topology, error) {
	return s.arrange(ctx, &Topology{Kind: kind, linked: true}, real)
}

func (s *Stack) arrange(ctx context.Context, t *Topology, real bool) (*Topology, error) {
	if t.Kind != "single" && !real && s.checkout == "" {
		return nil, fmt.Errorf("stack: the topology %s needs a real redis-server on the PATH", t.Kind)
	}
	if s.checkout != "" {
		return t, s.contained(ctx, t)
	}
	var err error
	switch t.Kind {
	case "single":
		t.Nodes, err = s.nodes(ctx, "redis", 1, real, t.linked)
		t.Addrs = addrs(t.Nodes)
	case "master-slave":
		err = s.masterSlave(ctx, t)
		t.Addrs = addrs(t.Nodes)
	case "sentinel":
		err = s.sentinel(ctx, t)
		t.Addrs = addrs(t.Sentinels)
	case "cluster":
		err = s.cluster(ctx, t)
		t.Addrs = addrs(t.Nodes)
	default:
		err = fmt.Errorf("stack: no topology %q", t.Kind)
	}
	return t, err
}

// patience is for how many milliseconds a cluster misses a node before it acts. Links are there to watch
// failovers: then it is short, and a node that a busy machine keeps waiting may be replaced for nothing.
func (t *Topology) patience() int {
	if t.linked {
		return 1000
	}
	return 2000
}

// At is one server of the topology for a client who knows no other. addr is the node's own, or that of a link to it.
func (t *Topology) At(addr string) *Topology {
	return &Topology{Kind: "single", Addrs: []string{addr}, Password: t.Password, Map: t.Map}
}

// RedLock starts n nodes that know nothing of each other.
func (s *Stack) RedLock(ctx context.Context, n int, real bool) ([]*Node, error) {
	return s.nodes(ctx, "redlock", n, real, false)
}

// nodes starts n equal servers at the same time.
func (s *Stack) nodes(ctx context.Context, name string, n int, real, linked bool, settings ...string) ([]*Node, error) {
	started := make([]*Node, n)
	group, ctx := errgroup.WithContext(ctx)
	for i := range started {
		group.Go(func() (err error) {
			started[i], err = s.told(ctx, fmt.Sprintf("%s-%d", name, i+1), real, linked, "replica", settings...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return started, nil
}

// told starts a server; a linked one announces its link's port to replicas and sentinels ("replica"), or to its cluster.
func (s *Stack) told(ctx context.Context, name string, real, linked bool, announce string, settings ...string) (*Node, error) {
	if !linked {
		return s.Redis(ctx, name, real, settings...)
	}
	proxy, err := s.proxy("proxy of " + name)
	if err != nil {
		return nil, err
	}
	if real {
		settings = append(slices.Clone(settings), "--"+announce+"-announce-port", strconv.Itoa(portOf(proxy.Addr)))
	}
	node, err := s.Redis(ctx, name, real, settings...)
	if err != nil {
		return nil, err
	}
	node.Proxy = proxy
	proxy.server.Store(node.Addr)
	return node, nil
}

func (s *Stack) masterSlave(ctx context.Context, t *Topology) error {
	master, err := s.told(ctx, "master", true, t.linked, "replica")
	if err != nil {
		return err
	}
	followers, err := s.nodes(ctx, "replica", replicas, true, t.linked, "--replicaof", fmt.Sprintf("127.0.0.1 %d", portOf(master.AnnouncedAddr())))
	if err != nil {
		return err
	}
	t.Nodes = append([]*Node{master}, followers...)
	return s.inStep(ctx, followers)
}

// inStep waits until every replica has its master's data and hears from it.
func (s *Stack) inStep(ctx context.Context, followers []*Node) error {
	for _, node := range followers {
		client := newClient(node.Addr, "")
		err := await(ctx, node, func(ctx context.Context) error {
			info, err := client.Info(ctx, "replication").Result()
			if err == nil && !strings.Contains(info, "master_link_status:up") {
				err = errors.New("its link to the master is down")
			}
			return err
		})
		client.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func addrs(nodes []*Node) []string {
	var all []string
	for _, node := range nodes {
		all = append(all, node.AnnouncedAddr())
	}
	return all
}
