package testenv

import "testing"

// LAB_REQUIRE names what must be there, one by one or all of it. Spaces after a comma do not count.
func TestWhatIsRequired(t *testing.T) {
	for list, want := range map[string]bool{"": false, "etcd": true, "curl, etcd": true, "curl,etcd2": false, "all": true, "curl,all": true} {
		t.Setenv("LAB_REQUIRE", list)
		if is := (Need{Name: "etcd"}).Required(); is != want {
			t.Errorf("%q requires etcd: %v", list, is)
		}
	}
}
