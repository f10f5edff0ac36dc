package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
)

// measured is a class of three and of six participants. Each lab more takes half a GiB, and a quarter of a processor of four.
func measured() Class {
	return Class{Sizes: []Size{
		{
			Participants: 3, Pods: 48, Requested: share{2 << 30, 1}, Allowed: share{4 << 30, 2}, Loaded: 3 << 30, Programs: 1 << 30,
			Idle: Need{Memory: 1 << 30, Processors: 1, Machine: 2, Of: 4},
		},
		{
			Participants: 6, Pods: 84, Requested: share{3.5 * (1 << 30), 1.75}, Allowed: share{7 << 30, 3.5}, Loaded: 4 << 30,
			Idle:     Need{Memory: 2 << 30, Processors: 1.5, Machine: 2.75, Of: 4},
			Programs: 1.5 * (1 << 30),
			First:    time.Second, Last: time.Minute,
		},
	}}
}

// A class that did not run is estimated by what each further lab has taken of the machine.
func TestAClassIsEstimated(t *testing.T) {
	c := measured()
	got := c.extrapolate(25) // 26 labs: 19 more than ran
	if got.Used.Memory != 15*(1<<30) || math.Abs(got.Used.Processors-7.5) > 1e-9 || got.Labs != 26 || got.Pods != 312 || got.Nodes != 4 ||
		got.Requested != (share{13 << 30, 6.5}) || got.Allowed != (share{26 << 30, 13}) || got.Doubt != "" {
		t.Errorf("25 participants need %+v", got)
	}
	if same := c.extrapolate(6); same.Used != c.Sizes[1].used() || same.Nodes != 1 {
		t.Errorf("six participants need %+v", same)
	}
	busy, shrunk, calm := measured(), measured(), measured()
	busy.Sizes[1].Idle.Machine = 3.3
	shrunk.Sizes[1].Loaded = 2 << 30
	calm.Sizes[1].Idle.Machine = 2
	for why, c := range map[string]Class{
		"kept nearly all processors busy": busy, "did not need more": shrunk, "did not need more than": calm,
	} {
		if got := c.extrapolate(25).Doubt; !strings.Contains(got, why) {
			t.Errorf("the doubt is %q, not that it %s", got, why)
		}
	}
}

// The tables of a class say what was measured and what is computed. Where nothing can be computed they say why.
func TestTheTablesOfAClass(t *testing.T) {
	began := time.Date(2026, 11, 27, 16, 0, 0, 0, time.UTC)
	tables := classTables(measured(), began, "abc")
	for _, want := range []string{
		"2026-11-27 16:00, tree `abc`",
		"| 6 | 7 | 84 | 0.0 s | 2.00 GiB | 4.00 GiB | 1.50 GiB | 1.50 | 2.75 | 1.0 s to 60.0 s | 0.0 s |",
		"| 25 participants, computed: 26 labs, 312 pods, 4 nodes |", " | 13.00 GiB | 6.5 |", " | 26.00 GiB | 13.0 |", " | 15.00 GiB | 7.5 |",
		" | 0.50 GiB | 0.25 |",
	} {
		if !strings.Contains(tables, want) {
			t.Errorf("no %q in\n%s", want, tables)
		}
	}
	busy := measured()
	busy.Sizes[1].Idle.Machine = 4
	if tables := classTables(busy, began, "abc"); !strings.Contains(tables, busy.extrapolate(25).Doubt+" | – | – |") ||
		strings.Contains(tables, "13.00 GiB") {
		t.Errorf("a busy machine: %s", tables)
	}
}

// The requests of all pods are the sum of what the quotas have counted. A quota that has counted nothing yet is an error.
func TestQuotasAreSummed(t *testing.T) {
	used, allowed, err := counted("280m 584Mi 500m 1536Mi\n1500m 1Gi 2 1Gi\n2 512Mi 2 1Gi\n")
	near := func(got, want share) bool {
		return got.Memory == want.Memory && math.Abs(got.Processors-want.Processors) < 1e-9
	}
	if err != nil || !near(used, share{2120 << 20, 3.78}) || !near(allowed, share{3584 << 20, 4.5}) {
		t.Errorf("%+v of %+v, %v", used, allowed, err)
	}
	for _, unknown := range []string{"280m 584Mi 1 1Gi\n   \n", "280m\n", "280m 1Gi\n", "x 1Gi 1 1Gi\n"} {
		if _, _, err := counted(unknown); err == nil || !strings.Contains(err.Error(), "a quota is") {
			t.Errorf("%q: %v", unknown, err)
		}
	}
}

// The memory of the processes of all nodes is summed. Without a node there is an error, and not zero.
func TestTheMemoryOfProgramsIsSummed(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		testenv.Skip(t, err.Error())
	}
	dir := t.TempDir()
	one, two := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	self := fmt.Sprintf("%d\n", os.Getpid())
	const gone = "2147483647\n"
	if err := errors.Join(os.WriteFile(one, []byte(self+gone), 0o600), os.WriteFile(two, []byte(self), 0o600)); err != nil {
		t.Fatal(err)
	}
	half, err := programsMemory(one)
	both, more := programsMemory(filepath.Join(dir, "*"))
	if err != nil || more != nil || half < 1<<20 || both < half*3/2 {
		t.Errorf("one node: %d, %v; two: %d, %v", half, err, both, more)
	}
	if _, err := programsMemory(filepath.Join(dir, "none")); err == nil {
		t.Error("there is no node, and no error")
	}
}
