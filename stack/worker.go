package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// workers are what a process of this binary can be told to be, beside the stack's own servers.
var workers = make(map[string]func(in io.Reader, out io.Writer) int)

// Role names a kind of worker: serve does its work, hears on in, answers on out, and returns the exit status. It must end when in does. Call it for a
// variable of a package, which is before [Reexec] looks; so a room can have workers without this one knowing it.
func Role(name string, serve func(in io.Reader, out io.Writer) int) string {
	workers[name] = serve
	return name
}

// Worker is a process of this very binary that is talked to.
type Worker struct {
	*Process
	In  io.WriteCloser // what it hears
	Out io.ReadCloser  // what it says; it ends with the process
}

// Worker starts a process in a role. Stop or Kill it, and then read Out to its end and close it.
func (s *Stack) Worker(role, name string) (*Worker, error) {
	if workers[role] == nil {
		return nil, fmt.Errorf("stack: no worker has the role %q", role)
	}
	hears, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	out, says, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", errors.Join(err, hears.Close(), in.Close()))
	}
	p, err := s.self(name, hears, says, role)
	_, _ = hears.Close(), says.Close() // the process has its own
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	return &Worker{p, in, out}, nil
}
