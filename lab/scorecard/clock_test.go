package scorecard_test

import (
	"os/exec"
	"runtime"
	"testing"

	"locklab/lab/scorecard"
	"locklab/lab/testenv"
)

// A lock that compares the clocks of processes is violated when they differ. One that leaves the time to the server holds. The lab cannot
// change the clock of a program in Go, and says so.
func TestClocksThatDiffer(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	for _, program := range []string{"python3", "cc"} {
		if _, err := exec.LookPath(program); err != nil || runtime.GOOS != "linux" {
			testenv.Skip(t, "it needs Linux, Python and a C compiler")
		}
	}
	for name, c := range map[string]struct {
		argv []string
		want scorecard.State
	}{
		"of clocks": {[]string{"python3", "testdata/clock.py", "end"}, scorecard.Violated},
		"tokens":    {[]string{"python3", "testdata/clock.py", "token"}, scorecard.Violated},
		"of leases": {[]string{"python3", "../../examples/locks/template-python/rungs.py", "4"}, scorecard.Holds},
		"in Go":     {mutantProgram("none"), scorecard.NotClaimed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row := triedProgram(t, c.argv, pace(t), "T27").Rows[0]; row.State != c.want {
				t.Errorf("it is %s, want %s: %s", row.State, c.want, row.Why)
			}
		})
	}
}
