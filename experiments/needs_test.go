package experiments

import (
	"slices"
	"testing"
)

// An experiment uses what one of its variants needs, too.
func TestUses(t *testing.T) {
	one := []Experiment{{Schedule: Schedule{Needs: []Need{MariaDB}}, Variants: []Variant{{}, {Needs: []Need{Etcd}}}}}
	for need, want := range map[Need]bool{MariaDB: true, Etcd: true, Memcached: false} {
		if got := Uses(one, need); got != want {
			t.Errorf("%s: %v, want %v", need, got, want)
		}
	}
}

// An experiment runs in containers when it says how long it takes there.
func TestInContainers(t *testing.T) {
	all := []Experiment{{ID: "L1"}, {ID: "L2", Schedule: Schedule{Docker: 1}}}
	if got := InContainers(all); !slices.Equal(got, []string{"L2"}) {
		t.Errorf("in containers run %q, want L2", got)
	}
}
