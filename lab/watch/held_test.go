package watch_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lab/watch"
	"locklab/versions"
)

// A server's locks are listed with owner, token, lease and listeners, while they are held. Nothing else is listed, and nothing changes.
func TestLocksAreListed(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		ctx, c := testenv.Context(t), testlocks.Client(t, testenv.Redis(t, real).Addr)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: c, Expiry: 30 * time.Second})
		free, err := lock.Acquire(ctx, "free")
		if err != nil {
			t.Fatal(err)
		}
		if err := free.Release(ctx); err != nil {
			t.Fatal(err)
		}
		want := map[string]uint64{}
		for i, key := range []string{"lock:pview", "lock:order:{7}", "{7}:lock"} {
			lease := testlocks.Must(lock.Acquire(ctx, key))(t)
			defer func() { _ = lease.Release(ctx) }()
			want[key] = lease.FencingToken()
			if held, err := watch.Locks(ctx, c, false); err != nil || len(held) != i+1 {
				t.Fatalf("%s is held, and the list is %v (%v)", key, held, err)
			}
		}
		want["redlock:k"] = 0
		c.Set(ctx, "redlock:k", "its owner", time.Minute)
		c.Set(ctx, "locklab_grant:{other}", 1, 0)
		c.Set(ctx, "other", "another program's", 0)
		waits := c.Subscribe(ctx, "redisson_lock__channel:{lock:pview}")
		defer waits.Close()
		if _, err := waits.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		before := c.DBSize(ctx).Val()
		held, err := watch.Locks(ctx, c, false)
		if err != nil || len(held) != len(want) {
			t.Fatal(held, err)
		}
		for _, h := range held {
			token, is := want[h.Key]
			owner, holder := "its owner", "its owner"
			if h.Key != "redlock:k" {
				owner = c.HKeys(ctx, h.Key).Val()[0]
				holder = "process " + owner[:8] + ", attempt " + owner[strings.Index(owner, ":")+1:]
			}
			if !is || h.Holder() != holder ||
				h.Token != token || h.Owner != owner || h.Left < 20*time.Second || (h.Key == "lock:pview") != (h.Listeners == 1) {
				t.Errorf("%+v; want the token %d of %q", h, token, owner)
			}
		}
		if after := c.DBSize(ctx).Val(); after != before {
			t.Errorf("%d keys became %d", before, after)
		}
		for _, command := range []string{"scan", "pipeline", "pubsub"} {
			hook, looks := &silentServer{command: command}, redis.NewClient(c.Options()) // not the client of the locks, which renew
			t.Cleanup(func() { _ = looks.Close() })
			looks.AddHook(hook)
			if held, err := watch.Locks(ctx, looks, false); !errors.Is(err, io.EOF) {
				t.Errorf("the server does not answer %s, and the list is %v (%v)", hook.command, held, err)
			}
		}
	})
}

// silentServer is a hook of a client that gets no answer to a command, or to a pipeline.
type silentServer struct{ command string }

func (s *silentServer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *silentServer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == s.command {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

func (s *silentServer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if s.command == "pipeline" {
			return io.EOF
		}
		return next(ctx, cmds)
	}
}
