package nodeloss

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
)

// A view without an answer may have counted, and only the death of a master excuses a view that is lost.
func TestALossIsJudged(t *testing.T) {
	for _, c := range []struct {
		name             string
		confirmed, final int
		failed           int
		replaces         bool
		gone, part       bool   // never back; never whole
		why              string // empty: as expected
	}{
		{name: "all confirmed", confirmed: 5, final: 5},
		{name: "two without an answer have counted", confirmed: 5, failed: 3, final: 7},
		{name: "more than were sent", confirmed: 5, failed: 1, final: 7, why: "the counter shows 7"},
		{name: "lost, and no master died", confirmed: 5, failed: 3, final: 4, why: "1 views are lost"},
		{name: "lost with a master", confirmed: 5, failed: 3, final: 4, replaces: true},
		{name: "more than were sent, with a master", confirmed: 5, final: 6, replaces: true, why: "the counter shows 6"},
		{name: "never back", confirmed: 5, final: 5, gone: true, why: "not back"},
		{name: "never whole", confirmed: 5, final: 5, part: true, why: "requests fail"},
	} {
		l := Loss{Replaces: c.replaces}
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
		if err := l.judge(); (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
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
