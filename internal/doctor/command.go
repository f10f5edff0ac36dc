package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// command runs a program and returns what it printed. An error wraps exec.ErrNotFound when there is
// no such program, errNoAnswer when it took too long, and else says what the program said.
type command func(ctx context.Context, name string, args ...string) (printed, error)

type printed struct{ out, err string }

var errNoAnswer = errors.New("no answer")

// execute is the command of a real machine.
func execute(ctx context.Context, name string, args ...string) (printed, error) {
	return executeWithin(ctx, commandWithin, name, args...)
}

func executeWithin(ctx context.Context, within time.Duration, name string, args ...string) (printed, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	together(cmd)
	err := cmd.Run()
	got := printed{strings.TrimSpace(out.String()), strings.TrimSpace(complaints.String())}
	switch {
	case err == nil:
		return got, nil
	case errors.Is(err, exec.ErrNotFound):
		return got, notFound(name)
	case ctx.Err() != nil:
		return got, fmt.Errorf("%w: %s", errNoAnswer, noAnswer(name, within))
	case got.err != "":
		return got, fmt.Errorf("%s: %w", lastLine(got.err), err)
	}
	return got, fmt.Errorf("%s: %w", name, err)
}

func notFound(name string) error {
	return fmt.Errorf("%s is not on the PATH: %w", name, exec.ErrNotFound)
}

// said is an error's sentence without how Go wraps it.
func said(err error) string {
	text := strings.TrimPrefix(err.Error(), errNoAnswer.Error()+": ")
	text = strings.TrimSuffix(text, ": "+exec.ErrNotFound.Error())
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		text = strings.TrimSuffix(text, ": "+exit.Error())
	}
	return text
}

// lastLine is the one with the error; warnings stand before it.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
