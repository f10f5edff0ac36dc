//go:build unix

package stack_test

import (
	"bufio"
	"fmt"
	"io"
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/stack"
)

// echo is a role in this test binary.
var echo = stack.Role("echo", func(in io.Reader, out io.Writer) int {
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
	if lines.Scan() || w.ExitCode() != 0 {
		t.Errorf("it says %q and ends with %d", lines.Text(), w.ExitCode())
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
