package topology_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var kinds = []topology.Kind{topology.Single, topology.MasterSlave, topology.Sentinel, topology.Cluster}

func open(t *testing.T, cfg topology.Config) *topology.Redis {
	t.Helper()
	r, err := topology.Open(testenv.Context(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// topologies are those that no test breaks.
var topologies = make(map[topology.Kind]*testenv.Shared[*servers.Topology])

func init() {
	for _, kind := range kinds {
		topologies[kind] = &testenv.Shared[*servers.Topology]{
			Need: testenv.RedisServer,
			Start: func(ctx context.Context, s *servers.Stack) (*servers.Topology, error) {
				return s.Topology(ctx, string(kind), true)
			},
		}
	}
}

func shared(t *testing.T, kind topology.Kind) *servers.Topology {
	t.Helper()
	return topologies[kind].Of(t)
}

func config(started *servers.Topology) topology.Config {
	return topology.Config{Kind: topology.Kind(started.Kind), Addrs: started.Addrs, SentinelMaster: servers.SentinelMaster}
}

// What is written to the master is read at a replica, which is not the master under another name.
func TestEveryTopologyReadsAtReplicasWhatItWrote(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r, ctx := open(t, config(shared(t, kind))), testenv.Context(t)
			for i := range 50 { // over all slots of a cluster
				key, want := fmt.Sprintf("key-%d", i), fmt.Sprint(i)
				if err := r.Master.Set(ctx, key, want, 0).Err(); err != nil {
					t.Fatal(err)
				}
				if got := r.Master.Get(ctx, key).Val(); got != want {
					t.Fatalf("the master has %q for %s, want %q", got, key, want)
				}
				testenv.Eventually(t, "the replica has it", func() bool { return r.Replica().Get(ctx, key).Val() == want })
			}
			if err := r.Ping(ctx); err != nil {
				t.Error(err)
			}
			for range 6 {
				if role := role(ctx, r.Replica()); role != "slave" && kind != topology.Single {
					t.Fatalf("the replica's role is %q", role)
				}
				if role := role(ctx, r.Master); role != "master" {
					t.Fatalf("the master's role is %q", role)
				}
			}
		})
	}
}

// role is that of the node which serves "key".
func role(ctx context.Context, client redis.UniversalClient) string {
	if cluster, ok := client.(*redis.ClusterClient); ok {
		node, err := cluster.MasterForKey(ctx, "key")
		if cluster.Options().ReadOnly {
			node, err = cluster.SlaveForKey(ctx, "key")
		}
		if err != nil {
			return err.Error()
		}
		client = node
	}
	reply, err := client.Do(ctx, "ROLE").Slice()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(reply[0])
}

func TestMasterSlaveRefusesTwoMastersAndNone(t *testing.T) {
	t.Parallel()
	started, other := shared(t, topology.MasterSlave), testenv.Redis(t, true)
	for _, c := range []struct {
		addrs []string
		want  string
	}{
		{append([]string{other.Addr}, started.Addrs...), "is a second master"},
		{started.Addrs[1:], "none of the nodes is a master"},
	} {
		_, err := topology.Open(testenv.Context(t), topology.Config{Kind: topology.MasterSlave, Addrs: c.addrs})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
}

func TestUnreachableServersAreNamed(t *testing.T) {
	t.Parallel()
	const unused = "127.0.0.1:1"
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := topology.Open(ctx, topology.Config{Kind: kind, Addrs: []string{unused}, SentinelMaster: "lab"})
			if err == nil || !strings.Contains(err.Error(), unused) || !strings.Contains(err.Error(), string(kind)) {
				t.Fatalf("got %v, want an error with the address and the topology", err)
			}
		})
	}
	_, err := topology.Open(t.Context(), topology.Config{Kind: "ring", Addrs: []string{unused}})
	if err == nil || !strings.Contains(err.Error(), `no topology "ring"`) {
		t.Fatalf("got %v", err)
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	r := open(t, topology.Config{Kind: topology.Single, Addrs: []string{node.Addr}})
	if err := r.Master.ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	open(t, topology.Config{Kind: topology.Single, Addrs: []string{node.Addr}, Access: topology.Access{Password: "secret"}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a refusal ends the wait
	defer cancel()
	for password, says := range map[string]string{"wrong": "WRONGPASS", "": "NOAUTH"} {
		cfg := topology.Config{Kind: topology.Single, Addrs: []string{node.Addr}, Access: topology.Access{Password: password}}
		_, err := topology.Open(ctx, cfg)
		if err == nil || !strings.Contains(err.Error(), "the password is wrong or missing: "+says) {
			t.Errorf("with the password %q: %v, want %s", password, err, says)
		}
	}
}

func TestIndependentNeedsAMajority(t *testing.T) {
	t.Parallel()
	nodes, err := testenv.Stack(t).RedLock(testenv.Context(t), 5, false)
	if err != nil {
		t.Fatal(err)
	}
	var addrs []string
	for _, node := range nodes {
		addrs = append(addrs, node.Addr)
	}
	nodes[0].Kill()
	nodes[1].Kill()
	independent, err := topology.OpenIndependent(testenv.Context(t), addrs, topology.Access{})
	if err != nil {
		t.Fatalf("with two of five down: %v", err)
	}
	defer independent.Close()
	nodes[2].Kill()
	err = independent.Ping(t.Context())
	if err == nil {
		t.Fatal("with three of five down: ready")
	}
	for i, addr := range addrs {
		if strings.Contains(err.Error(), addr) != (i < 3) {
			t.Errorf("%v: is %s named? down: %v", err, addr, i < 3)
		}
	}
}
