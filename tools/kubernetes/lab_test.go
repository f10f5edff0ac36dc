package main

import (
	"os"
	"path/filepath"
	"testing"
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
		{"sentinel", "mysql-0 a|redis-1 b|redis-2 c", "c", "redis-2", "redis-2"},
		{"cluster", "mysql-0 a|cluster-1 a|cluster-2 b|cluster-3 c", "b", "cluster-2", "cluster-2"},
		{"cluster", "mysql-0 a|cluster-1 a|cluster-2 b|cluster-3 c", "", "cluster-1", ""},
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
		err := (&deployment{dir: bin, topology: c.topology}).choose(t.Context(), &o)
		if (err == nil) != (c.node != "") || o.Master != c.killed || o.Node != c.node {
			t.Errorf("%s on %s: %+v, %v", c.topology, c.pods, o, err)
		}
		if err == nil && (o.Stays != "a" || len(o.Pods) != 1) {
			t.Errorf("%s on %s: %+v", c.topology, c.pods, o)
		}
	}
}
