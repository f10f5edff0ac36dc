package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// workers are the roles that a process of this binary can have, in addition to the stack's own.
var workers = make(map[string]func(in io.Reader, out io.Writer) int)

// Role registers a kind of worker and returns its name. serve reads requests from in, writes replies to out, and returns the exit
// status. It must return when in ends. Call Role to initialise a package variable: that is before [Reexec] reads the roles, and
// the package of a worker needs no entry here.
func Role(name string, serve func(in io.Reader, out io.Writer) int) string {
	workers[name] = serve
	return name
}

// Worker is a process with a dialogue on its standard input and output.
type Worker struct {
	*Process
	In  io.WriteCloser // requests to it
	Out io.ReadCloser  // its replies; it ends with the process
}

// Worker starts a process of this same binary in a role. The caller must Stop or Kill it, and then read Out to its end and close it.
func (s *Stack) Worker(role, name string) (*Worker, error) {
	if workers[role] == nil {
		return nil, fmt.Errorf("stack: no worker has the role %q", role)
	}
	return s.dialogue(s.inRole(role, command{name: name}))
}

// Program starts another program, as Worker does.
func (s *Stack) Program(name string, argv ...string) (*Worker, error) {
	return s.dialogue(command{name: name, argv: argv})
}

func (s *Stack) dialogue(c command) (*Worker, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", errors.Join(err, stdin.Close(), in.Close()))
	}
	c.in, c.out = stdin, stdout
	p, err := s.start(c)
	_, _ = stdin.Close(), stdout.Close() // the process has duplicates
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	return &Worker{p, in, out}, nil
}
