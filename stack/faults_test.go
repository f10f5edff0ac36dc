//go:build unix

package stack_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/stack"
)

// impatient is how long a request over a link waits that is cut.
const impatient = 100 * time.Millisecond

func dial(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, Protocol: 2, ContextTimeoutEnabled: true, PoolSize: 1,
	})
	t.Cleanup(func() { client.Close() })
	return client
}

// What a server does and what its client hears are two things: a table of both, for each way to cut.
func TestLinkThatIsCut(t *testing.T) {
	for _, c := range []struct {
		name             string
		cut              stack.Direction
		executed, answer bool
	}{
		{"whole", 0, true, true},
		{"to the server", stack.ToServer, false, false},
		{"to the client", stack.ToClient, true, false},
		{"both", stack.Both, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.Engines(t, func(t *testing.T, real bool) {
				ctx, s := testenv.Context(t), testenv.Stack(t)
				topology, err := s.Linked(ctx, "single", real)
				if err != nil {
					t.Fatal(err)
				}
				node := topology.Nodes[0]
				client := dial(t, node.Told())
				if err := client.Set(ctx, "before", "1", 0).Err(); err != nil {
					t.Fatal(err)
				}
				node.Link.Cut(c.cut)
				short, cancel := context.WithTimeout(ctx, impatient)
				defer cancel()
				if c.answer {
					short = ctx
				}
				if err := client.Set(short, "after", "1", 0).Err(); (err == nil) != c.answer {
					t.Errorf("the answer: %v", err)
				}
				if got := dial(t, node.Addr).Exists(ctx, "after").Val() == 1; got != c.executed {
					t.Errorf("executed: %v, want %v", got, c.executed)
				}
				if got := node.Link.Dropped().Bytes > 0; got == c.answer {
					t.Errorf("dropped: %+v", node.Link.Dropped())
				}
				newcomer(t, node, c.cut != 0)
				node.Link.Mend()
				testenv.Eventually(t, "the link is whole", func() bool { return client.Ping(ctx).Err() == nil })
			})
		})
	}
}

// newcomer dials a link: when it is cut in any direction, it gets nowhere.
func newcomer(t *testing.T, node *stack.Node, cut bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), impatient)
	defer cancel()
	if !cut {
		ctx = t.Context()
	}
	if err := dial(t, node.Told()).Ping(ctx).Err(); (err == nil) == cut {
		t.Errorf("a new connection: %v", err)
	}
	if got := node.Link.Dropped().Connections > 0; got != cut {
		t.Errorf("dropped: %+v", node.Link.Dropped())
	}
}

// In every topology the link to the replicas can be cut while clients go on; what is written then is on no replica, or only on those that
// are spared.
func TestReplicationIsCut(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	for _, c := range []struct {
		kind    string
		spared  int // the first so many replicas
		replica int // of the first master: its place among the nodes
	}{
		{"master-slave", 0, 1}, {"master-slave", 1, 1}, {"sentinel", 0, 1}, {"cluster", 0, 3},
	} {
		t.Run(fmt.Sprintf("%s, %d spared", c.kind, c.spared), func(t *testing.T) {
			ctx, s := testenv.Context(t), testenv.Stack(t)
			topology, err := s.Linked(ctx, c.kind, true)
			if err != nil {
				t.Fatal(err)
			}
			master, followers := topology.Nodes[0], topology.Nodes[c.replica:]
			if c.kind == "cluster" {
				followers = followers[:1]
			}
			master.Link.CutReplicas(followers[c.spared:]...)
			client := dial(t, master.Told())
			if err := client.Set(ctx, "{06S}", "1", 0).Err(); err != nil { // in the first master's slots
				t.Fatal(err)
			}
			testenv.Eventually(t, "the replicas' bytes get lost", func() bool { return master.Link.Dropped().Bytes > 0 })
			for i, node := range followers {
				has := func() bool {
					n, err := dial(t, node.Addr).DBSize(ctx).Result()
					return err == nil && n == 1
				}
				if i < c.spared {
					testenv.Eventually(t, "a replica that is spared has it", has)
				} else if has() {
					t.Errorf("%s has it", node.Name)
				}
			}
		})
	}
}

