package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An experiment names what all of it needs, and, once and sorted, what some of its variants need. It names its articles.
func TestAnExperimentNamesWhatItNeeds(t *testing.T) {
	with := Experiment{
		Articles: Articles{"A0", "A3"}, Schedule: Schedule{Needs: []Need{RedisServer, MariaDB}},
		Variants: []Variant{{Needs: []Need{Memcached}}, {Needs: []Need{Etcd, Memcached}}},
	}
	for _, c := range []struct{ got, want string }{
		{with.Needed(), "redis-server, mariadbd"},
		{with.Optional(), "etcd, memcached"},
		{with.Articles.String(), "A0, A3"},
		{Experiment{}.Needed(), "nothing"},
		{Experiment{}.Optional(), ""},
		{Experiment{}.Articles.String(), "no article"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// A program that is missing, or too old, is named with the way to get it.
func TestANeedThatIsNotMet(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	v, o := Variant{Needs: []Need{RedisServer}}, Options{Real: true}
	if why := o.LeavesOut(v); !strings.HasPrefix(why, "needs redis-server, which is not on the PATH: ") || !strings.Contains(why, "apt") {
		t.Errorf("missing: %q", why)
	}
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte("#!/bin/sh\necho Redis server v=5.0.1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if why := o.LeavesOut(v); !strings.Contains(why, "needs redis-server: ") || !strings.Contains(why, "is 5.0.1") ||
		!strings.Contains(why, "install its own package, or that of a newer system") {
		t.Errorf("too old: %q", why)
	}
	if why := o.LeavesOut(Variant{}); why != "" {
		t.Errorf("a variant without needs: %q", why)
	}
}

// An experiment runs in containers when it says how long it takes there.
func TestInContainers(t *testing.T) {
	all := []Experiment{{ID: "L1"}, {ID: "L2", Schedule: Schedule{Docker: 1}}}
	if got := InContainers(all); !slices.Equal(got, []string{"L2"}) {
		t.Errorf("in containers run %q, want L2", got)
	}
}
