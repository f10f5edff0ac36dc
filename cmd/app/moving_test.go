//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/pview"
	"locklab/topology"
)

// moveFor is the minimum duration of each case. Every case moves its servers at least once.
const moveFor = time.Second

// moving has the servers and flags of instances under load, and a way to move a server.
type moving struct {
	version string
	redis   *servers.Topology
	flags   []string                        // of each instance, besides those for redis
	move    func(ctx context.Context) error // returns when the server has moved; can be called repeatedly
}

// A server of two instances moves during a load of views. The instances recover without a restart, and no confirmed view is lost.
func TestViewsGoOnWhileServersMove(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for name, row := range map[string]func(t *testing.T) moving{
		"v3, the master": movingMaster, "v5, a database behind an address": movingDatabase,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Needs(t, testenv.RedisServer)
			testViewsGoOn(t, row(t))
		})
	}
}

func testViewsGoOn(t *testing.T, m moving) {
	ctx, target := testenv.Context(t), serveTwo(t, m)
	var confirmed atomic.Int64
	tell := func(e burst.Event) {
		if e.(burst.Answered).Value > 0 {
			confirmed.Add(1)
		}
	}
	waitForViews := func(ctx context.Context) error {
		for before := confirmed.Load(); confirmed.Load() <= before+50; time.Sleep(time.Millisecond) {
			if ctx.Err() != nil {
				return errors.New("views are no longer confirmed")
			}
		}
		return nil
	}
	stop, moved, longest := make(chan struct{}), 0, time.Duration(0)
	testenv.Go(t, func(ctx context.Context) {
		defer close(stop)
		err := waitForViews(ctx)
		for began := time.Now(); err == nil && (moved == 0 || time.Since(began) < moveFor); moved++ {
			if err = m.move(ctx); err == nil {
				at := time.Now()
				err = waitForViews(ctx)
				longest = max(longest, time.Since(at))
			}
		}
		if err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	const clients = 16
	views, err := burst.SustainViews(ctx, target, m.version, clients, stop, tell)
	if err != nil {
		t.Fatal(err)
	}
	wantEveryView(t, views)
	t.Logf("moved %d times; 50 views were confirmed within %s of each move", moved, longest)
}

// wantEveryView checks that the counter has every confirmed view, and none that nobody sent.
func wantEveryView(t *testing.T, views burst.Views) {
	t.Helper()
	confirmed, unknown := int64(len(views.Writes)), int64(len(views.Failed))
	if views.Final < confirmed || views.Final > confirmed+unknown {
		t.Errorf("the counter is %d after %d confirmed views and %d with an unknown result", views.Final, confirmed, unknown)
	}
	t.Logf("the counter is %d after %d confirmed views, %d with an unknown result and %d refused as stale",
		views.Final, confirmed, unknown, len(views.Stale))
	if unknown > 0 {
		t.Logf("the first unknown result: %s", views.Failed[0])
	}
}

// serveTwo starts two instances behind a balancer.
func serveTwo(t *testing.T, m moving) burst.Target {
	t.Helper()
	s := testenv.Stack(t)
	argv := append([]string{
		program(t), "serve", "--listen=127.0.0.1:0", "--start-timeout=30s", "--log-format=json", "--topology=" + m.redis.Kind,
		"--redis=" + strings.Join(m.redis.Addrs, ","), "--database=" + s.SQLite(),
	}, m.flags...)
	instances := make([]*servers.Instance, 2)
	for i := range instances {
		var err error
		if instances[i], err = s.Instance(testenv.Context(t), fmt.Sprintf("instance-%d", i+1), argv...); err != nil {
			t.Fatal(err)
		}
	}
	balancer, err := s.Balance("127.0.0.1:0", instances...)
	if err != nil {
		t.Fatal(err)
	}
	return burst.Target{URL: balancer.URL}
}

// movingMaster promotes a replica, and waits until the old master has become a replica.
func movingMaster(t *testing.T) moving {
	nodes := testenv.Topology(t, string(topology.MasterSlave))
	return moving{"v3", nodes, nil, func(ctx context.Context) error {
		f, err := nodes.FailOver(ctx, pview.Key)
		if err != nil {
			return err
		}
		return f.Demoted(ctx)
	}}
}

// movingDatabase has two databases behind one address. It makes the current one read-only and points the address to the other one. Open
// connections stay open.
func movingDatabase(t *testing.T) moving {
	testenv.Needs(t, testenv.MariaDB)
	var databases [2]*servers.Database
	for i := range databases {
		started, err := testenv.Stack(t).MariaDB(testenv.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		databases[i] = started
		administer(t, started, "CREATE USER app@127.0.0.1", "GRANT ALL ON "+servers.DatabaseName+".* TO app@127.0.0.1")
	}
	var at atomic.Int64
	proxy := faultproxy.New(func(ctx context.Context) (net.Conn, error) { return faultproxy.TCP(databases[at.Load()].Addr)(ctx) })
	t.Cleanup(proxy.Close)
	addr, err := proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	// A holder cannot release its lock on a server that became read-only, so the lease must be short.
	flags := []string{"--database=mysql:app@tcp(" + addr + ")/" + servers.DatabaseName, "--lease=2s", "--request=1s"}
	return moving{"v5", testenv.Topology(t, string(topology.Single)), flags, func(context.Context) error {
		now := at.Load()
		administer(t, databases[1-now], "SET GLOBAL read_only = 0")
		administer(t, databases[now], "SET GLOBAL read_only = 1")
		at.Store(1 - now)
		return nil
	}}
}

// administer executes statements as an administrator, who can write to a read-only server.
func administer(t *testing.T, server *servers.Database, statements ...string) {
	admin, err := sql.Open("mysql", server.DSN)
	if err != nil {
		t.Error(err)
		return
	}
	defer admin.Close()
	for _, statement := range statements {
		if _, err := admin.ExecContext(testenv.Context(t), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}
