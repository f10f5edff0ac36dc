package stack

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// slots is how many a Redis Cluster spreads its keys over.
const slots = 16384

// cluster starts the nodes, lets them meet, deals out the slots and makes the second half replicas.
func (s *Stack) cluster(ctx context.Context, t *Topology) (err error) {
	var buses []string
	for i := range 2 * masters {
		port, err := freeBus()
		if err != nil {
			return err
		}
		node, err := s.told(ctx, fmt.Sprintf("cluster-%d", i+1), true, t.linked, "cluster",
			"--cluster-enabled", "yes", "--cluster-node-timeout", strconv.Itoa(t.patience()), "--cluster-port", port)
		if err != nil {
			return err
		}
		t.Nodes, buses = append(t.Nodes, node), append(buses, port)
	}
	clients := make([]*redis.Client, len(t.Nodes))
	for i, node := range t.Nodes {
		clients[i] = newClient(node.Addr, "")
		defer clients[i].Close()
	}
	for i := range masters {
		first, last := i*slots/masters, (i+1)*slots/masters-1
		if err := clients[i].ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
			return fmt.Errorf("stack: cluster: %w", err)
		}
		// Epochs of their own from the start save the nodes from settling collisions.
		if err := clients[i].Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return fmt.Errorf("stack: cluster: %w", err)
		}
	}
	for i, node := range t.Nodes[1:] {
		if err := clients[0].Do(ctx, "CLUSTER", "MEET", "127.0.0.1", portOf(node.Addr), buses[i+1]).Err(); err != nil {
			return fmt.Errorf("stack: cluster: %w", err)
		}
	}
	return s.join(ctx, t, clients)
}

// freeBus returns a port for the nodes' own talk. A node whose port was taken meanwhile says so and
// ends the start.
func freeBus() (string, error) {
	addr, err := freeAddr()
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(addr)
	return port, err
}

// join makes each node of the second half follow a master, as soon as it knows it, and waits until
// every node sees the cluster whole.
func (s *Stack) join(ctx context.Context, t *Topology, clients []*redis.Client) error {
	for i := masters; i < len(clients); i++ {
		master, err := clients[i-masters].Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			return fmt.Errorf("stack: cluster: %w", err)
		}
		err = await(ctx, t.Nodes[i], func(ctx context.Context) error {
			return clients[i].ClusterReplicate(ctx, master).Err()
		})
		if err != nil {
			return err
		}
	}
	if err := s.inStep(ctx, t.Nodes[masters:]); err != nil {
		return err
	}
	for i, node := range t.Nodes {
		err := await(ctx, node, func(ctx context.Context) error { return whole(ctx, clients[i]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// whole reports nil when a node sees all slots served by a master and a replica.
func whole(ctx context.Context, client *redis.Client) error {
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	for _, want := range []string{"cluster_state:ok", "cluster_slots_ok:" + strconv.Itoa(slots), "cluster_known_nodes:" + strconv.Itoa(2*masters)} {
		if !strings.Contains(info, want+"\r\n") {
			return fmt.Errorf("it does not report %s", want)
		}
	}
	// A replica is listed, and read from by clients, once the others have heard of its offset.
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
