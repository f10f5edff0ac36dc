package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"locklab/lab/testenv"
)

// A terminal shows the progress in one row, which is removed before the result and after an interruption.
func TestProgressRowIsRemoved(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	p := testenv.OpenTerminal(t, 80)
	cmd := process(t, "lab", "explore", "L03")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, p.File
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "as predicted") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%v: %q", err, out.String())
	}
	p.WantAtTheEnd()

	p = testenv.OpenTerminal(t, 80)
	cmd = process(t, "lab", "run", "L05", "--embedded", "--out", t.TempDir())
	cmd.Stderr = p.File
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.Until(", trial ")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("%v, want exit %d", err, exitInterrupted)
	}
	p.Until("app: interrupted")
	if rows := p.Rows(); strings.Contains(strings.Join(rows, "\n"), ", trial ") {
		t.Errorf("the progress row is still there: %q", rows)
	}
}

// The log of an instance has colours on a terminal, unless NO_COLOR is set.
func TestLogColours(t *testing.T) {
	for variable, coloured := range map[string]bool{"": true, "1": false} {
		t.Setenv("NO_COLOR", variable)
		p := testenv.OpenTerminal(t, 80)
		(&serveCommand{LogLevel: "info"}).newLogger(p.File).Warn("message")
		if p.Until("message"); strings.Contains(p.Seen, "\x1b[") != coloured {
			t.Errorf("NO_COLOR=%s: %q", variable, p.Seen)
		}
	}
}
