package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// command runs a program and returns what it printed. The error is a sentence for people. It wraps exec.ErrNotFound when there is no such
// program, and errNoAnswer when the program took too long.
type command func(ctx context.Context, name string, args ...string) (printed, error)

type printed struct{ out, err string }

const commandTimeout = 10 * time.Second

var errNoAnswer = fmt.Errorf("no answer in %s", commandTimeout)

type notFound string // is the program's name

func (n notFound) Error() string { return string(n) + " is not on the PATH" }
func (notFound) Unwrap() error   { return exec.ErrNotFound }

// execute is the command of a real machine.
func execute(ctx context.Context, name string, args ...string) (printed, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	cmd.Cancel = func() error { return killWithChildren(cmd.Process.Pid) }
	cmd.WaitDelay = time.Second // a grandchild may keep the pipes open
	err := cmd.Run()
	got := printed{strings.TrimSpace(out.String()), strings.TrimSpace(complaints.String())}
	switch {
	case err == nil:
		return got, nil
	case errors.Is(err, exec.ErrNotFound):
		return got, notFound(name)
	case ctx.Err() != nil:
		return got, fmt.Errorf("%s: %w", name, errNoAnswer)
	}
	return got, errors.New(cmp.Or(lastLine(got.err), name+": "+err.Error()))
}

// killWithChildren also kills the plugins that docker has started; they would outlive it.
func killWithChildren(pid int) error {
	parent := process.Process{Pid: int32(pid)}
	_ = parent.Suspend() // it must not start another one meanwhile
	children, _ := parent.Children()
	for _, child := range children {
		_ = child.Kill()
	}
	return parent.Kill()
}

// lastLine is the error message of a program that prints warnings before it.
func lastLine(text string) string { return strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:]) }
