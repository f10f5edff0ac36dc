package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy/preflight"
	"locklab/stack"
)

// instance is the name in the keys that are tried: braces mean something in a key.
const instance = "lab{1"

func server(t *testing.T, settings ...string) *stack.Node {
	t.Helper()
	testenv.Needs(t, testenv.RedisServer)
	node, err := testenv.Stack(t).Redis(testenv.Context(t), "redis", true, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func arranged(t *testing.T, kind string) *stack.Topology {
	t.Helper()
	testenv.Needs(t, testenv.RedisServer)
	started, err := testenv.Stack(t).Topology(testenv.Context(t), kind, true)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

func asked(t *testing.T, client redis.UniversalClient) preflight.Report {
	t.Helper()
	report, err := preflight.Redis(client, instance)(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// wantWeaknesses asks for parts of what was found, in order, and for nothing else.
func wantWeaknesses(t *testing.T, report preflight.Report, want ...string) {
	t.Helper()
	found := slices.Collect(func(yield func(string) bool) {
		for _, w := range report.Weaknesses {
			yield(w.What)
		}
	})
	if !slices.EqualFunc(found, want, strings.Contains) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func TestPreflightOfTheLabsServer(t *testing.T) {
	node := server(t)
	report := asked(t, client(t, node.Addr))
	wantWeaknesses(t, report, "no replica", "nothing on disk")
	if len(report.Unknown) != 0 || time.Since(report.Taken) > time.Minute {
		t.Errorf("it says %+v", report)
	}
	facts := report.Servers[0]
	if facts.Node != node.Addr || facts.RoundTrip <= 0 || facts.ClockOffset.Abs() > facts.RoundTrip {
		t.Errorf("on one machine the clocks are one: %+v", facts)
	}
	for name, want := range map[string]string{
		"redis_mode": "standalone", "role": "master", "connected_slaves": "0", "maxmemory": "0", "maxmemory_policy": "noeviction",
		"appendonly": "no", "appendfsync": "everysec", "save": "", "min-replicas-to-write": "0",
	} {
		if got, told := facts.Said[name]; !told || got != want {
			t.Errorf("%s is %q (told: %t), want %q", name, got, told, want)
		}
	}
	if facts.Said["redis_version"] == "" {
		t.Error("it has no version")
	}
}

func TestPreflightReadsHowTheServerIsSetUp(t *testing.T) {
	report := asked(t, client(t, server(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes").Addr))
	wantWeaknesses(t, report, "maxmemory is 104857600 bytes with maxmemory-policy allkeys-lru", "no replica", "appendfsync is everysec")
	report = asked(t, client(t, server(t, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb").Addr))
	wantWeaknesses(t, report, "no replica")
	report = asked(t, client(t, server(t, "--save", "3600 1").Addr))
	wantWeaknesses(t, report, "no replica", "save 3600 1")
}

func TestPreflightOfAMasterAndOfItsReplica(t *testing.T) {
	started := arranged(t, "master-slave")
	report := asked(t, client(t, started.Nodes[0].Addr))
	wantWeaknesses(t, report, "it has replicas: 3", "min-replicas-to-write is 0", "nothing on disk")
	report = asked(t, client(t, started.Nodes[1].Addr))
	wantWeaknesses(t, report, "it refuses to acquire: SET: READONLY", "it is a replica", "nothing on disk")
	if !report.Weaknesses[1].Grave {
		t.Error("a replica as the server of a lock is not grave")
	}
}

func TestPreflightNamesTheSentinelsMaster(t *testing.T) {
	started := arranged(t, "sentinel")
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: stack.SentinelMaster, SentinelAddrs: started.Addrs, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	report := asked(t, c)
	wantWeaknesses(t, report, "it has replicas: 3", "min-replicas-to-write is 0", "nothing on disk")
	_, port, _ := strings.Cut(started.Nodes[0].Addr, ":")
	if got, want := report.Weaknesses[0].Where, []string{"the sentinels' master, port " + port}; !slices.Equal(got, want) {
		t.Errorf("it names %q, want %q", got, want)
	}
}

func TestPreflightAsksEveryMasterOfACluster(t *testing.T) {
	started := arranged(t, "cluster")
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: started.Addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	masters := []string{started.Nodes[0].Addr, started.Nodes[1].Addr, started.Nodes[2].Addr}
	slices.Sort(masters)
	report := asked(t, c)
	wantWeaknesses(t, report, "it has replicas: 1", "min-replicas-to-write is 0", "nothing on disk")
	if got := report.Weaknesses[0].Where; !slices.Equal(got, masters) || len(report.Unknown) != 0 {
		t.Errorf("masters %v: %+v", masters, report)
	}
	// One master keeps its keys in another way than the others, and one hangs.
	if err := client(t, masters[0]).ConfigSet(t.Context(), "appendonly", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	for _, node := range started.Nodes {
		if node.Addr == masters[2] {
			testenv.Pause(t, node)
			defer node.Resume()
		}
	}
	report, err := preflight.Redis(c, instance)(testenv.Context(t))
	if err != nil {
		t.Errorf("two masters answer: %v", err)
	}
	if len(report.Weaknesses) < 4 {
		t.Fatalf("it finds %+v", report.Weaknesses)
	}
	where := fmt.Sprint(report.Weaknesses[2].Where, report.Weaknesses[3].Where)
	if want := fmt.Sprint(masters[1:2], masters[0:1]); where != want {
		t.Errorf("it names %s, want %s: %+v", where, want, report.Weaknesses)
	}
	if len(report.Unknown) != 1 || report.Unknown[0].What != "everything" || !slices.Equal(report.Unknown[0].Where, masters[2:]) {
		t.Errorf("of the master that hangs it says %+v", report.Unknown)
	}
}

func TestPreflightOfRedLock(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	nodes, err := testenv.Stack(t).RedLock(testenv.Context(t), 5, true)
	if err != nil {
		t.Fatal(err)
	}
	var all []redis.UniversalClient
	for _, node := range nodes {
		all = append(all, client(t, node.Addr))
	}
	nodes[4].Kill()
	all = append(all, client(t, strings.Replace(nodes[0].Addr, "127.0.0.1", "localhost", 1)))
	report, err := preflight.RedLock(all, instance)(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	wantWeaknesses(t, report, "one server under several", "nothing on disk")
	if w := report.Weaknesses; len(w[0].Where) != 2 || len(w[1].Where) != 5 || slices.Contains(w[1].Where, nodes[4].Addr) {
		t.Errorf("it names %v and %v", w[0].Where, w[1].Where)
	}
	wantUnknown(t, report, "everything: it gives no answer")
	if got := report.Unknown[0].Where; !slices.Equal(got, []string{nodes[4].Addr}) {
		t.Errorf("%v gives no answer", got)
	}
}

// A server that hangs delays no caller by more than the timeout.
func TestPreflightIsBounded(t *testing.T) {
	node := server(t)
	c := redis.NewClient(&redis.Options{Addr: node.Addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	asked(t, c) // it has its connection
	testenv.Pause(t, node)
	defer node.Resume()
	began := time.Now()
	report, err := preflight.Redis(c, instance)(testenv.Context(t))
	if took := time.Since(began); took < 2*time.Second || took > 4*time.Second {
		t.Errorf("it took %s", took)
	}
	if !errors.Is(err, preflight.ErrSilent) {
		t.Errorf("the error is %v", err)
	}
	wantWeaknesses(t, report)
	wantUnknown(t, report, "everything: it gives no answer")
}

// wrong is a server whose clock is off.
type wrong time.Duration

func (wrong) DialHook(next redis.DialHook) redis.DialHook { return next }

func (wrong) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (w wrong) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if told, ok := cmd.(*redis.TimeCmd); ok {
			told.SetVal(told.Val().Add(time.Duration(w)))
		}
		return err
	}
}

func TestPreflightComparesTheClocks(t *testing.T) {
	node := testenv.Redis(t, false)
	for offset, want := range map[time.Duration]string{time.Hour: "1h0m0s ahead of", -time.Hour: "1h0m0s behind"} {
		c := client(t, node.Addr)
		c.AddHook(wrong(offset))
		report := asked(t, c)
		wantWeaknesses(t, report, "its clock is "+want)
		if got := report.Servers[0].ClockOffset; (got - offset).Abs() > report.Servers[0].RoundTrip {
			t.Errorf("it is off by %s, want %s", got, offset)
		}
	}
}