func TestRestartIsEmpty(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		ctx, s := testenv.Context(t), testenv.Stack(t)
		node, err := s.Redis(ctx, "redis", real)
		if err != nil {
			t.Fatal(err)
		}
		addr, pid := node.Addr, node.PID()
		client := dial(t, addr)
		if err := client.Set(ctx, "key", "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
		proof, err := s.Restart(ctx, node)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(proof)
		if n, err := dial(t, addr).DBSize(ctx).Result(); err != nil || n != 0 || node.Addr != addr || node.PID() == pid || alive(pid) {
			t.Errorf("%d keys, %v, at %s", n, err, node.Addr)
		}
	})
}

func TestClockAhead(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		ctx, s := testenv.Context(t), testenv.Stack(t)
		node, err := s.Redis(ctx, "redis", real)
		if err != nil {
			t.Fatal(err)
		}
		client := dial(t, node.Addr)
		for key, life := range map[string]time.Duration{"short": time.Minute, "long": 3 * time.Hour, "for ever": 0} {
			if err := client.Set(ctx, key, "1", life).Err(); err != nil {
				t.Fatal(err)
			}
		}
		proof, err := s.ClockAhead(ctx, node, time.Hour)
		if err != nil || proof == "" {
			t.Fatal(proof, err)
		}
		if client.Exists(ctx, "short").Val() != 0 || client.PTTL(ctx, "for ever").Val() >= 0 {
			t.Errorf("the keys: %v; %s", client.Keys(ctx, "*").Val(), proof)
		}
		if left := client.PTTL(ctx, "long").Val(); left <= 0 || left > 2*time.Hour {
			t.Errorf("the long one has %s; %s", left, proof)
		}
	})
}

func TestMemoryFull(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	for _, c := range []struct {
		policy  string
		evicted bool
	}{{"noeviction", false}, {"allkeys-lru", true}, {"volatile-lru", true}} {
		t.Run(c.policy, func(t *testing.T) {
			ctx, s := testenv.Context(t), testenv.Stack(t)
			node, err := s.Redis(ctx, "redis", true)
			if err != nil {
				t.Fatal(err)
			}
			client := dial(t, node.Addr)
			if err := client.Set(ctx, "lock", "1", time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
			gone := func(ctx context.Context) (bool, error) {
				n, err := client.Exists(ctx, "lock").Result()
				return n == 0, err
			}
			full, err := s.Fill(ctx, node, c.policy, gone)
			if err != nil || (full.Evicted > 0) != c.evicted || full.Refused == nil && !c.evicted {
				t.Fatalf("%+v, %v", full, err)
			}
			if err := s.Unfill(ctx, node); err != nil {
				t.Fatal(err)
			}
			if err := client.Set(ctx, "again", "1", 0).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// echo is a worker's role in this test binary.
var echo = stack.Role("echo", func(in io.Reader, out io.Writer) int {
	_, _ = io.Copy(out, in)
	return 0
})

func TestWorker(t *testing.T) {
	s := testenv.Stack(t)
	if _, err := s.Worker("nobody's", "worker"); err == nil {
		t.Error("a role that nobody has")
	}
	w, err := s.Worker(echo, "worker")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Out.Close()
	lines := bufio.NewScanner(w.Out)
	testenv.Pause(t, w)
	fmt.Fprintln(w.In, "said while it did not run")
	w.Resume()
	if !lines.Scan() || lines.Text() != "said while it did not run" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	if err := w.In.Close(); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() || w.ExitCode() != 0 {
		t.Errorf("it says %q and ends with %d", lines.Text(), w.ExitCode())
	}
}

// A stack that is closed in the middle of faults leaves nothing behind.
func TestCloseUndoesFaults(t *testing.T) {
	s, err := stack.New()
	if err != nil {
		t.Fatal(err)
	}
	topology, err := s.Linked(testenv.Context(t), "single", false)
	if err != nil {
		t.Fatal(err)
	}
	node := topology.Nodes[0]
	node.Link.Cut(stack.Both)
	short, cancel := context.WithTimeout(t.Context(), impatient)
	defer cancel()
	if err := dial(t, node.Told()).Ping(short).Err(); err == nil {
		t.Fatalf("over a link that is cut: %v", err)
	}
	testenv.Pause(t, node)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if listens(node.Addr) || listens(node.Told()) || alive(node.PID()) {
		t.Error("something is left")
	}
}
