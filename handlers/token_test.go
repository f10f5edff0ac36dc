package handlers_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

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
