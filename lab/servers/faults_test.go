//go:build unix

package servers_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
)

func dial(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, Protocol: 2, ContextTimeoutEnabled: true, PoolSize: 1,
	})
	t.Cleanup(func() { client.Close() })
	return client
}

func TestRestartIsEmpty(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		ctx, s := testenv.Context(t), testenv.Stack(t)
		node, err := s.Redis(ctx, "redis", real)
		if err != nil {
			t.Fatal(err)
		}
		addr, before := node.Addr, pid(node)
		client := dial(t, addr)
		if err := client.Set(ctx, "key", "1", 0).Err(); err != nil {
			t.Fatal(err)
		}
		proof, err := node.Restart(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(proof)
		if n, err := dial(t, addr).DBSize(ctx).Result(); err != nil || n != 0 || node.Addr != addr || pid(node) == before || alive(before) {
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
		if client.Exists(ctx, "short").Val() != 0 || client.Exists(ctx, "for ever").Val() != 1 || client.PTTL(ctx, "for ever").Val() >= 0 {
			t.Errorf("the keys: %v; %s", client.Keys(ctx, "*").Val(), proof)
		}
		if left := client.PTTL(ctx, "long").Val(); left <= 0 || left > 2*time.Hour {
			t.Errorf("the long one has %s; %s", left, proof)
		}
	})
}

// The clients write while the node does not run. A clock that is behind then would take the pause off the life of some keys.
func TestAKeyThatIsWrittenAfterAPauseLivesAsLong(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		const life = time.Minute
		ctx, s := testenv.Context(t), testenv.Stack(t)
		node, err := s.Redis(ctx, "redis", real)
		if err != nil {
			t.Fatal(err)
		}
		clients := make([]*redis.Client, 50)
		for i := range clients {
			clients[i] = dial(t, node.Addr)
		}
		write := func(i int) {
			if err := clients[i].Set(ctx, fmt.Sprint(i), "1", life).Err(); err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			testenv.Pause(t, node)
			var all sync.WaitGroup
			for i := range clients {
				all.Go(func() { write(i) })
			}
			time.Sleep(200 * time.Millisecond) // time is the subject
			resumed := time.Now()
			node.Resume()
			all.Wait()
			for i := range clients {
				left := clients[0].PTTL(ctx, fmt.Sprint(i)).Val()
				if lived := time.Since(resumed); left < life-lived-time.Millisecond {
					t.Fatalf("key %d has %s of %s after %s", i, left, life, lived)
				}
			}
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
			if left := client.Keys(ctx, "filler:*").Val(); len(left) > 0 {
				t.Errorf("%d keys of the fault are left", len(left))
			}
		})
	}
}
