package clients

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
	"locklab/lockstrategy"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// On a slow machine a lease lasts longer: B is granted the lock when A's has ended.
func TestLeasesFollowThePace(t *testing.T) {
	const lease, pace = 100 * time.Millisecond, 4
	events := trialtest.Paced(t, pace, WorkBesideWaiter(LongLease, 3*lease, lease))
	at := make(map[string]time.Duration)
	for _, e := range events {
		if e.Timeline == "A" && e.Kind == history.Request || e.Timeline == "B" && e.Kind == history.Grant {
			at[e.Timeline] = e.At
		}
	}
	if waited := at["B"] - at["A"]; len(at) != 2 || waited < (pace-1)*lease {
		t.Errorf("B was granted the lock %s after A had asked for a lease of %s: %v", waited, pace*lease, events)
	}
}

// unrenewed is a lock whose leases nobody renews, as in a process that is stopped for longer than a lease.
type unrenewed struct {
	lockstrategy.Strategy
	lease time.Duration
}

func (u unrenewed) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	return u.Strategy.Acquire(ctx, key, append(options, lockstrategy.LeaseFor(u.lease))...)
}

// A process that did not run when it should have renewed says nothing about a lease that is renewed.
func TestALeaseThatWasNotRenewedShowsNothing(t *testing.T) {
	const lease = 100 * time.Millisecond
	e := lab.Experiment{Variants: []lab.Variant{{Name: "stalled", Run: OnRedis(func(ctx context.Context, x *Redis) {
		a := x.NewClient("A", LongLease)
		a.Lock = unrenewed{a.Lock, lease}
		WorkBeside(ctx, a, x.NewClient("B", LongLease), time.Minute)
	})}}}
	r := lab.Run(t.Context(), e, lab.Options{Trials: 1}).Record
	if failed := r.Variants[0].Trials[0].Err; !strings.Contains(failed, "the lease was not renewed") {
		t.Errorf("the trial says %q", failed)
	}
}

// A proxy that has ended keeps its port: another server could take it, and would answer the proxy's clients.
func TestAProxyThatEndedKeepsItsPort(t *testing.T) {
	trialtest.Paced(t, 1, func(ctx context.Context, trial *lab.Trial) {
		node, err := trial.Stack.Redis(ctx, "redis", false)
		trial.Must(err)
		proxy, err := trial.Stack.Proxy("proxy", node.Addr)
		trial.Must(err)
		client := redis.NewClient(OneAttempt(proxy.Addr))
		trial.Cleanup(client.Close)
		trial.Must(client.Ping(ctx).Err())
		if proof := EndProxy(ctx, trial, proxy); proof == "" {
			t.Error("nothing proves that the proxy has ended")
		}
		if err := client.Ping(ctx).Err(); err == nil {
			t.Error("a client reaches the server")
		}
		if other, err := net.Listen("tcp", proxy.Addr); err == nil {
			_ = other.Close()
			t.Error("another server can take the port")
		}
	})
}

// A resource that registers tokens at the read refuses an older holder's read, and says that it was a read.
func TestARefusedReadSaysSo(t *testing.T) {
	events := trialtest.Paced(t, 1, func(_ context.Context, x *lab.Trial) {
		resource := NewResource(x, true)
		newer := unlocked{&grant{Name: "B", Owner: "b", Token: 6, t: x}}
		older := unlocked{&grant{Name: "A", Owner: "a", Token: 5, t: x}}
		resource.Read(newer)
		resource.Read(older)
		resource.Write(older, 1)
	})
	var said []string
	for _, e := range events {
		if e.Kind == history.Stale {
			said = append(said, e.Summary())
		}
	}
	if want := []string{"refused read token 5", "refused write 1 token 5"}; !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}
