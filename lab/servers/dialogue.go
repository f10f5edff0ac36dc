package servers

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// roles are those that a process of this binary can have, in addition to the stack's own.
var roles = make(map[string]func(in io.Reader, out io.Writer) int)

// Role registers a role and returns its name. serve reads requests from in, writes replies to out, and returns the exit
// status. It must return when in ends. Call Role to initialise a package variable: that is before [Reexec] reads the roles, and
// a package with a role needs no entry here.
func Role(name string, serve func(in io.Reader, out io.Writer) int) string {
	roles[name] = serve
	return name
}

// Dialogue is a process that is talked to on its standard input and output.
type Dialogue struct {
	*Process
	In  *os.File      // requests to it
	Out io.ReadCloser // its replies; it ends with the process
}

// Dialogue starts a process of this same binary in a role. The caller must Stop or Kill it, and then read Out to its end and close it.
func (s *Stack) Dialogue(role, name string) (*Dialogue, error) {
	if roles[role] == nil {
		return nil, fmt.Errorf("no process has the role %q", role)
	}
	return s.talk(s.inRole(role, command{name: name}))
}

// Program starts another program, as Dialogue does. Its log is what it writes to its stderr; on Linux, of a long one only the end.
func (s *Stack) Program(name string, argv ...string) (*Dialogue, error) {
	return s.talk(command{name: name, argv: argv})
}

func (s *Stack) talk(c command) (*Dialogue, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	c.in, c.out = stdin, stdout
	p, err := s.start(c)
	_, _ = stdin.Close(), stdout.Close() // the process has duplicates
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, err
	}
	return &Dialogue{p, in, out}, nil
}
