package stack_test

import (
	"testing"

	"locklab/internal/testenv"
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
		})
	}
}
