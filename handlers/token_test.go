package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lab/testenv"
	"locklab/order"
	"locklab/pview"
)

// staleError returns the error of a resource that refuses a stale holder.
func staleError(stale error) error {
	return fmt.Errorf("%w: its fencing token is old; nothing was changed", stale)
}

// wantStale fails unless the response says that a stale holder was refused, in its message and in the field stale, and names the
// instance.
func (r response) wantStale(t *testing.T, message string) {
	t.Helper()
	r.wantJSON(t, http.StatusConflict, map[string]any{"error": message, "stale": true, "instance": "8080"})
}

func TestStaleWriteResponse(t *testing.T) {
	s := serve(t)
	s.do(http.MethodPost, "/orders", "")
	const why = "stale holder: its fencing token is old; nothing was changed"
	for _, test := range []struct {
		err    func(stale error) error
		prefix string // of the message
	}{
		{staleError, ""},
		// The guard adds that the lease was lost. The response must still say that nothing was written.
		{func(stale error) error { return errors.Join(errLeaseLost, staleError(stale)) }, errLeaseLost.Error() + "; "},
	} {
		s.views.err, s.orders.err = test.err(pview.ErrStale), test.err(order.ErrStale)
		for _, accept := range []string{"application/json", "text/plain"} {
			s.do(http.MethodPost, "/v2/pview", "", "Accept: "+accept).wantStale(t, test.prefix+"pview: "+why)
		}
		s.do(http.MethodPost, "/v3/orders/1/grab?driver=12", "").wantStale(t, "order 1: "+test.prefix+"order: "+why)
	}
	s.views.err, s.orders.err = pview.ErrNotNumber, nil
	s.get("/v2/pview").wantError(t, http.StatusConflict, "not a number")
	s.get("/v3/orders/1/grab?driver=12")
	if loser := s.get("/v3/orders/1/grab?driver=13"); loser.status != http.StatusConflict || loser.json(t)["stale"] != nil {
		t.Errorf("a loser gets %d %s", loser.status, loser.body)
	}
	series := s.scrape()
	for name, want := range map[string]float64{
		`locklab_stale_writes_refused_total{resource="pview",version="v2"}`: 4,
		`locklab_stale_writes_refused_total{resource="order",version="v2"}`: 0,
		`locklab_stale_writes_refused_total{resource="order",version="v3"}`: 2,
		`locklab_requests_total{status="409",version="v2"}`:                 5,
	} {
		if got, ok := series[name]; !ok || got != want {
			t.Errorf("%s is %v (found: %t), want %v", name, got, ok, want)
		}
	}
}

// A real counter refuses a stale holder. While the holder of the fencing token 256 is between its read and its write, the holder of
// 42 × 256 counts a view.
func TestStaleHolderIsRefused(t *testing.T) {
	node := testenv.Redis(t, false)
	client := redis.NewClient(&redis.Options{Addr: node.Addr, MaxRetries: -1})
	defer client.Close()
	s := serve(t, func(_ *instance, cfg *handlers.Config) {
		cfg.Views = pview.NewCounter(client, func() redis.UniversalClient { return client })
		cfg.Versions[4].Lock = guard(fakeLock{number: 1})
	})
	paused := false
	client.AddHook(afterFirstRead{func() {
		paused = true
		if newer := s.do(http.MethodPost, "/v3/pview", "").json(t); newer["value"] != 1.0 || newer["fence"] != 42.0*256 {
			t.Errorf("the newer holder got %v", newer)
		}
	}, &paused})
	s.do(http.MethodPost, "/v4/pview", "").
		wantStale(t, `pview: stale holder: its fencing token is "v4 256", but the last one registered is "v3 10752"; nothing was changed`)
	if got := s.get("/pview").json(t)["value"]; got != 1.0 || !paused {
		t.Errorf("the counter is %v (paused: %t), want 1", got, paused)
	}
}

// afterFirstRead is a hook that runs do after the first read by script, whose reply is a token and a value.
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
