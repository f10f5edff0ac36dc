package lockstrategy_test

import (
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
)

// A server's locks are listed with owner, token, lease and listeners, while they are held. Nothing else is listed, and nothing changes.
func TestLocksAreListed(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		ctx, c := testenv.Context(t), client(t, testenv.Redis(t, real).Addr)
		lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: c, Expiry: 30 * time.Second})
		free, err := lock.Acquire(ctx, "free")
		if err != nil {
			t.Fatal(err)
		}
		if err := free.Release(ctx); err != nil {
			t.Fatal(err)
		}
		want := map[string]uint64{"redlock:k": 0}
		for _, key := range []string{"lock:pview", "lock:order:{7}"} {
			lease, err := lock.Acquire(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			want[key] = lease.FencingToken()
		}
		c.Set(ctx, "redlock:k", "its owner", time.Minute)
		c.Set(ctx, "locklab_grant:{other}", 1, 0)
		c.Set(ctx, "other", "another program's", 0)
		waits := c.Subscribe(ctx, "redisson_lock__channel:{lock:pview}")
		defer waits.Close()
		if _, err := waits.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		before := c.DBSize(ctx).Val()
		held, err := lockstrategy.Locks(ctx, c, false)
		if err != nil || len(held) != len(want) {
			t.Fatal(held, err)
		}
		for _, h := range held {
			token, is := want[h.Key]
			owner := h.Owner
			if h.Key != "redlock:k" {
				owner = c.HKeys(ctx, h.Key).Val()[0]
			}
			if !is || h.Token != token || h.Owner != owner || h.Left < 20*time.Second || (h.Key == "lock:pview") != (h.Listeners == 1) {
				t.Errorf("%+v; want the token %d of %q", h, token, owner)
			}
		}
		if after := c.DBSize(ctx).Val(); after != before {
			t.Errorf("%d keys became %d", before, after)
		}
	})
}
