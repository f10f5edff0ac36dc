package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/internal/marked"
)

// The node that is killed has no database, and no master that nothing replaces. Behind sentinels and in a cluster it has the
// master of the counter.
func TestWhichNodeIsKilled(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, c := range []struct {
		topology, pods, node string // empty: none can be killed
		master, killed       string
	}{
		{"single", "mysql-0 a|redis-single-0 b|app-1 c", "c", "redis-single-0", ""},
		{"master-slave", "mysql-0 a|redis-1 b|redis-2 c", "c", "redis-1", ""},
		{"sentinel", "mysql-0 a|redis-1 b|redis-2 c", "b", "redis-1", "redis-1"},
		{"sentinel", "mysql-0 a|redis-1 b|redis-2 c", "c", "redis-2", "redis-2"},
		{"cluster", "mysql-0 a|cluster-1 a|cluster-2 b|cluster-3 c", "b", "cluster-2", "cluster-2"},
		{"cluster", "mysql-0 a|cluster-1 a|cluster-2 b|cluster-3 c", "", "cluster-1", ""},
		{"single", "mysql-0 a|redis-single-0 b|app-1 c", "", "none", ""},
		{"sentinel", "mysql-0 a|redis-1 a|redis-2 c", "", "redis-1", ""},
		{"single", "mysql-0 a|redis-single-0 b", "", "redis-single-0", ""},
	} {
		says := `#!/bin/sh
case "$4 $5" in
"exec ` + c.master + `"*) echo master; echo 1 ;;
exec*) echo slave ;;
get*) tr '|' '\n' <<END
` + c.pods + `
END
esac
`
		if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(says), 0o755); err != nil {
			t.Fatal(err)
		}
		var o Outage
		killed, err := (&deployment{dir: bin, topology: c.topology}).choose(t.Context(), &o)
		if (err == nil) != (c.node != "") || killed != c.killed {
			t.Errorf("%s on %s: %v, %v", c.topology, c.pods, killed, err)
		}
		if err == nil && (o.Node != c.node || o.Stays != "a" || len(o.Lost) != 1) {
			t.Errorf("%s on %s: %+v", c.topology, c.pods, o)
		}
	}
}

// The table names the master that was killed, and says so where there was none. The page has a place for each table.
func TestTheTableNamesTheKilledMasters(t *testing.T) {
	with := Result{Topology: "sentinel", Outage: Outage{Lost: []string{"app-1", "redis-1"}}}
	with.Outage.Master = "redis-1"
	without := Result{Topology: "single", Outage: Outage{Lost: []string{"app-3"}}}
	tables := tablesOf(findings{All: []Result{with, without}, Class: measured()}, time.Now(), "abc")
	for _, want := range []string{"| sentinel | app-1, redis-1 | redis-1 | 0 |", "| single | app-3 | none | 0 |"} {
		if !strings.Contains(tables["killed"], want) {
			t.Errorf("no %q in\n%s", want, tables["killed"])
		}
	}
	if _, err := marked.Stale("../../"+page, tables); err != nil {
		t.Error(err)
	}
}
