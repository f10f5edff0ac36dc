package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/internal/marked"
	"locklab/lab/burst"
)

// A service without its one task is named: the Swarm is not ready.
func TestAServiceWithoutItsTaskIsMissing(t *testing.T) {
	got := missing("lab_app-1 1/1\nlab_nginx 0/1\nlab_mysql 1/1\nlab_page 2/1\n")
	if want := []string{"nginx", "page"}; !slices.Equal(got, want) {
		t.Errorf("missing are %v, want %v", got, want)
	}
}

// A task that does not run is on no engine.
func TestOnlyRunningTasksHaveAPlace(t *testing.T) {
	at := places("lab_app-1.1 engine1 Running 9 seconds ago\nlab_app-2.1 engine2 Running 1 second ago\n" +
		"lab_page.1 engine1 Starting 2 seconds ago\nlab_mysql.1  Pending\n")
	if len(at) != 2 || at["app-1"] != first || at["app-2"] != second {
		t.Errorf("the places are %v", at)
	}
}

// The second engine is killed only when it has an instance, and nothing that the lab cannot do without.
func TestWhatMayBeLost(t *testing.T) {
	for _, c := range []struct{ topology, tasks, master, lost, why string }{
		{"single", "app-1=engine1 app-2=engine2 mysql=engine1 redlock-4=engine2", "", "app-2 redlock-4", ""},
		{"sentinel", "app-1=engine1 app-2=engine2 redis-1=engine2 redis-2=engine1", "redis-1", "app-2 redis-1", ""},
		{"cluster", "app-1=engine1 app-2=engine2 cluster-1=engine2", "cluster-1", "app-2 cluster-1", ""},
		{"master-slave", "app-1=engine1 app-2=engine2 redis-2=engine2", "", "app-2 redis-2", ""},
		{"master-slave", "app-1=engine1 app-2=engine2 redis-1=engine2", "redis-1", "", "the master redis-1"},
		{"single", "app-1=engine1 app-2=engine2 redis-single=engine2", "redis-single", "", "the master redis-single"},
		{"single", "app-1=engine1 app-2=engine2 mysql=engine2", "", "", "mysql"},
		{"sentinel", "app-1=engine1 app-2=engine2 sentinel-1=engine2", "", "", "sentinel-1"},
		{"sentinel", "app-1=engine1 app-2=engine2 redis-1=engine2", "", "", "the master of the counter is not"},
		{"single", "app-1=engine1 app-2=engine1 redlock-4=engine2", "", "", "no instance"},
	} {
		at := map[string]string{}
		for _, task := range strings.Fields(c.tasks) {
			name, engine, _ := strings.Cut(task, "=")
			at[name] = engine
		}
		got, err := lost(c.topology, at, c.master)
		if strings.Join(got, " ") != c.lost || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("of %s %v are lost with %s, %v", c.tasks, got, c.topology, err)
		}
	}
}

// The tables have each number of a run, and the page has a place for each of them.
func TestTheTablesHaveTheNumbers(t *testing.T) {
	r := Result{Topology: "sentinel", UpAfter: 21 * time.Second, Ready: 22 * time.Second}
	r.Lost, r.Loss.Master, r.Replaced = []string{"app-2", "redis-1"}, "redis-1", []string{"app-2"}
	r.Bursts.Pageview = []burst.PageviewRow{{}, {}}
	r.Bursts.Pageview[0].Version, r.Bursts.Pageview[1].Version = "v1", "v3"
	r.Loss.Final, r.Loss.Failed, r.Loss.Users = 7, make([]string, 3), 8
	r.Loss.Writes = []burst.Write{{Value: 1}, {Value: 2}, {Value: 3}, {Value: 4}, {Value: 5}}
	r.Loss.ReadAfter, r.Loss.BackAfter, r.Loss.Whole = time.Second, 2*time.Second, 50*time.Second
	tables := tablesOf([]Result{r}, time.Date(2026, 11, 27, 16, 0, 0, 0, time.UTC), "abc")
	for table, want := range map[string]string{
		"run": "2026-11-27 16:00, tree `abc`", "ready": "| sentinel | 21.0 s | 22.0 s | v1, v3 |",
		"killed": "| sentinel | app-2, redis-1 | redis-1 | app-2 | 5 | 3 | 7 | 0 | 1.0 s | 2.0 s | 50.0 s |",
	} {
		if !strings.Contains(tables[table], want) {
			t.Errorf("%q is missing in\n%s", want, tables[table])
		}
	}
	if _, err := marked.Stale("../../"+page, tables); err != nil {
		t.Error(err)
	}
}
