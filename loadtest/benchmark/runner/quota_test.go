package runner

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/lab/testenv"
)

// Under the quota, processes on all processors together get half of their time. A busy machine gives them no more without it, so it shows
// nothing.
func TestQuota(t *testing.T) {
	q, err := enterQuota()
	if err != nil {
		testenv.Skip(t, "no cgroup can be made: "+err.Error())
	}
	free, limited := used(t, q, false), used(t, q, true)
	if err := q.leave(); err != nil {
		t.Fatal(err)
	}
	if free > 0.8 && limited > 0.65 {
		t.Errorf("the share of the processors was %.2f with the quota and %.2f without", limited, free)
	}
	if _, err := os.Stat(q.dir); !os.IsNotExist(err) {
		t.Errorf("the cgroup is still there: %v", err)
	}
	if own, err := os.ReadFile("/proc/self/cgroup"); err != nil || strings.Contains(string(own), "locklab-") {
		t.Errorf("this process is still in the cgroup: %s, %v", own, err)
	}
}

// used is the part of the machine's processor time that one busy process for each processor gets.
func used(t *testing.T, q *quota, half bool) float64 {
	t.Helper()
	if err := q.limit(half); err != nil {
		t.Fatal(err)
	}
	began, total := time.Now(), time.Duration(0)
	var busy []*exec.Cmd
	for range runtime.NumCPU() {
		cmd := exec.Command("timeout", "1", "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		busy = append(busy, cmd)
	}
	for _, cmd := range busy {
		_ = cmd.Wait() // timeout ends it with a status of its own
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return total.Seconds() / time.Since(began).Seconds() / float64(runtime.NumCPU())
}
