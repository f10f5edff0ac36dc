package lab

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"locklab/lab/testenv"
)

// A probe makes a file as large as the runs of a lab. Here a limit for the size of a file stands for a full disk. The limit is that of the
// process, so this test is not parallel.
func TestAProbeWritesWhatRunsNeed(t *testing.T) {
	if err := Probe("/proc/self"); err == nil || !strings.Contains(err.Error(), "runs cannot be saved in /proc/self") {
		t.Errorf("where no file can be made: %v", err)
	}
	signal.Ignore(syscall.SIGXFSZ) // the write has an error instead
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if before.Max < requiredSpace {
		testenv.Skip(t, fmt.Sprintf("no file may have more than %d bytes here", before.Max))
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) })
	store := t.TempDir()
	for _, c := range []struct {
		most uint64
		full bool
	}{{requiredSpace - 1, true}, {requiredSpace, false}} {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: c.most, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
		err := Probe(store)
		if (err != nil) != c.full {
			t.Errorf("with %d bytes: %v", c.most, err)
		}
	}
	const most = 100 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	long := ran() // its history is larger than the limit, and its other files are not
	long.Events[0].Text = strings.Repeat("x", most)
	if _, err := Save(t.TempDir(), long, Judgement{}); err == nil || !strings.Contains(err.Error(), historyFile) {
		t.Errorf("a history that does not fit is saved: %v", err)
	}
	if left, err := os.ReadDir(store); err != nil || len(left) != 0 {
		t.Errorf("the probe left %v, %v", left, err)
	}
}
