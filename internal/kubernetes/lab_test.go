package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/testenv"
)

// A view without an answer may have counted, and only the death of a master excuses a view that is lost.
func TestAnOutageIsJudged(t *testing.T) {
	for _, c := range []struct {
		name             string
		confirmed, final int
		failed           int
		replaces, gone   bool
		why              string // empty: as expected
	}{
		{name: "all confirmed", confirmed: 5, final: 5},
		{name: "two without an answer have counted", confirmed: 5, failed: 3, final: 7},
		{name: "more than were sent", confirmed: 5, failed: 1, final: 7, why: "the counter shows 7"},
		{name: "lost, and no master died", confirmed: 5, failed: 3, final: 4, why: "1 views are lost"},
		{name: "lost with a master", confirmed: 5, failed: 3, final: 4, replaces: true},
		{name: "more than were sent, with a master", confirmed: 5, final: 6, replaces: true, why: "the counter shows 6"},
		{name: "never back", confirmed: 5, final: 5, gone: true, why: "not back"},
	} {
		o := Outage{Replaces: c.replaces, Whole: time.Second}
		o.Final, o.Failed = int64(c.final), make([]string, c.failed)
		for i := range c.confirmed {
			o.Writes = append(o.Writes, burst.Write{Instance: "app-1", Value: int64(i + 1)})
		}
		if !c.gone {
			o.ReadAfter, o.BackAfter = time.Second, time.Second
		}
		if err := o.judge(); (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The node that is killed has no database, and no server of Redis that nothing replaces. Behind sentinels and in a cluster it has a master.
func TestWhichNodeIsKilled(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, c := range []struct {
		topology, pods, node string // empty: none can be killed
		replaces             bool
	}{
		{"single", "mysql-0 a|redis-single-0 b|app-1 c", "c", false},
		{"master-slave", "mysql-0 a|redis-1 b|redis-2 c", "c", false},
		{"sentinel", "mysql-0 a|redis-1 b|redis-2 c", "b", true},
		{"cluster", "mysql-0 a|cluster-1 a|cluster-2 b|cluster-3 c", "b", true},
		{"sentinel", "mysql-0 a|redis-1 a|redis-2 c", "", true},
		{"single", "mysql-0 a|redis-single-0 b", "", false},
	} {
		says := "#!/bin/sh\ntr '|' '\\n' <<END\n" + c.pods + "\nEND\n"
		if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(says), 0o755); err != nil {
			t.Fatal(err)
		}
		var o Outage
		err := (&lab{dir: bin, topology: c.topology}).choose(t.Context(), &o)
		if (err == nil) != (c.node != "") || err == nil && (o.Node != c.node || o.Replaces != c.replaces || o.Stays != "a" || len(o.Lost) != 1) {
			t.Errorf("%s on %s: %+v, %v", c.topology, c.pods, o, err)
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
