//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
	"locklab/pview"
	"locklab/topology"
)

// moveFor is for how long views go on at least. Each row moves its servers at least once. To see a minute of it, set it to a minute.
const moveFor = time.Second

// moving is a service under load, and what moves a server of it.
type moving struct {
	service burst.Service
	move    func(ctx context.Context, s burst.Running) error // returns when the servers have moved, and may be called again
}

// A server that the instances need moves while views go on. Instances recover without a restart, and no view that was answered is lost.
func TestViewsGoOnWhileServersMove(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for name, row := range map[string]func(t *testing.T) (version string, m moving){
		"v3, the slots of the lock and of the counter": func(*testing.T) (string, moving) {
			return "v3", moving{burst.Service{Topology: string(topology.Cluster)}, moveSlots}
		},
		"v3, the master": func(*testing.T) (string, moving) {
			return "v3", moving{burst.Service{Topology: string(topology.MasterSlave)}, failOver}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			version, m := row(t)
			testViewsGoOn(t, version, m)
		})
	}
}

func testViewsGoOn(t *testing.T, version string, m moving) {
	ctx := testenv.Context(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m.service.App, m.service.Real, m.service.Instances, m.service.Listen = []string{self, "serve"}, true, 2, "127.0.0.1:0"
	running, err := m.service.Start(ctx, testenv.Stack(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	running.Seen = func(string, int64) { seen.Add(1) }
	more := func() {
		before := seen.Load()
		testenv.Eventually(t, "views are answered by both instances", func() bool { return seen.Load() > before+50 })
	}
	stop, moved := make(chan struct{}), 0
	go func() {
		defer close(stop)
		more()
		for began := time.Now(); moved == 0 || time.Since(began) < moveFor; moved++ {
			if err := m.move(ctx, running); err != nil {
				t.Error(err)
				return
			}
			more()
		}
	}()
	const clients = 16
	views, err := burst.SustainViews(ctx, running.Target, version, clients, stop)
	if err != nil {
		t.Fatal(err)
	}
	wantEveryView(t, views)
	t.Logf("moved %d times", moved)
}

// wantEveryView fails when a view that was answered is not counted, or a view is that nobody sent.
func wantEveryView(t *testing.T, views burst.Views) {
	t.Helper()
	confirmed, unknown := int64(len(views.Writes)), int64(len(views.Failed))
	if views.Final < confirmed || views.Final > confirmed+unknown {
		t.Errorf("the counter is %d after %d views and %d without a usable answer", views.Final, confirmed, unknown)
	}
	t.Logf("the counter is %d after %d views, %d without a usable answer and %d refused as stale",
		views.Final, confirmed, unknown, len(views.Stale))
	if unknown > 0 {
		t.Logf("the first without a usable answer: %s", views.Failed[0])
	}
}

// moveSlots moves the slots of the lock and of the counter to other masters, as a reshard does.
func moveSlots(ctx context.Context, s burst.Running) error {
	for _, key := range []string{pview.LockKey, pview.Key} {
		move, err := s.Redis.MoveSlot(ctx, key)
		if err == nil {
			_, err = move.Keys(ctx)
		}
		if err == nil {
			err = move.End(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// failOver lets a replica take over from the master, and returns when the master has become a replica.
func failOver(ctx context.Context, s burst.Running) error {
	for _, node := range s.Redis.Nodes {
		role, err := node.Info(ctx, "replication", "role")
		if err != nil || role != "master" {
			continue
		}
		if err := node.WithClient(func(c *redis.Client) error { return c.Do(ctx, "FAILOVER").Err() }); err != nil {
			return err
		}
		return node.Await(ctx, func(ctx context.Context) error {
			if role, err := node.Info(ctx, "replication", "role"); err != nil || role == "master" {
				return errors.Join(errors.New("it is still the master"), err)
			}
			return nil
		})
	}
	return errors.New("none of the nodes is a master")
}
