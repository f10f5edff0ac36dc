package servers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to stop before it is killed.
const stopTimeout = 15 * time.Second

// Process is a server that runs as a child of this program.
type Process struct {
	Name string

	log  string // the file with its output
	cmd  *exec.Cmd
	done chan struct{} // closed when the server has ended
}

// command is a server to start. Its output goes to a file in the stack's directory, unless there are in and out.
type command struct {
	name    string
	argv    []string
	env     []string // nil: that of this process
	in, out *os.File // the process's standard input and output, when it is talked to
}

// longestLog is how many bytes the log of a process that is talked to may take on the disk: anybody's program may flood its stderr.
const longestLog = 16 << 20

func (s *Stack) start(c command) (*Process, error) {
	p := &Process{Name: c.name, log: filepath.Join(s.dir, c.name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the server has a duplicate
	p.cmd = exec.Command(c.argv[0], c.argv[1:]...)
	p.cmd.Env = c.env
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if c.in != nil {
		p.cmd.Stdin, p.cmd.Stdout = c.in, c.out
	}
	p.cmd.SysProcAttr = endsWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	pidFile := filepath.Join(s.dir, c.name+pidSuffix)
	written := os.WriteFile(pidFile, fmt.Appendln(nil, p.PID()), 0o644)
	ended := make(chan struct{})
	go func() {
		_ = p.cmd.Wait()
		killGroup(p.PID()) // what the server has started, and left
		_ = os.Remove(pidFile)
		close(ended)
	}()
	go func() {
		defer close(p.done)
		if c.in != nil {
			p.boundLog(ended)
		}
		<-ended
	}()
	s.add(p)
	return p, written
}

// inRole makes a command run this same binary in a role.
func (s *Stack) inRole(role string, c command) command {
	c.argv, c.env = []string{s.self}, append(append(os.Environ(), roleVariable+"="+role), c.env...)
	return c
}

// PID is the server's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Status waits for the server's end, and says how it ended: "exit status 3" or "signal: killed", for example.
func (p *Process) Status() string {
	<-p.done
	return p.cmd.ProcessState.String()
}

// Ended waits for the server's end, and returns what proves it.
func (p *Process) Ended() (proof string, err error) {
	return fmt.Sprintf("process %d has ended: %s", p.PID(), p.Status()), nil
}

func (p *Process) String() string { return p.Name }

// Done is closed when the server has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop asks the server to end, and kills it when it takes too long.
func (p *Process) Stop() error {
	p.Resume() // a paused process does not receive SIGTERM
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		p.Kill()
		return fmt.Errorf("%s did not end within %s and was killed", p.Name, stopTimeout)
	}
}

// Kill ends the server without warning, as a crash does, and returns when it has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Pause stops the server from running until Resume, as a long pause of its machine does. It returns when the server has
// stopped, or an error when it has not after 30 s. A thread that waits for the disk stops late.
func (p *Process) Pause() error {
	p.signal(sigStop)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(30 * time.Second); !stopped(p.PID()); <-poll.C {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not stop", p.Name)
		}
	}
	return nil
}

// Resume lets a paused server continue.
func (p *Process) Resume() { p.signal(sigContinue) }

// signal sends sig unless the server has ended.
func (p *Process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// Log is what the process has printed; of a [Stack.Program] to its stderr.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// LastLines are the last lines that the process printed, at most n. Of a long line it is the beginning.
func (p *Process) LastLines(n int) (lines []string) {
	const longest = 200 // bytes
	for line := range strings.Lines(strings.TrimSpace(p.end())) {
		if line = strings.TrimRight(line, "\r\n"); len(line) > longest {
			line = strings.ToValidUTF8(line[:longest], "") + "…"
		}
		lines = append(lines, line)
	}
	return lines[max(0, len(lines)-n):]
}

// boundLog frees the disk from all but the end of a long log, until the process has ended. The log is not written anew: the process appends
// to it meanwhile, and no line may be lost.
func (p *Process) boundLog(ended <-chan struct{}) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	freed := int64(0)
	for running := true; running; {
		select {
		case <-look.C:
		case <-ended:
			running = false
		}
		if info, err := os.Stat(p.log); err == nil && info.Size()-freed > longestLog {
			freed = info.Size() - endOfLog
			_ = freeBeginning(p.log, freed)
		}
	}
}

// endOfLog is how many bytes of a log are kept, and read: it may be long.
const endOfLog = 64 << 10

func (p *Process) end() string {
	log, err := os.Open(p.log)
	if err != nil {
		return ""
	}
	defer log.Close()
	if size, err := log.Seek(0, io.SeekEnd); err == nil {
		_, _ = log.Seek(max(0, size-endOfLog), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(log, endOfLog))
	return string(text)
}

// lastOutput is the last lines that the server printed, without the frames of Java's stack traces.
func (p *Process) lastOutput() string {
	lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "\tat ") })
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// findOutput returns nil when the process has printed a whole line that match accepts.
func (p *Process) findOutput(match func(line string) bool) error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if line, whole := strings.CutSuffix(line, "\n"); whole && match(line) {
			return nil
		}
	}
	return errors.New("it has not printed the address at which it listens")
}
