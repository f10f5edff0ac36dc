package servers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// without are all but one.
func without[T comparable](all []T, one T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(other T) bool { return other == one })
}

func mustDrop(t *testing.T, i *servers.Isolation, err error) {
	t.Helper()
	if err == nil {
		t.Cleanup(i.Mend)
		_, err = i.Await(testenv.Context(t))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A leader that is cut off stops to serve, and the others elect another one.
func TestIsolatedEtcd(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Etcd)
	ctx := testenv.Context(t)
	cluster, err := testenv.Stack(t).ProxiedEtcd(ctx)
	if err != nil {
		t.Fatal(err)
	}
	leader, err := cluster.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	i, err := cluster.Isolate(ctx, leader, faultproxy.Both)
	mustDrop(t, i, err)
	rest := servers.Etcd{Members: without(cluster.Members, leader)}
	if _, err := rest.Leader(ctx); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, "the member that is cut off knows no leader", func() bool {
		answer, err := http.Post("http://"+leader.Addr+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		status, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK && !strings.Contains(string(status), `"leader":`)
	})
}

func TestIsolatedZooKeeper(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.ZooKeeper)
	ctx := testenv.Context(t)
	nodes, err := testenv.Stack(t).ProxiedZooKeeper(ctx)
	if err != nil {
		t.Fatal(err)
	}
	leader, err := servers.ZooKeeperLeader(ctx, nodes)
	if err != nil {
		t.Fatal(err)
	}
	mustDrop(t, leader.Isolate(faultproxy.Both), nil)
	if _, err := servers.ZooKeeperLeader(ctx, without(nodes, leader)); err != nil {
		t.Error(err)
	}
	err = servers.Until(ctx, func(ctx context.Context) error {
		if mode, err := leader.Mode(ctx); err == nil {
			return fmt.Errorf("it is cut off, and says that it is %s", mode)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A master that is cut off from its cluster accepts writes until it notices that. The others let its replica take its slots.
func TestIsolatedClusterNode(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	ctx := testenv.Context(t)
	cluster, err := testenv.Stack(t).ProxiedTopology(ctx, "cluster", true)
	if err != nil {
		t.Fatal(err)
	}
	master := cluster.Nodes[0]
	i, err := cluster.Isolate(ctx, master, faultproxy.Both)
	mustDrop(t, i, err)
	replica := cluster.Nodes[len(cluster.Nodes)/2]
	err = replica.Await(ctx, func(ctx context.Context) error {
		role, err := replica.Info(ctx, "replication", "role")
		if err == nil && role != "master" {
			err = fmt.Errorf("its replica is a %s", role)
		}
		return err
	})
	err = errors.Join(err, master.Await(ctx, func(ctx context.Context) error {
		return master.WithClient(func(c *redis.Client) error {
			info, err := c.ClusterInfo(ctx).Result()
			if err == nil && !strings.Contains(info, "cluster_state:fail") {
				err = errors.New("it has not noticed that it is cut off")
			}
			return err
		})
	}))
	if err != nil {
		t.Error(err)
	}
}
