package burst_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"locklab/handlers"
	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/pview"
	"locklab/topology"
	"locklab/versions"
)

// serving is one instance with v3 over a topology of real servers, with a lease of one second.
func serving(t *testing.T, kind string) (burst.Target, *servers.Topology) {
	t.Helper()
	started, ctx := testenv.Topology(t, kind), testenv.Context(t)
	redis, err := topology.Open(ctx, topology.Config{Kind: topology.Kind(kind), Addrs: started.Addrs, SentinelMaster: servers.SentinelMaster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redis.Close() })
	opened, err := versions.Open(versions.NameRedis, versions.Backends{Redis: redis.Master, Expiry: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	orders, err := order.OpenStore(ctx, "sqlite:"+filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { orders.Close() })
	lock := &lockstrategy.Guard{Strategy: opened}
	server := httptest.NewServer(handlers.New(handlers.Config{
		Instance: "8080", Metrics: handlers.NewMetrics(), Log: slog.New(slog.DiscardHandler), Orders: orders,
		Versions: []handlers.Version{{Version: versions.Version{Name: "v3"}, Lock: lock}}, Wait: 2 * time.Second,
		Views: pview.NewCounter(redis.Master, redis.Replica),
	}))
	t.Cleanup(server.Close)
	return burst.Target{URL: server.URL}, started
}

func TestAnOutageThatNobodyEnds(t *testing.T) {
	t.Parallel()
	target, started := serving(t, "single")
	kill := func(context.Context) error { started.Nodes[0].Kill(); return nil }
	o, err := burst.RunOutage(testenv.Context(t), target, "v3", 50, kill, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if o.ReadAfter != 0 || o.BackAfter != 0 || len(o.Failed) == 0 {
		t.Errorf("the only server is dead, and the record says readable %s, back %s, %d failed", o.ReadAfter, o.BackAfter, len(o.Failed))
	}
	if o.Statuses[200]+o.Statuses[503] != o.Users || o.Statuses[200] != len(o.Writes) {
		t.Errorf("%d users got %v, and %d views are confirmed", o.Users, o.Statuses, len(o.Writes))
	}
}

func TestAnOutageThatSentinelsEnd(t *testing.T) {
	t.Parallel()
	target, started := serving(t, "sentinel")
	target = lateReader(t, target)
	kill := func(context.Context) error { started.Nodes[0].Kill(); return nil }
	o, err := burst.RunOutage(testenv.Context(t), target, "v3", 50, kill, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if o.ReadAfter <= 0 || o.BackAfter < o.ReadAfter {
		t.Errorf("readable after %s, back after %s", o.ReadAfter, o.BackAfter)
	}
	if len(o.Writes) == 0 || o.Final == 0 {
		t.Errorf("%d views are confirmed, and the counter shows %d: there was one at least", len(o.Writes), o.Final)
	}
}

// lateReader answers 503 to the second reader of the counter, as the load balancer does whose other instance is not back yet.
func lateReader(t *testing.T, target burst.Target) burst.Target {
	t.Helper()
	instance, err := url.Parse(target.URL)
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(instance)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if answer.Request.Method == http.MethodGet && answer.StatusCode == http.StatusOK && read.Add(1) == 2 {
			answer.StatusCode = http.StatusServiceUnavailable
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return burst.Target{URL: server.URL}
}

// Views that are repeated until one is confirmed may count without an answer. The record has each of them.
func TestEachRepeatedViewOfAnOutageIsInItsRecord(t *testing.T) {
	t.Parallel()
	const failing = 10 // more than the bursts can have: one is on its way, and they end with the first failure
	var left, value atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			value.Store(0)
		case http.MethodPost:
			value.Add(1)
			if left.Add(-1) >= 0 {
				http.Error(w, "counted without an answer", http.StatusBadGateway)
				return
			}
		}
		fmt.Fprintf(w, `{"instance": "app-1", "value": %d}`, value.Load())
	}))
	t.Cleanup(server.Close)
	kill := func(context.Context) error { left.Store(failing); return nil }
	o, err := burst.RunOutage(testenv.Context(t), burst.Target{URL: server.URL}, "v3", 2, kill, time.Minute)
	if err != nil || len(o.Failed)+len(o.Repeated) != failing || o.Final != int64(len(o.Writes)+failing) {
		t.Errorf("%v: %d and %d of %d views without an answer, %d confirmed, final %d",
			err, len(o.Failed), len(o.Repeated), failing, len(o.Writes), o.Final)
	}
	if o.Statuses[http.StatusOK]+len(o.Failed) != o.Users {
		t.Errorf("%d views of bursts got %v, and %d failed", o.Users, o.Statuses, len(o.Failed))
	}
}

func TestAnOutageNeedsADeadMaster(t *testing.T) {
	t.Parallel()
	target, _ := serving(t, "single")
	_, err := burst.RunOutage(testenv.Context(t), target, "v3", 2, func(context.Context) error { return errors.New("missed") }, time.Second)
	if err == nil {
		t.Error("the master was not killed, and there is a record of its death")
	}
}
