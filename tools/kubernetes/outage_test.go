package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/lab/burst"
	"locklab/lab/testenv"
)

// A view without an answer may have counted, and only the death of a master excuses a view that is lost.
func TestAnOutageIsJudged(t *testing.T) {
	for _, c := range []struct {
		name             string
		confirmed, final int
		failed           int
		master           string
		gone, part       bool   // never back; never whole
		why              string // empty: as expected
	}{
		{name: "all confirmed", confirmed: 5, final: 5},
		{name: "two without an answer have counted", confirmed: 5, failed: 3, final: 7},
		{name: "more than were sent", confirmed: 5, failed: 1, final: 7, why: "the counter shows 7"},
		{name: "lost, and no master died", confirmed: 5, failed: 3, final: 4, why: "1 views are lost"},
		{name: "lost with a master", confirmed: 5, failed: 3, final: 4, master: "redis-1"},
		{name: "more than were sent, with a master", confirmed: 5, final: 6, master: "redis-1", why: "the counter shows 6"},
		{name: "never back", confirmed: 5, final: 5, gone: true, why: "not back"},
		{name: "never whole", confirmed: 5, final: 5, part: true, why: "requests fail"},
	} {
		o := Outage{Master: c.master}
		o.Final, o.Failed = int64(c.final), make([]string, c.failed)
		for i := range c.confirmed {
			o.Writes = append(o.Writes, burst.Write{Instance: "app-1", Value: int64(i + 1)})
		}
		if !c.gone {
			o.ReadAfter, o.BackAfter = time.Second, time.Second
		}
		if !c.part {
			o.Whole = time.Second
		}
		if err := o.judge(); (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// balanced is two instances behind a balancer that takes turns. From the kill until failed page views it answers each request with 502.
type balanced struct {
	sync.Mutex
	turn, value, failing int
	loses                int // so many views are gone with the node
}

func (b *balanced) kill(failing int) func(context.Context) error {
	return func(context.Context) error {
		b.Lock()
		defer b.Unlock()
		b.failing, b.value = failing, b.value-b.loses
		return nil
	}
}

// ServeHTTP counts the first view that it gives no answer.
func (b *balanced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.Lock()
	defer b.Unlock()
	view := r.Method == http.MethodPost
	switch {
	case r.Method == http.MethodPut:
		b.value, b.turn = 0, 0
	case view && b.failing == 1:
		b.value++
		fallthrough
	case b.failing > 0:
		if view {
			b.failing--
		}
		http.Error(w, "the node is gone", http.StatusBadGateway)
		return
	case view:
		b.value++
		b.turn++
	}
	fmt.Fprintf(w, `{"instance": "app-%d", "value": %d}`, 1+b.turn%2, b.value)
}

// A node is killed during a burst. The record has every view that was sent, and one more that shows when the service is back. A loss
// without an explanation is an error, and so are a service that is not back, and a node that could not be killed.
func TestANodeIsKilledDuringABurst(t *testing.T) {
	for _, c := range []struct {
		name           string
		failing, loses int
		master, why    string // why is empty: as expected
		back           time.Duration
	}{
		{name: "one view counted without an answer", failing: 1, back: time.Minute},
		{name: "confirmed views are gone", failing: 1, loses: 5, back: time.Minute, why: "4 views are lost"},
		{name: "confirmed views are gone with a master", failing: 1, loses: 5, master: "redis-1", back: time.Minute},
		{name: "never back", failing: 1 << 30, back: time.Second, why: "not back in time"},
		{name: "not killed", back: time.Minute, why: "no such node"},
	} {
		t.Run(c.name, func(t *testing.T) {
			instances := &balanced{loses: c.loses}
			server := httptest.NewServer(instances)
			defer server.Close()
			o, kill := Outage{Master: c.master}, instances.kill(c.failing)
			if c.failing == 0 {
				kill = func(context.Context) error { return errors.New("no such node") }
			}
			err := o.run(testenv.Context(t), burst.Target{URL: server.URL}, c.back, kill)
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Fatal(err)
			}
			if c.failing != 1 {
				return
			}
			if sent := len(o.Writes) + o.noAnswer(); o.noAnswer() != 1 || sent%users != 1 || o.Final != int64(len(o.Writes)+1-c.loses) {
				t.Errorf("%d confirmed, %d without an answer, final %d", len(o.Writes), o.noAnswer(), o.Final)
			}
			if len(o.Writes) < users/10 || o.ReadAfter <= 0 || o.BackAfter < o.ReadAfter || o.Whole <= 0 {
				t.Errorf("read after %s, back after %s, whole after %s", o.ReadAfter, o.BackAfter, o.Whole)
			}
		})
	}
}
