package experiments

import "testing"

// An experiment uses what one of its variants needs, too.
func TestUses(t *testing.T) {
	one := []Experiment{{Schedule: Schedule{Needs: []Need{MariaDB}}, Variants: []Variant{{}, {Needs: []Need{Etcd}}}}}
	for need, want := range map[Need]bool{MariaDB: true, Etcd: true, Memcached: false} {
		if got := Uses(one, need); got != want {
			t.Errorf("%s: %v, want %v", need, got, want)
		}
	}
}
