package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// command runs a program and returns its output. The error is a sentence for people. It wraps exec.ErrNotFound when there is no such
// program, and errNoAnswer when the program took too long.
type command func(ctx context.Context, name string, args ...string) (string, error)

const commandTimeout = 10 * time.Second

var errNoAnswer = fmt.Errorf("no answer in %s", commandTimeout)

type notFound string // is the program's name

func (n notFound) Error() string { return string(n) + " is not on the PATH" }
func (notFound) Unwrap() error   { return exec.ErrNotFound }

// execute is the command of a real machine. An interrupt lets docker end the plugins that it has started; they would outlive a kill.
func execute(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil:
	case errors.Is(err, exec.ErrNotFound):
		err = notFound(name)
	case ctx.Err() != nil:
		err = fmt.Errorf("%s: %w", name, errNoAnswer)
	default:
		err = errors.New(cmp.Or(lastLine(complaints.String()), name+": "+err.Error()))
	}
	return strings.TrimSpace(out.String()), err
}

// lastLine is the error message of a program that prints warnings before it.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}
