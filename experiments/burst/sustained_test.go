package burst

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"locklab/internal/testenv"
)

// An observer of a load is told of each answer as it arrives, although the record is made at the end. Stopped, a client sends no more.
func TestSustainedViewsAreToldAsTheyArrive(t *testing.T) {
	const clients, first = 3, 4 // a client sends less than it could over one connection
	var views, after atomic.Int64
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
			fmt.Fprintf(w, `{"value":%d}`, views.Load())
		case closed(stop):
			after.Add(1)
			http.Error(w, "too late", http.StatusTeapot)
		default:
			fmt.Fprintf(w, `{"instance":"a","value":%d}`, views.Add(1))
		}
	}))
	defer server.Close()
	var meter Meter
	end := meter.begin(func(Event) {})
	b, err := SustainViews(testenv.Context(t), Target{URL: server.URL}, "v3", clients, stop, func(e Event) {
		if meter.add(e.(Answered)) >= clients*first && !closed(stop) {
			close(stop)
		}
	})
	end()
	if err != nil {
		t.Fatal(err)
	}
	rates := meter.Rates(60)
	if rates.Confirmed != len(b.Writes) || rates.Failed != len(b.Failed) || rates.Confirmed < clients*first {
		t.Errorf("it was told of %d and %d; the record has %d and %d", rates.Confirmed, rates.Failed, len(b.Writes), len(b.Failed))
	}
	if n := after.Load(); n > clients-1 || (n > 0) != (rates.Why != "") {
		t.Errorf("%d clients sent %d views after the stop; the newest failure is %q", clients, n, rates.Why)
	}
}
