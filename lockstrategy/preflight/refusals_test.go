package preflight_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy/preflight"
)

// A server that answers and grants no lock is found by a lock that is tried, and the sentence has its reply.
func TestPreflightTriesALock(t *testing.T) {
	oom, denied := []any{"config", "set", "maxmemory"}, []any{"acl", "setuser", "guest"}
	for name, c := range map[string]struct {
		settings []string // of the server
		what     []any    // how it is told to refuse or grant
		refuse   string
		mend     string
		step     string
		found    string // in the reply
	}{
		"out of memory":                          {nil, oom, "1mb", "0", "acquire", "OOM command not allowed"},
		"EVALSHA renamed away":                   {renamed("EVALSHA"), nil, "", "", "acquire", "ERR unknown command 'evalsha'"},
		"EVAL renamed away":                      {renamed("EVAL"), nil, "", "", "acquire", "ERR unknown command 'eval'"},
		"a command of the acquire":               {nil, denied, "-hset", "+hset", "acquire", "can't run this command"},
		"the expiry":                             {nil, denied, "-pexpire", "+pexpire", "acquire", "PEXPIRE: "},
		"a command for a key that another holds": {nil, denied, "-pttl", "+pttl", "acquire", "can't run this command"},
		"a command of the release":               {nil, denied, "-hdel", "+hdel", "release", "can't run this command"},
		"the keys":                               {nil, denied, "resetkeys", "~*", "acquire", "NOPERM this user has no permissions to access"},
		"the channels":                           {nil, denied, "resetchannels", "&*", "notify", "NOPERM"},
		"subscribing":                            {nil, denied, "-subscribe", "+subscribe", "notify", "'subscribe'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := server(t, c.settings...)
			admin := client(t, node.Addr)
			do := func(command ...any) {
				t.Helper()
				if err := admin.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			do("acl", "setuser", "guest", "on", "nopass", "~*", "&*", "+@all")
			if c.what != nil {
				do(append(c.what, c.refuse)...)
			}
			guest := redis.NewClient(&redis.Options{Addr: node.Addr, Username: "guest", Password: "any", MaxRetries: -1})
			t.Cleanup(func() { _ = guest.Close() })
			failing := func() []preflight.Weakness {
				fails := func(w preflight.Weakness) bool { return strings.HasPrefix(w.What, "it fails to ") }
				return slices.DeleteFunc(asked(t, guest).Weaknesses, func(w preflight.Weakness) bool { return !fails(w) })
			}
			got := failing()
			if len(got) != 1 || got[0].What != "it fails to "+c.step || !strings.Contains(got[0].Remedy, c.found) ||
				got[0].Refuses != (c.step != "notify") || got[0].Grave != got[0].Refuses {
				t.Fatalf("it finds %+v, want %s: %s", got, c.step, c.found)
			}
			if len(c.what) == len(denied) && c.what[0] == denied[0] && !strings.Contains(got[0].Remedy, "ACL SETUSER") {
				t.Errorf("it advises %q", got[0].Remedy)
			}
			if c.what == nil {
				return
			}
			do(append(c.what, c.mend)...)
			if got := failing(); len(got) != 0 {
				t.Errorf("it is mended, and finds %+v", got)
			}
			testenv.Eventually(t, "no key is kept", func() bool { return len(admin.Keys(t.Context(), "lock:*").Val()) == 0 })
		})
	}
}

func renamed(command string) []string { return []string{"--rename-command", command, ""} }

// A node of a cluster grants locks on its own keys alone, to a client that knows no cluster.
func TestPreflightOfOneNodeOfACluster(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, "cluster")
	report := asked(t, client(t, started.Nodes[0].Addr))
	if !slices.ContainsFunc(report.Weaknesses, func(w preflight.Weakness) bool {
		return w.Refuses && strings.Contains(w.What, "one node of a cluster with 3 masters") && strings.Contains(w.Remedy, "--topology cluster")
	}) {
		t.Errorf("it finds %+v", report.Weaknesses)
	}
}

// A master of a cluster that is out of memory is found, though it is one of three.
func TestPreflightTriesEveryMasterOfACluster(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, "cluster")
	full := started.Nodes[1].Addr
	if err := client(t, full).ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: started.Addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	worst := asked(t, c).Weaknesses[0]
	if !worst.Refuses || !strings.Contains(worst.Remedy, "OOM") || !slices.Equal(worst.Where, []string{full}) {
		t.Errorf("it finds %+v, want %s", worst, full)
	}
}

// fiveNodes starts the nodes of a quorum, and clients of them.
func fiveNodes(t *testing.T) (nodes []*servers.Node, clients []redis.UniversalClient) {
	testenv.Needs(t, testenv.RedisServer)
	nodes, err := testenv.Stack(t).RedLock(testenv.Context(t), 5, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		clients = append(clients, client(t, node.Addr))
	}
	return nodes, clients
}

var full = []any{"config", "set", "maxmemory", "1mb"}

// A quorum grants locks while a majority of its nodes does. A node that gives no answer grants nothing.
func TestPreflightTriesAQuorum(t *testing.T) {
	t.Parallel()
	nodes, all := fiveNodes(t)
	ask := ofNodes(t, all)
	do := func(node int, command ...any) {
		t.Helper()
		if err := all[node].Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	wantRefused := func(what, step string) {
		t.Helper()
		testenv.Eventually(t, what, func() bool {
			refused := ""
			report, answered := ask(testenv.Context(t))
			for _, w := range report.Weaknesses {
				if w.Refuses {
					refused += w.What
				}
			}
			return answered && refused == step
		})
	}
	do(0, full...)
	do(1, full...)
	wantRefused("three nodes grant", "")
	do(2, "acl", "setuser", "default", "-pexpire")
	wantRefused("no majority renews", "it fails to renew")
	do(2, "acl", "setuser", "default", "+pexpire")
	do(2, "client", "pause", 600_000, "write") // it answers INFO, and no lock
	wantRefused("a node hangs while it is tried", "it fails to acquire")
	do(2, "client", "unpause")
	wantRefused("three nodes grant again", "")
	nodes[2].Kill()
	wantRefused("a node is away", "it fails to acquire")
}
