package servers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// A leader that is killed is replaced, the others serve, and it comes back as a follower. One that is paused serves nobody.
func TestZooKeeperEnsemble(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.ZooKeeper)
	ctx := testenv.Context(t)
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := testenv.Stack(t).ZooKeeper(ended, 1); err == nil {
		t.Error("nobody waits until the server serves, and that is no error")
	}
	nodes, err := testenv.Stack(t).ZooKeeper(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	leader, err := servers.ZooKeeperLeader(ctx, nodes)
	if err != nil {
		t.Fatal(err)
	}
	leader.Kill()
	if mode, err := leader.Mode(ctx); err == nil {
		t.Errorf("a leader that was killed says that it is %s", mode)
	}
	next, err := servers.ZooKeeperLeader(ctx, nodes)
	if err != nil || next == leader {
		t.Fatalf("the next leader is %v (%v)", next, err)
	}
	proof, err := leader.Restart(ctx)
	if err != nil || !strings.Contains(proof, "has ended") || !strings.HasSuffix(proof, "as follower") {
		t.Errorf("a restart says %q (%v)", proof, err)
	}
	testenv.Pause(t, next)
	if mode, err := next.Mode(ctx); err == nil {
		t.Errorf("a leader that is paused says that it is %s", mode)
	}
	next.Resume()
	if _, err := servers.ZooKeeperLeader(ctx, nodes); err != nil {
		t.Error(err)
	}
}

// A server keeps its data when it is restarted, until it loses its disk.
func TestZooKeeperLosesItsDisk(t *testing.T) {
	t.Parallel()
	node := testenv.Ensemble(t, 1)[0]
	conn, _, err := zk.Connect([]string{node.Addr}, time.Minute, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/kept", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		before func() error
		kept   bool
	}{{func() error { return nil }, true}, {node.LoseDisk, false}} {
		if err := c.before(); err != nil {
			t.Fatal(err)
		}
		if _, err := node.Restart(testenv.Context(t)); err != nil {
			t.Fatal(err)
		}
		fresh, _, err := zk.Connect([]string{node.Addr}, time.Minute, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		if kept, _, err := fresh.Exists("/kept"); err != nil || kept != c.kept {
			t.Errorf("kept: %t, want %t (%v)", kept, c.kept, err)
		}
		fresh.Close()
	}
}
