//go:build unix

package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// echo is a role in this test binary.
var echo = servers.Role("echo", func(in io.Reader, out io.Writer) int {
	_, _ = io.Copy(out, in)
	return 0
})

func TestDialogue(t *testing.T) {
	s := testenv.Stack(t)
	if _, err := s.Dialogue("unknown", "process"); err == nil {
		t.Error("a process has a role that is not registered")
	}
	w, err := s.Dialogue(echo, "process")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Out.Close()
	lines := bufio.NewScanner(w.Out)
	testenv.Pause(t, w)
	fmt.Fprintln(w.In, "sent while it did not run")
	w.Resume()
	if !lines.Scan() || lines.Text() != "sent while it did not run" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	if err := w.In.Close(); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() || w.Status() != "exit status 0" {
		t.Errorf("it says %q and ends with %s", lines.Text(), w.Status())
	}
}

// A child of a program ends with it, so that nothing is left behind and the program's stdout has an end.
func TestTheChildrenOfAProgramEndWithIt(t *testing.T) {
	for _, way := range []string{"killed", "ended"} {
		w, err := testenv.Stack(t).Program("program", "sh", "-c", "sleep 600 & echo started; read line")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(w.Out)
		if !lines.Scan() || lines.Text() != "started" {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
		if way == "killed" {
			w.Kill()
		} else if err := w.In.Close(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan bool)
		go func() { ended <- lines.Scan() }() // the child has stdout, too
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("%s: the child goes on", way)
		}
		_ = w.Out.Close()
	}
}

// The last lines that a program has written to its stderr are known when it has ended.
func TestTheLastLinesOfAProgram(t *testing.T) {
	w, err := testenv.Stack(t).Program("program", "sh", "-c",
		`head -c 200000 /dev/zero | tr '\0' x >&2; for i in 1 2 3 4; do printf 'line %s\r\n' $i >&2; done; exit 3`)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Out.Close()
	if status := w.Status(); status != "exit status 3" {
		t.Error(status)
	}
	if lines := w.LastLines(2); strings.Join(lines, "|") != "line 3|line 4" {
		t.Errorf("the last lines are %q", lines)
	}
	if lines := w.LastLines(5); len(lines) != 4 || len(lines[0]) > 210 || !strings.HasSuffix(lines[0], "x…") {
		t.Errorf("a long line is %d bytes: %.300q", len(lines[0]), lines)
	}
}

// A program that floods its stderr does not fill the disk, while it runs and afterwards, and its last lines are known.
func TestAFloodOfStderrIsBounded(t *testing.T) {
	const most = 16 << 20
	s := testenv.Stack(t)
	w, err := s.Program("program", "sh", "-c", `yes 'a line of a debugger' | head -c 60000000 >&2; echo written; read line
yes 'another line' | head -c 60000000 >&2; printf '\nthe last line\n' >&2`)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Out.Close()
	size := func() int64 { // on the disk
		info, err := os.Stat(filepath.Join(s.Dir(), "program.log"))
		if err != nil {
			t.Fatal(err)
		}
		return 512 * info.Sys().(*syscall.Stat_t).Blocks
	}
	if lines := bufio.NewScanner(w.Out); !lines.Scan() || lines.Text() != "written" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	testenv.Eventually(t, "its log is bounded while it runs", func() bool { return size() <= most })
	if err := w.In.Close(); err != nil {
		t.Fatal(err)
	}
	w.Status()
	if lines := w.LastLines(1); size() > most || !slices.Equal(lines, []string{"the last line"}) {
		t.Errorf("the log has %d bytes, and ends with %q", size(), lines)
	}
}

// A process that has left the program's group lives on, and nobody waits for it.
func TestAChildThatLeavesTheGroupIsNotAwaited(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		testenv.Skip(t, err.Error())
	}
	w, err := testenv.Stack(t).Program("program", "sh", "-c", "echo started >&2; setsid sh -c 'echo $$; exec sleep 600' & read line")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Out.Close()
	text, err := bufio.NewReader(w.Out).ReadString('\n')
	child, failed := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || failed != nil {
		t.Fatal(text, err)
	}
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }()
	killed := make(chan bool)
	go func() { w.Kill(); close(killed) }()
	select {
	case <-killed:
	case <-time.After(time.Minute):
		t.Fatal("the end of the program is not noticed: its child has its stderr")
	}
	if lines := w.LastLines(1); !slices.Equal(lines, []string{"started"}) {
		t.Errorf("the last line is %q", lines)
	}
}
