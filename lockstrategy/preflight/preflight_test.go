package preflight_test

import (
	"cmp"
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/preflight"
	"locklab/lockstrategy/redislock"
	"locklab/lockstrategy/redlock"
)

// instance is the name in the keys that are tried: braces mean something in a key.
const instance = "lab}{1"

func server(t *testing.T, settings ...string) *servers.Node {
	t.Helper()
	testenv.Needs(t, testenv.RedisServer)
	node, err := testenv.Stack(t).Redis(testenv.Context(t), "redis", true, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// where names the servers of a lock.
const where = "the servers"

// check is the check of the lock of v3 on client.
func check(t *testing.T, client redis.UniversalClient) preflight.Check {
	t.Helper()
	lock, err := redislock.New(client, lockstrategy.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return preflight.Lock{Name: "v3", Instance: instance, Strategy: lock, Where: where, Redis: []redis.UniversalClient{client}}.Check
}

// asked is what a preflight finds when all servers answer in time.
func asked(t *testing.T, client redis.UniversalClient) preflight.Report {
	t.Helper()
	report := inTime(t, check(t, client))
	if report.Lock != "v3" || time.Since(report.Taken) > time.Minute {
		t.Fatalf("it says %+v", report)
	}
	return report
}

// inTime repeats a preflight until all servers have answered in time but those that are away. A preflight has two seconds, and a machine
// that stalls takes longer.
func inTime(t *testing.T, check preflight.Check, away ...string) (report preflight.Report) {
	t.Helper()
	testenv.Eventually(t, "the servers answer in time", func() bool {
		var answered bool
		report, answered = check(testenv.Context(t))
		tooLate := func(w preflight.Weakness) bool {
			return strings.Contains(w.Remedy, context.DeadlineExceeded.Error()) || strings.Contains(w.Remedy, os.ErrDeadlineExceeded.Error())
		}
		return answered && slices.Equal(silent(report), away) && !slices.ContainsFunc(report.Weaknesses, tooLate)
	})
	return report
}

// silent lists the servers that gave no answer.
func silent(report preflight.Report) (all []string) {
	for _, u := range report.Unknown {
		if u.What == "everything" {
			all = append(all, u.Where...)
		}
	}
	return all
}

// wantWeaknesses asks for parts of what was found, in order, and for nothing else.
func wantWeaknesses(t *testing.T, report preflight.Report, want ...string) {
	t.Helper()
	found := slices.Collect(func(yield func(string) bool) {
		for _, w := range report.Weaknesses {
			yield(w.String())
		}
	})
	if !slices.EqualFunc(found, want, strings.Contains) {
		t.Errorf("found %q, want %q", found, want)
	}
}

func wantUnknown(t *testing.T, report preflight.Report, want ...string) {
	t.Helper()
	var unknown []string
	for _, u := range report.Unknown {
		unknown = append(unknown, strings.Join(u.Where, ", ")+": "+u.What+": "+u.Why)
	}
	if !slices.EqualFunc(unknown, want, strings.HasPrefix) {
		t.Errorf("unknown %q, want %q", unknown, want)
	}
}

// What settings mean is the subject of TestWhatLosesALock. This is what a real server says of them.
func TestPreflightReadsHowTheServerIsSetUp(t *testing.T) {
	t.Parallel()
	report := asked(t, client(t, server(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes").Addr))
	wantWeaknesses(t, report, "maxmemory is 104857600 bytes with maxmemory-policy allkeys-lru", "appendfsync is everysec")
	wantUnknown(t, report)
}

// A managed Redis refuses some of the questions. The answers of INFO are used all the same.
func TestPreflightSaysWhatItMayNotAsk(t *testing.T) {
	t.Parallel()
	node := server(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	admin := client(t, node.Addr)
	for denied, want := range map[string][]string{"-config": {"volatile-lru", "appendonly is no"}, "-info": nil} {
		if err := admin.Do(t.Context(), "ACL", "SETUSER", "guest", "reset", "on", "nopass", "~*", "&*", "+@all", denied).Err(); err != nil {
			t.Fatal(err)
		}
		guest := redis.NewClient(&redis.Options{Addr: node.Addr, Username: "guest", Password: "any"})
		t.Cleanup(func() { _ = guest.Close() })
		report := asked(t, guest)
		wantWeaknesses(t, report, want...)
		wantUnknown(t, report, where+": how it is set up: NOPERM")
	}
}

func TestPreflightOfMiniredis(t *testing.T) {
	t.Parallel()
	report := asked(t, client(t, testenv.Redis(t, false).Addr))
	wantWeaknesses(t, report)
	wantUnknown(t, report, where+": how it is set up: ERR unknown command")
}

func TestPreflightOfAMasterAndOfItsReplica(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, "master-slave")
	report := asked(t, client(t, started.Nodes[0].Addr))
	wantWeaknesses(t, report, "it has replicas: 3", "appendonly is no")
	report = asked(t, client(t, started.Nodes[1].Addr))
	wantWeaknesses(t, report, "READONLY", "appendonly is no")
	if !report.Weaknesses[0].Refuses {
		t.Error("a replica grants locks")
	}
}

// Every master of a cluster is asked, and tried.
func TestPreflightOfACluster(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, "cluster")
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: started.Addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	masters := started.Nodes[:3]
	slices.SortFunc(masters, func(a, b *servers.Node) int { return cmp.Compare(a.Addr, b.Addr) })
	addrs := []string{masters[0].Addr, masters[1].Addr, masters[2].Addr}
	report := asked(t, c)
	wantWeaknesses(t, report, "it has replicas: 1", "appendonly is no")
	for _, w := range report.Weaknesses {
		if slices.Sort(w.Where); !slices.Equal(w.Where, addrs) || len(report.Unknown) != 0 {
			t.Errorf("masters %v: %+v", addrs, report)
		}
	}
	// A client that knows no cluster is granted locks on one node's own keys alone.
	if !slices.ContainsFunc(asked(t, client(t, addrs[0])).Weaknesses, func(w preflight.Weakness) bool {
		return w.Refuses && strings.Contains(w.What, "one node of a cluster with 3 masters")
	}) {
		t.Error("one node of it is a lock")
	}
	move, err := testenv.MoveSlot(testenv.Context(t), started, "lock:pview")
	if err != nil {
		t.Fatal(err)
	}
	report = asked(t, c)
	slices.SortFunc(report.Weaknesses, func(a, b preflight.Weakness) int { return cmp.Compare(a.What, b.What) }) // any master may be the first
	wantWeaknesses(t, report, "appendonly is no", "it has replicas: 1", "slots of the cluster are moving")
	if err := move.End(testenv.Context(t)); err != nil {
		t.Fatal(err)
	}
	// One master keeps its keys in another way than the others, one is out of memory, and one hangs.
	for i, setting := range [][2]string{{"appendonly", "yes"}, {"maxmemory", "1mb"}} {
		if err := client(t, addrs[i]).ConfigSet(t.Context(), setting[0], setting[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if worst := asked(t, c).Weaknesses[0]; !worst.Refuses || !strings.Contains(worst.Remedy, "OOM") || !slices.Equal(worst.Where, addrs[1:2]) {
		t.Errorf("it finds %+v, want %s", worst, addrs[1])
	}
	testenv.Pause(t, masters[2])
	ask := check(t, c)
	testenv.Eventually(t, "two masters answer in time", func() bool {
		report, _ = ask(testenv.Context(t))
		return slices.Equal(silent(report), addrs[2:])
	})
	wantUnknown(t, report, addrs[2]+": everything: it gives no answer")
	found := make(map[string][]string)
	for _, w := range report.Weaknesses {
		found[w.What] = w.Where
	}
	if !slices.Equal(found["appendfsync is everysec"], addrs[:1]) || !slices.Equal(found["appendonly is no"], addrs[1:2]) {
		t.Errorf("masters %v: %v", addrs, found)
	}
}

// ofNodes asks about RedLock over nodes.
func ofNodes(t *testing.T, nodes []redis.UniversalClient) preflight.Check {
	t.Helper()
	lock, err := redlock.New(nodes, lockstrategy.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return preflight.Lock{Name: "v4", Instance: instance, Strategy: lock, Where: where, Redis: nodes}.Check
}

// A node that refuses the password is named: the others grant the lock, so that nothing else shows it.
func TestPreflightNamesANodeThatRefusesThePassword(t *testing.T) {
	t.Parallel()
	nodes, all := fiveNodes(t)
	if err := all[2].Do(t.Context(), "config", "set", "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	refused := redis.NewClient(&redis.Options{Addr: nodes[2].Addr, Password: "wrong"})
	t.Cleanup(func() { _ = refused.Close() })
	all[2] = refused
	report := inTime(t, ofNodes(t, all), nodes[2].Addr)
	wantUnknown(t, report, nodes[2].Addr+": everything: it gives no answer")
}

// Two of five nodes that hang take no time from the trial of the lock, which the three others grant. Without it the instance would not be
// ready, although v4 works. A node that is given twice is found.
func TestPreflightOfRedLock(t *testing.T) {
	t.Parallel()
	nodes, all := fiveNodes(t)
	alias := strings.Replace(nodes[0].Addr, "127.0.0.1", "localhost", 1)
	ask := ofNodes(t, append(all, client(t, alias)))
	inTime(t, ask) // each has its connection
	testenv.Pause(t, nodes[1])
	testenv.Pause(t, nodes[3])
	report := inTime(t, ask, nodes[1].Addr, nodes[3].Addr)
	wantWeaknesses(t, report, "named more than once", "appendonly is no")
	w := report.Weaknesses
	if !slices.Equal(w[0].Where, []string{nodes[0].Addr, alias}) || !w[0].Grave || w[0].Refuses || len(w[1].Where) != 4 {
		t.Errorf("it finds %+v", w)
	}
	wantUnknown(t, report, nodes[1].Addr+": everything: it gives no answer", nodes[3].Addr+": everything: it gives no answer")
}

// A server that hangs delays no caller by more than the timeout.
func TestPreflightIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		defer server.Close()
		wire := faultproxy.New(func(context.Context) (net.Conn, error) { return server.Dial() })
		defer wire.Close()
		c := bubble.Dial(wire.DialContext)
		defer c.Close()
		ask := check(t, c)
		if _, answered := ask(t.Context()); !answered { // it has its connection
			t.Fatal("it has not answered")
		}
		wire.Hang()
		began := time.Now()
		report, answered := ask(t.Context())
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
		if answered {
			t.Error("it has answered")
		}
		wantWeaknesses(t, report)
		wantUnknown(t, report, where+": everything: it gives no answer")
	})
}
