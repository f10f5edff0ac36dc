package servers

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// slots is how many hash slots a Redis Cluster has.
const slots = 16384

// cluster starts the nodes, connects them, assigns the slots to the first half and makes the second half replicas.
func (s *Stack) cluster(ctx context.Context, t *Topology) error {
	buses := make([]int, 2*masters) // as the other nodes are told
	for i := range buses {
		node, bus, err := s.clusterNode(ctx, fmt.Sprintf("cluster-%d", i+1), t)
		if err != nil {
			return err
		}
		t.Nodes, buses[i] = append(t.Nodes, node), bus
	}
	clients := make([]*redis.Client, len(t.Nodes))
	for i, node := range t.Nodes {
		clients[i] = newClient(node.Addr, "")
		defer clients[i].Close()
	}
	if err := assignSlots(ctx, clients); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	for i, node := range t.Nodes[1:] {
		if err := clients[0].Do(ctx, "CLUSTER", "MEET", "127.0.0.1", portOf(node.Addr), buses[i+1]).Err(); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	return t.replicate(ctx, clients)
}

// clusterNode starts a node, and returns at which port the others reach its cluster bus. With proxies that is another one's.
func (s *Stack) clusterNode(ctx context.Context, name string, t *Topology) (node *Node, bus int, err error) {
	err = s.atFreeAddr(func(addr string) error {
		node, bus, err = s.clusterNodeAt(ctx, name, t, addr)
		return err
	})
	return node, bus, err
}

// clusterNodeAt starts a node whose cluster bus is at addr.
func (s *Stack) clusterNodeAt(ctx context.Context, name string, t *Topology, addr string) (node *Node, bus int, err error) {
	settings := []string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", strconv.Itoa(t.nodeTimeout()), "--cluster-port", strconv.Itoa(portOf(addr)),
	}
	var proxy *Proxy
	if t.proxied {
		if proxy, err = s.Proxy("proxy of the bus of "+name, addr); err != nil {
			return nil, 0, err
		}
		addr = proxy.Addr
		settings = append(settings, "--cluster-announce-bus-port", strconv.Itoa(portOf(addr)))
	}
	if node, err = s.announcing(ctx, name, true, t.proxied, "cluster", settings...); err == nil {
		node.bus = proxy
	}
	return node, portOf(addr), err
}

// nodeTimeout is for how many milliseconds a cluster misses a node before a replica replaces it. Topologies with proxies exist to
// watch failovers: there it is short, and on a busy machine a slow node may be replaced although it works.
func (t *Topology) nodeTimeout() int {
	if t.proxied {
		return 1000
	}
	return 2000
}

func assignSlots(ctx context.Context, clients []*redis.Client) error {
	for i := range masters {
		first, last := i*slots/masters, (i+1)*slots/masters-1
		if err := clients[i].ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
			return err
		}
		// With different epochs from the start the nodes need not resolve collisions.
		if err := clients[i].Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
	}
	return nil
}

// replicate makes each node of the second half follow a master, as soon as it knows the master. It waits until
// every node reports a complete cluster.
func (t *Topology) replicate(ctx context.Context, clients []*redis.Client) error {
	for i := masters; i < len(clients); i++ {
		master, err := clients[i-masters].Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
		err = t.Nodes[i].Await(ctx, func(ctx context.Context) error {
			return clients[i].ClusterReplicate(ctx, master).Err()
		})
		if err != nil {
			return err
		}
	}
	if err := awaitSync(ctx, t.Nodes[masters:]); err != nil {
		return err
	}
	for i, node := range t.Nodes {
		if err := node.Await(ctx, func(ctx context.Context) error { return complete(ctx, clients[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// complete returns nil when a node sees all slots served by a master and a replica.
func complete(ctx context.Context, client *redis.Client) error {
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	for _, want := range []string{
		"cluster_state:ok", fmt.Sprintf("cluster_slots_ok:%d", slots), fmt.Sprintf("cluster_known_nodes:%d", 2*masters),
	} {
		if !strings.Contains(info, want+"\r\n") {
			return fmt.Errorf("it does not report %s", want)
		}
	}
	// A replica is listed, and clients read from it, when the other nodes know its offset.
	ranges, err := client.ClusterSlots(ctx).Result() //nolint:staticcheck // deprecated, and what go-redis's cluster client asks
	if err != nil {
		return err
	}
	for _, r := range ranges {
		if len(r.Nodes) != 2 {
			return fmt.Errorf("it lists %d nodes for the slots from %d, not a master and a replica", len(r.Nodes), r.Start)
		}
	}
	return nil
}
