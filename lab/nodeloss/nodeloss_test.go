package nodeloss

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
func TestALossIsJudged(t *testing.T) {
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
		l := Loss{Master: c.master}
		l.Final, l.Failed = int64(c.final), make([]string, c.failed)
		for i := range c.confirmed {
			l.Writes = append(l.Writes, burst.Write{Instance: "app-1", Value: int64(i + 1)})
		}
		if !c.gone {
			l.ReadAfter, l.BackAfter = time.Second, time.Second
		}
		if !c.part {
			l.Whole = time.Second
		}
		if err := l.judge(usual); (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// answering is an instance that gives one answer to every request.
func answering(t *testing.T, status int, body string) burst.Target {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return burst.Target{URL: server.URL}
}

// A node is killed only after so many views. An instance that answers with an error, or counts no further, ends the wait.
func TestTheWaitForAViewEnds(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		within     time.Duration
		why        string // empty: counted
	}{
		{name: "enough", status: http.StatusOK, body: `{"value": 66}`, within: time.Minute},
		{name: "an error in JSON", status: http.StatusServiceUnavailable, body: `{"error": "no Redis"}`, within: time.Minute, why: "503"},
		{name: "an error that has a value", status: http.StatusInternalServerError, body: `{"value": 66}`, within: time.Minute, why: "500"},
		{name: "too few", status: http.StatusOK, body: `{"value": 65}`, within: time.Second, why: context.DeadlineExceeded.Error()},
	} {
		err := counted(testenv.Context(t), answering(t, c.status, c.body), 66, c.within)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
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
// without an explanation is an error, and so is a service that is not back.
func TestANodeIsKilledDuringABurst(t *testing.T) {
	for _, c := range []struct {
		name           string
		failing, loses int
		master         string
		within         time.Duration
		why            string // empty: as expected
	}{
		{name: "one view counted without an answer", failing: 1, within: time.Minute},
		{name: "confirmed views are gone", failing: 1, loses: 5, within: time.Minute, why: "4 views are lost"},
		{name: "confirmed views are gone with a master", failing: 1, loses: 5, master: "redis-1", within: time.Minute},
		{name: "never back", failing: 1 << 30, within: time.Second, why: "not back within 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lab, told := &balanced{loses: c.loses}, time.Duration(-1)
			server := httptest.NewServer(lab)
			defer server.Close()
			b, target := bounds{back: c.within, whole: c.within, try: c.within}, burst.Target{URL: server.URL}
			l, err := b.run(testenv.Context(t), target, c.master, lab.kill(c.failing), func(after time.Duration) { told = after })
			if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Fatal(err)
			}
			if told != l.BackAfter {
				t.Errorf("back was told %s, and the record has %s", told, l.BackAfter)
			}
			if c.failing > 1 {
				return
			}
			if sent := len(l.Writes) + l.NoAnswer(); l.NoAnswer() != 1 || sent%Users != 1 || l.Final != int64(len(l.Writes)+1-c.loses) {
				t.Errorf("%d confirmed, %d without an answer, final %d", len(l.Writes), l.NoAnswer(), l.Final)
			}
			if l.ReadAfter <= 0 || l.BackAfter < l.ReadAfter || l.Whole <= 0 {
				t.Errorf("read after %s, back after %s, whole after %s", l.ReadAfter, l.BackAfter, l.Whole)
			}
		})
	}
}

// A node that could not be killed is an error, and no loss.
func TestANodeThatCannotBeKilledIsNoLoss(t *testing.T) {
	server := httptest.NewServer(&balanced{})
	defer server.Close()
	broken := func(context.Context) error { return errors.New("no such node") }
	_, err := Run(testenv.Context(t), burst.Target{URL: server.URL}, "", broken, func(time.Duration) { t.Error("it is back") })
	if err == nil || !strings.Contains(err.Error(), "no such node") {
		t.Error(err)
	}
}
