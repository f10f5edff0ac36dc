package lockstrategy_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
)

// recorder keeps the scripts that a client sends whole.
type recorder struct {
	mu    sync.Mutex
	evals [][]any
}

func (h *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "eval" {
			h.mu.Lock()
			h.evals = append(h.evals, cmd.Args())
			h.mu.Unlock()
		}
		return next(ctx, cmd)
	}
}

// An explorer interleaves what the lock sends: the same scripts, keys and arguments. Only the number of fencing tokens that a
// cohort reserves may differ.
func TestCommandsAreWhatIsSent(t *testing.T) {
	ctx, admin, h := testenv.Context(t), client(t, testenv.Redis(t, false).Addr), &recorder{}
	admin.AddHook(h)
	lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: admin, Lease: 30 * time.Second})
	lease, err := lock.Acquire(ctx, "lock:{7}", lockstrategy.TryOnce())
	if err != nil {
		t.Fatal(err)
	}
	state, err := lock.Admin.Inspect(ctx, "lock:{7}")
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	acquire, release := lockstrategy.Commands("lock:{7}", state.Owner, 30*time.Second)
	const before = 3 + 2 // EVAL, the script, the number of keys, and the keys
	for i, c := range []struct {
		made []any
		own  []int // arguments that may differ
	}{{acquire, []int{before + 2}}, {release, nil}} {
		if i >= len(h.evals) || len(h.evals[i]) != len(c.made) {
			t.Fatalf("%d scripts were sent, this one not as %v", len(h.evals), c.made[2:])
		}
		for at, sent := range h.evals[i] {
			if at > 0 && !slices.Contains(c.own, at) && fmt.Sprint(sent) != fmt.Sprint(c.made[at]) {
				t.Errorf("argument %d is %v, and %v was sent", at, c.made[at], sent)
			}
		}
	}
}
