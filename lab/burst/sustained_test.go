package burst

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"locklab/lab/testenv"
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

// A load has the chosen rate, and the waits that its clients see. A connection that was idle for long is not used: the server would have
// closed it.
func TestALoadHasItsRate(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	const clients, rate, seconds, serving = 40, 20, 3, 20 * time.Millisecond // so a client is idle for two seconds
	var views atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := views.Load()
		if r.Method == http.MethodPost {
			time.Sleep(serving) // the wait is the subject
			n = views.Add(1)
		}
		fmt.Fprintf(w, `{"instance":"a","value":%d}`, n)
	}))
	server.Config.IdleTimeout = longestIdle * 3 / 2
	server.Start()
	defer server.Close()
	l, err := NewLoad("v3", clients, rate)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	b, err := l.Send(testenv.Context(t), Target{URL: server.URL}, func(e Event) {
		switch e := e.(type) {
		case Answered:
			if e.Waited < serving {
				t.Errorf("a view waited %v, and its service alone takes %v", e.Waited, serving)
			}
		case SecondPassed:
			if passed++; passed == seconds {
				l.Stop()
			}
		}
	})
	if n := len(b.Writes); err != nil || len(b.Failed) > 0 || n < rate*seconds/3 || n > rate*seconds*3 {
		t.Errorf("%d views in %d seconds with the rate %d; failed: %v, %v", n, seconds, rate, b.Failed, err)
	}
}
