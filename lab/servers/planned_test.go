package servers_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// A planned failover ends with a new master that everybody is told, and the old one is its replica.
func TestAPlannedFailover(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for _, kind := range []string{"master-slave", "sentinel", "cluster"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, nodes := testenv.Context(t), testenv.Topology(t, kind)
			const key = "k"
			f, err := nodes.FailOver(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(f.Typed, f.Old.Name, f.New.Name)
			if err := f.Named(ctx); err != nil {
				t.Fatal(err)
			}
			if err := f.Demoted(ctx); err != nil {
				t.Fatal(err)
			}
			now, err := nodes.MasterOf(ctx, key)
			if err != nil || now != f.New || now == f.Old {
				t.Errorf("the master is %v (%v), and %s replaced %s", now, err, f.New.Name, f.Old.Name)
			}
			if err := f.Old.HasRole(ctx, "slave"); err != nil {
				t.Error(err)
			}
			for _, n := range nodes.Nodes {
				if kind == "cluster" {
					wantNamed(t, n.Name, f.New)(n.OwnerOf(ctx, key))
				}
			}
			for _, n := range nodes.Sentinels {
				c := redis.NewSentinelClient(&redis.Options{Addr: n.Addr})
				at, err := c.GetMasterAddrByName(ctx, servers.SentinelMaster).Result()
				wantNamed(t, n.Name, f.New)(strings.Join(at, ":"), err)
				c.Close()
			}
		})
	}
}

// wantNamed checks which master a server names.
func wantNamed(t *testing.T, server string, want *servers.Node) func(named string, err error) {
	return func(named string, err error) {
		t.Helper()
		if err != nil || named != want.AnnouncedAddr() {
			t.Errorf("%s names %s (%v), not %s", server, named, err, want.Name)
		}
	}
}
