package burst

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"locklab/lab/testenv"
)

// outage is a service whose counter is out of reach from the kill on.
type outage struct {
	mu      sync.Mutex
	value   int64
	dead    bool
	refuses int // how many requests are refused after the kill; negative: all
	counts  int // how many views count without an answer after that
	reads   int // since the kill
}

func (o *outage) kill(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dead = true
	return nil
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dead && o.refuses != 0 {
		o.refuses--
		http.Error(w, "the master is dead", http.StatusServiceUnavailable)
		return
	}
	switch r.Method {
	case http.MethodPut:
		o.value = 0
	case http.MethodPost:
		if o.value++; o.dead && o.counts > 0 {
			o.counts--
			http.Error(w, "counted without an answer", http.StatusBadGateway)
			return
		}
	case http.MethodGet:
		if o.reads++; o.dead && o.reads == 2 { // as by a load balancer whose other instance is not back yet
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintf(w, `{"instance": "app-1", "value": %d}`, o.value)
}

// While nobody replaces the master, neither a read nor a view succeeds. Each request is in the record with its status.
func TestAnOutageThatNobodyEnds(t *testing.T) {
	service := &outage{refuses: -1}
	o, err := RunOutage(testenv.Context(t), serve(t, service), "v3", 20, service.kill, retryEvery)
	if err != nil {
		t.Fatal(err)
	}
	if o.ReadAfter != 0 || o.BackAfter != 0 || len(o.Failed) == 0 {
		t.Errorf("the only server is dead, and the record says readable %s, back %s, %d failed", o.ReadAfter, o.BackAfter, len(o.Failed))
	}
	if o.Statuses[200]+o.Statuses[503] != o.Users || o.Statuses[200] != len(o.Writes) {
		t.Errorf("%d users got %v, and %d views are confirmed", o.Users, o.Statuses, len(o.Writes))
	}
}

// The record says when the counter can be read again, and when a view is confirmed again. Views that are repeated until then may count
// without an answer, and the record has each of them.
func TestAnOutageThatEnds(t *testing.T) {
	const users, counts = 2, 6 // more than the bursts can have: one is on its way, and they end with the first failure
	service := &outage{refuses: 3, counts: counts}
	o, err := RunOutage(testenv.Context(t), serve(t, service), "v3", users, service.kill, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if o.ReadAfter <= 0 || o.BackAfter < o.ReadAfter {
		t.Errorf("readable after %s, back after %s", o.ReadAfter, o.BackAfter)
	}
	refused := o.Statuses[http.StatusServiceUnavailable]
	if len(o.Failed)-refused+len(o.Repeated) != counts || o.Final != int64(len(o.Writes)+counts) {
		t.Errorf("%d and %d of %d views counted without an answer, %d confirmed, final %d",
			len(o.Failed)-refused, len(o.Repeated), counts, len(o.Writes), o.Final)
	}
	if o.Statuses[http.StatusOK]+len(o.Failed) != o.Users {
		t.Errorf("%d views of bursts got %v, and %d failed", o.Users, o.Statuses, len(o.Failed))
	}
}

func TestAnOutageNeedsADeadMaster(t *testing.T) {
	missed := func(context.Context) error { return errors.New("missed") }
	if _, err := RunOutage(testenv.Context(t), serve(t, new(outage)), "v3", 2, missed, time.Second); err == nil {
		t.Error("the master was not killed, and there is a record of its death")
	}
}
