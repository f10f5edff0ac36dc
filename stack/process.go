package stack

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// grace is how long a process may take to stop before it is killed.
const grace = 15 * time.Second

// Process is a server that runs under a guard.
type Process struct {
	Name string

	pid   int // of the server, not of its guard
	log   string
	guard *exec.Cmd
	done  chan struct{}
}

// start runs argv under a guard, in the environment env. What it prints goes to a file in the
// stack's directory.
func (s *Stack) start(name string, env []string, argv ...string) (*Process, error) {
	return s.talking(name, nil, nil, env, argv...)
}

// talking is start for a process that is talked to: in and out are its ends of that. Its errors go to the file.
func (s *Stack) talking(name string, in, out *os.File, env []string, argv ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	p := &Process{Name: name, log: filepath.Join(s.dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	defer log.Close()
	reports, report, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	defer reports.Close()

	p.guard = exec.Command(self, argv...)
	p.guard.Env = append(env, roleVariable+"="+guardRole, dirVariable+"="+s.dir)
	p.guard.Stdout, p.guard.Stderr = log, log
	if in != nil {
		p.guard.Stdin, p.guard.Stdout = in, out
	}
	p.guard.ExtraFiles = []*os.File{s.watched, report} // descriptors 3 and 4 of the guard
	p.guard.SysProcAttr = apart()
	err = p.guard.Start()
	report.Close()
	if err != nil {
		return nil, fmt.Errorf("stack: start %s: %w", name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.guard.Wait()
	}()

	line, err := bufio.NewReader(reports).ReadString('\n')
	if err == nil {
		p.pid, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		<-p.done
		return nil, fmt.Errorf("stack: start %s: %s", name, p.tail())
	}
	s.add(p)
	return p, nil
}

// PID is the server's process id.
func (p *Process) PID() int { return p.pid }

// ExitCode waits for the server's end and returns its exit status; 255: a signal ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.guard.ProcessState.ExitCode()
}

// Ended waits for the server's end, and says what was seen of it.
func (p *Process) Ended() (proof string, err error) {
	return fmt.Sprintf("process %d has ended, its guard says %d", p.pid, p.ExitCode()), nil
}

func (p *Process) String() string { return p.Name }

// Done is closed when the server has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop asks the server to end, and kills it when it takes too long.
func (p *Process) Stop() error {
	p.Resume() // a process that is paused does not hear
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(grace):
		p.Kill()
		return fmt.Errorf("stack: %s did not end within %s and was killed", p.Name, grace)
	}
}

// Kill ends the server at once, as a crash does, and returns when it has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Pause stops the server from running until Resume, as a long pause of its machine does. It
// returns when the server has stopped; an error says that it did not.
func (p *Process) Pause() error {
	p.signal(stop)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for late := time.Now().Add(5 * time.Second); !stopped(p.pid); <-again.C {
		if time.Now().After(late) {
			return fmt.Errorf("stack: %s does not stop", p.Name)
		}
	}
	return nil
}

// Resume lets a paused server run on.
func (p *Process) Resume() { p.signal(proceed) }

// signal sends sig unless the server has ended: its process id may be another's by then.
func (p *Process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = send(p.pid, sig)
	}
}

// tail is the end of what the server printed.
func (p *Process) tail() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// printed looks for a whole line that the process has printed.
func (p *Process) printed(wanted func(line string) bool) error {
	file, err := os.Open(p.log)
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadString('\n')
		if err != nil { // the end, or half a line: ask again
			return errors.New("it has not said where it listens")
		}
		if wanted(strings.TrimSuffix(line, "\n")) {
			return nil
		}
	}
}
