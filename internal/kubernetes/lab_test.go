package main

import (
	"os"
	"path/filepath"
	"testing"
)

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
