package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/internal/testenv"
	"locklab/order"
	"locklab/pview"
)

// refusedWrite is how a resource refuses a stale holder's write.
func refusedWrite(stale error) error {
	return fmt.Errorf("%w: its fencing token is old; nothing was changed", stale)
}

// wasStale fails unless the answer says that a stale holder's write was refused. It says so in words and in the field that no
// other conflict has, and names the instance.
func (a answer) wasStale(t *testing.T, sentence string) {
	t.Helper()
	a.is(t, http.StatusConflict, map[string]any{"error": sentence, "stale": true, "instance": "8080"})
}

func TestAStaleWriteIsAConflictOfItsOwn(t *testing.T) {
	s := serve(t)
	s.ask(http.MethodPost, "/orders", "")
	const why = "stale holder: its fencing token is old; nothing was changed"
	for _, test := range []struct {
		err    func(stale error) error
		before string // in the sentence
	}{
		{refusedWrite, ""},
		// A stale holder has lost its lease, and the guard says so; that nothing was written says more.
		{func(stale error) error { return errors.Join(leaseLost, refusedWrite(stale)) }, leaseLost.Error() + "; "},
	} {
		s.views.err, s.orders.err = test.err(pview.ErrStale), test.err(order.ErrStale)
		for _, accept := range []string{"application/json", "text/plain"} {
			s.ask(http.MethodPost, "/v2/pview", "", "Accept: "+accept).wasStale(t, test.before+"pview: "+why)
		}
		s.ask(http.MethodPost, "/v3/orders/1/grab?driver=12", "").wasStale(t, "order 1: "+test.before+"order: "+why)
	}
	s.views.err, s.orders.err = pview.ErrNotNumber, nil
	s.get("/v2/pview").fails(t, http.StatusConflict, "not a number")
	s.get("/v3/orders/1/grab?driver=12")
	if loser := s.get("/v3/orders/1/grab?driver=13"); loser.status != http.StatusConflict || loser.json(t)["stale"] != nil {
		t.Errorf("a loser is told %d %s", loser.status, loser.body)
	}
	series := s.scrape()
	for name, want := range map[string]float64{
		`locklab_stale_writes_refused_total{resource="pview",version="v2"}`: 4,
		`locklab_stale_writes_refused_total{resource="order",version="v2"}`: 0,
		`locklab_stale_writes_refused_total{resource="order",version="v3"}`: 2,
		`locklab_requests_total{status="409",version="v2"}`:                 5,
	} {
		if got, ok := series[name]; !ok || got != want {
			t.Errorf("%s is %v (there: %t), want %v", name, got, ok, want)
		}
	}
}

// The counter itself refuses a stale write. While a holder with the fencing token 256 is between reading and writing, another one with the
// token 42 × 256 counts a view.
func TestAHolderThatSleptIsRefused(t *testing.T) {
	node := testenv.Redis(t, false)
	client := redis.NewClient(&redis.Options{Addr: node.Addr, MaxRetries: -1})
	defer client.Close()
	s := serve(t, func(_ *instance, cfg *handlers.Config) {
		cfg.Views = pview.NewCounter(client, func() redis.UniversalClient { return client })
		cfg.Versions[4].Lock = guarded(lock{number: 1})
	})
	slept := false
	client.AddHook(afterFirstRead{func() {
		slept = true
		if newer := s.ask(http.MethodPost, "/v3/pview", "").json(t); newer["value"] != 1.0 || newer["fence"] != 42.0*256 {
			t.Errorf("the newer holder was told %v", newer)
		}
	}, &slept})
	s.ask(http.MethodPost, "/v4/pview", "").
		wasStale(t, `pview: stale holder: its fencing token is "v4 256", and the registered one of the last reader is "v3 10752"; `+
			`nothing was changed`)
	if got := s.get("/pview").json(t)["value"]; got != 1.0 || !slept {
		t.Errorf("the counter is %v (slept: %t)", got, slept)
	}
}

// afterFirstRead is a hook that runs do when the script has read for the first time: its reply is a token and the value.
type afterFirstRead struct {
	do   func()
	done *bool
}

func (h afterFirstRead) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h afterFirstRead) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h afterFirstRead) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if script, ok := cmd.(*redis.Cmd); ok && !*h.done {
			if reply, failed := script.StringSlice(); failed == nil && len(reply) == 2 {
				h.do()
			}
		}
		return err
	}
}
