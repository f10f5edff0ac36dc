package preflight_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy/preflight"
	"locklab/stack"
)

// A server that answers and grants no lock is found by a lock that is tried, and the sentence names the command.
func TestPreflightTriesALock(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string // of the server
		command  []any    // that makes it refuse
		found    string   // What, or a part of it
		remedy   string
		refuses  bool
		mend     []any
	}{
		"out of memory": {
			command: []any{"config", "set", "maxmemory", "1mb"}, mend: []any{"config", "set", "maxmemory", "0"},
			found: "it refuses to acquire: SET: OOM command not allowed", remedy: "raise maxmemory", refuses: true,
		},
		"EVALSHA renamed away": {
			settings: []string{"--rename-command", "EVALSHA", ""},
			found:    "it refuses to acquire: ERR unknown command 'evalsha'", remedy: "rename-command", refuses: true,
		},
		"EVAL renamed away": {
			settings: []string{"--rename-command", "EVAL", ""},
			found:    "it refuses to acquire: ERR unknown command 'eval'", remedy: "rename-command", refuses: true,
		},
		"a command of the acquire": {
			command: denied("-hset"), mend: denied("+hset"), found: "it refuses to acquire: HSET: ", remedy: "+COMMAND", refuses: true,
		},
		"the expiry": {
			command: denied("-pexpire"), mend: denied("+pexpire"), found: "it refuses to acquire: PEXPIRE: ", remedy: "+COMMAND", refuses: true,
		},
		"a command for a key that another holds": {
			command: denied("-pttl"), mend: denied("+pttl"), found: "it refuses to acquire: PTTL: ", remedy: "+COMMAND", refuses: true,
		},
		"a command of the release": {
			command: denied("-hdel"), mend: denied("+hdel"), found: "it refuses to release: HDEL: ", remedy: "+COMMAND", refuses: true,
		},
		"the keys": {
			command: denied("resetkeys"), mend: denied("~*"),
			found: "it refuses to acquire: NOPERM this user has no permissions to access one of the keys", remedy: "~locklab_fence:*", refuses: true,
		},
		"the channels": {
			command: denied("resetchannels"), mend: denied("&*"), found: "it refuses to publish and to subscribe: NOPERM",
			remedy: "&redisson_lock__channel:*",
		},
		"subscribing": {
			command: denied("-subscribe"), mend: denied("+subscribe"),
			found: "it refuses to subscribe: NOPERM this user has no permissions to run the 'subscribe' command", remedy: "+COMMAND",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := server(t, c.settings...)
			admin := client(t, node.Addr)
			do := func(command []any) {
				t.Helper()
				if command == nil {
					return
				}
				if err := admin.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			do([]any{"acl", "setuser", "guest", "on", "nopass", "~*", "&*", "+@all"})
			do(c.command)
			guest := redis.NewClient(&redis.Options{Addr: node.Addr, Username: "guest", Password: "any", MaxRetries: -1})
			t.Cleanup(func() { _ = guest.Close() })
			refused := func() []preflight.Weakness {
				return slices.DeleteFunc(asked(t, guest).Weaknesses, func(w preflight.Weakness) bool { return !strings.Contains(w.What, "refuses") })
			}
			got := refused()
			if len(got) != 1 || !strings.Contains(got[0].What, c.found) || !strings.Contains(got[0].Remedy, c.remedy) ||
				got[0].Refuses != c.refuses || got[0].Grave != c.refuses {
				t.Errorf("it finds %+v, want %q with %q", got, c.found, c.remedy)
			}
			if do(c.mend); c.mend == nil {
				return
			}
			if got := refused(); len(got) != 0 {
				t.Errorf("it is mended, and finds %+v", got)
			}
			testenv.Eventually(t, "no key is kept", func() bool { return len(admin.Keys(t.Context(), "lock:*").Val()) == 0 })
		})
	}
}

func denied(rights string) []any { return []any{"acl", "setuser", "guest", rights} }

// A node of a cluster grants locks on its own keys alone, to a client that knows no cluster.
func TestPreflightOfOneNodeOfACluster(t *testing.T) {
	started := arranged(t, "cluster")
	report := asked(t, client(t, started.Nodes[0].Addr))
	if !slices.ContainsFunc(report.Weaknesses, func(w preflight.Weakness) bool {
		return w.Refuses && strings.Contains(w.What, "one node of a cluster with 3 masters") && strings.Contains(w.Remedy, "--topology cluster")
	}) {
		t.Errorf("it finds %+v", report.Weaknesses)
	}
}

// A master of a cluster that is out of memory is found, though it is one of three.
func TestPreflightTriesEveryMasterOfACluster(t *testing.T) {
	started := arranged(t, "cluster")
	full := started.Nodes[1].Addr
	if err := client(t, full).ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: started.Addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	worst := asked(t, c).Weaknesses[0]
	if !worst.Refuses || !strings.Contains(worst.What, "OOM") || !slices.Equal(worst.Where, []string{full}) {
		t.Errorf("it finds %+v, want %s", worst, full)
	}
}

// fiveNodes starts the nodes of a quorum, and clients of them.
func fiveNodes(t *testing.T) (nodes []*stack.Node, clients []redis.UniversalClient) {
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

// A node that gives no answer is no voter: with two others that refuse, no majority grants.
func TestASilentNodeOfAQuorumDoesNotVote(t *testing.T) {
	nodes, all := fiveNodes(t)
	do := func(node int, command ...any) {
		t.Helper()
		if err := all[node].Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	wantRefuses := func(what string, want bool) {
		t.Helper()
		testenv.Eventually(t, fmt.Sprintf("%s: refuses is %t", what, want), func() bool { // on a busy machine a node may be late
			report, err := preflight.RedLock(all, instance)(testenv.Context(t))
			i := slices.IndexFunc(report.Weaknesses, func(w preflight.Weakness) bool { return strings.Contains(w.What, "OOM") })
			return err == nil && i >= 0 && report.Weaknesses[i].Refuses == want
		})
	}
	do(0, full...)
	do(1, full...)
	wantRefuses("three nodes vote", false)
	do(2, "client", "pause", 600_000, "write") // it answers INFO, and no lock
	wantRefuses("a node hangs while it is tried", true)
	do(2, "client", "unpause")
	wantRefuses("three nodes vote again", false)
	nodes[2].Kill()
	wantRefuses("a node is away", true)
}

// A quorum grants locks while a majority of its nodes does.
func TestPreflightTriesEveryNodeOfAQuorum(t *testing.T) {
	_, all := fiveNodes(t)
	for i, c := range []struct {
		command []any
		where   int
		refuses bool
	}{
		{full, 1, false},
		{full, 2, false},
		{[]any{"acl", "setuser", "default", "-pexpire"}, 2, true},
	} {
		if err := all[i].Do(t.Context(), c.command...).Err(); err != nil {
			t.Fatal(err)
		}
		report, err := preflight.RedLock(all, instance)(testenv.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range report.Weaknesses {
			switch renew := strings.Contains(w.What, "it refuses to renew: PEXPIRE"); {
			case renew && i < 2, renew && !w.Refuses, strings.Contains(w.What, "OOM") && (len(w.Where) != c.where || w.Refuses != c.refuses):
				t.Errorf("after %d it finds %+v", i+1, w)
			}
		}
		if want := map[bool]int{false: 1, true: 2}[c.refuses]; len(report.Weaknesses) != want+1 { // and that they keep nothing on disk
			t.Errorf("after %d it finds %+v", i+1, report.Weaknesses)
		}
	}
}
