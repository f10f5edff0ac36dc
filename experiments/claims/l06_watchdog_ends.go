package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "L06-watchdog-ends",
	Article: "A0, A1, A2",
	Claim:   "Renewal ends with its holder's death, and after its bound when one is set.",
	Says:    "The watchdog lives in the holder's process: a holder that dies blocks the others until its lease ends and no longer. A0 extends a lease a bounded number of times.",
	Drawing: `
A      ├─ lock ─ renews ─ renews ─ ✗ killed
Redis  ═══════════════════════════════════┤ one lease later
B      waits                              ├─ lock ─ read ─ write`,
	How:     "A is a process of its own, and B waits for the lock. Alive, A works for three leases, and B stays out. Killed, its lock may only get closer to its end, as the server says, and B gets it then. With a bound of one lease A works on without looking, until B has had the lock.",
	Anomaly: "orphan",
	Takes:   12 * time.Second,
	Check: func(events []history.Event) []history.Violation {
		return append(history.Counter(events), history.Noted(events, renewedByNobody)...)
	},
	Variants: []experiments.Variant{
		{Name: "alive", Run: holds(lockstrategy.NameRedis, false, 0, alive)},
		{Name: "killed", Strategy: "v3", Fault: true, Run: holds(lockstrategy.NameRedis, false, 0, killedHolder)},
		{Name: "RedLock, killed", Strategy: "v4", Fault: true, Run: holds(lockstrategy.NameRedLock, false, 0, killedHolder)},
		{Name: "bound reached", Expect: experiments.Sometimes, Run: holds(lockstrategy.NameRedis, false, remoteLease, bounded)},
	},
})

// renewedByNobody notes a lock whose end moves away although its holder is dead.
const renewedByNobody = "its lock was renewed after its death, or has no end"

func alive(ctx context.Context, x *remote, r *resource, a *held) error {
	value := r.read(a)
	waited := make(chan error, 1)
	r.t.Go(func() { waited <- last(ctx, r, x.b) })
	select {
	case <-time.After(3 * remoteLease): // that is the work
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := x.writes(ctx, r, a, value+1); err != nil {
		return err
	}
	if err := x.release(ctx); err != nil {
		return err
	}
	return <-waited
}

func killedHolder(ctx context.Context, x *remote, r *resource, a *held) error {
	if err := x.writes(ctx, r, a, r.read(a)+1); err != nil {
		return err
	}
	if err := x.a.Kill(); err != nil {
		return err
	}
	for _, n := range x.nodes {
		if err := a.endsBy(ctx, n, x.key, remoteLease); err != nil {
			return err
		}
	}
	return last(ctx, r, x.b)
}

// endsBy watches the lock of a dead holder on a node until it is gone. By the server's own clock it has a lease left at most, and
// never more than before.
func (h *held) endsBy(ctx context.Context, n *stack.Node, key string, left time.Duration) error {
	return n.WithClient(func(c *redis.Client) error {
		return n.Await(ctx, func(ctx context.Context) error {
			now, err := c.PTTL(ctx, key).Result()
			switch {
			case err != nil:
				return err
			case now == -2: // go-redis's word for: there is no such key
				return nil
			case now < 0 || now > left:
				h.record(history.Note, renewedByNobody)
				return errors.Join(c.Del(ctx, key).Err(), fmt.Errorf("%s has %s", key, now))
			}
			left = now
			return fmt.Errorf("%s has %s", key, now)
		})
	})
}

func bounded(ctx context.Context, x *remote, r *resource, a *held) error {
	value := r.read(a)
	if err := last(ctx, r, x.b); err != nil { // when A's bound is reached
		return err
	}
	if _, err := x.a.Wait(ctx, string(history.Lose)); err != nil {
		return err
	}
	r.write(a, value+1)
	return nil
}
