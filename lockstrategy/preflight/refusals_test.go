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

// A server that answers and grants no lock is found by a lock that is tried, and the sentence has its reply. Each row is undone afterwards.
func TestPreflightTriesALock(t *testing.T) {
	t.Parallel()
	node := server(t)
	admin := client(t, node.Addr)
	guest := redis.NewClient(&redis.Options{Addr: node.Addr, Username: "guest", Password: "any", MaxRetries: -1})
	t.Cleanup(func() { _ = guest.Close() })
	oom, denied := []any{"config", "set", "maxmemory"}, []any{"acl", "setuser", "guest"}
	do := func(command ...any) {
		t.Helper()
		if err := admin.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	failing := func() []preflight.Weakness {
		fails := func(w preflight.Weakness) bool { return strings.HasPrefix(w.What, "it fails to ") }
		return slices.DeleteFunc(asked(t, guest).Weaknesses, func(w preflight.Weakness) bool { return !fails(w) })
	}
	do("acl", "setuser", "guest", "on", "nopass", "~*", "&*", "+@all")
	for name, c := range map[string]struct {
		what         []any // how the server is told to refuse or grant
		refuse, mend string
		step         string
		found        string // in the reply
	}{
		"out of memory":                          {oom, "1mb", "0", "acquire", "OOM command not allowed"},
		"scripts":                                {denied, "-evalsha", "+evalsha", "acquire", "'evalsha'"},
		"a command of the acquire":               {denied, "-hset", "+hset", "acquire", "can't run this command"},
		"the expiry":                             {denied, "-pexpire", "+pexpire", "acquire", "PEXPIRE: "},
		"a command for a key that another holds": {denied, "-pttl", "+pttl", "acquire", "can't run this command"},
		"a command of the release":               {denied, "-hdel", "+hdel", "release", "can't run this command"},
		"the keys":                               {denied, "resetkeys", "~*", "acquire", "NOPERM this user has no permissions to access"},
		"the channels":                           {denied, "resetchannels", "&*", "notify", "NOPERM"},
		"subscribing":                            {denied, "-subscribe", "+subscribe", "notify", "'subscribe'"},
	} {
		do(append(c.what, c.refuse)...)
		got := failing()
		if len(got) != 1 || got[0].What != "it fails to "+c.step || !strings.Contains(got[0].Remedy, c.found) ||
			got[0].Refuses != (c.step != "notify") || got[0].Grave != got[0].Refuses ||
			strings.Contains(got[0].Remedy, "docs/cli.md") != (c.what[0] == denied[0]) {
			t.Errorf("%s: it finds %+v, want %s: %s", name, got, c.step, c.found)
		}
		do(append(c.what, c.mend)...)
		testenv.Eventually(t, "no key is kept", func() bool { return len(admin.Keys(t.Context(), "lock:*").Val()) == 0 })
		if got := failing(); len(got) != 0 {
			t.Errorf("%s: it is mended, and finds %+v", name, got)
		}
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
