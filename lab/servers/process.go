package servers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopTimeout is how long a process may take to stop before it is killed.
const stopTimeout = 15 * time.Second

// Process is a server that runs under a supervisor.
type Process struct {
	Name string

	pid        int    // of the server, not of its supervisor
	log        string // the file with its output
	trimming   sync.Mutex
	supervisor *exec.Cmd
	done       chan struct{} // closed when the server has ended
}

// command is what a supervisor runs. Its output goes to a file in the stack's directory, unless there are in and out.
type command struct {
	name    string
	argv    []string
	env     []string // nil: that of this process
	in, out *os.File // the process's standard input and output, when it is talked to
}

// longestLog is how many bytes the log of a process that is talked to may have: anybody's program may flood its stderr.
const longestLog = 16 << 20

func (s *Stack) start(c command) (*Process, error) {
	p := &Process{Name: c.name, log: filepath.Join(s.dir, c.name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	reports, report, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reports.Close()
	p.supervisor = s.supervisor(c, log, report)
	err = p.supervisor.Start()
	_, _ = report.Close(), log.Close() // the supervisor has duplicates
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = p.supervisor.Wait()
		close(ended)
	}()
	go func() {
		defer close(p.done)
		if c.in != nil {
			p.boundLog(ended)
		}
		<-ended
	}()

	line, err := bufio.NewReader(reports).ReadString('\n')
	if err == nil {
		p.pid, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		<-p.done
		return nil, fmt.Errorf("start %s: %s", c.name, p.lastOutput())
	}
	s.add(p)
	return p, nil
}

// inRole makes a command run this same binary in a role.
func (s *Stack) inRole(role string, c command) command {
	c.argv, c.env = []string{s.self}, append(append(os.Environ(), serverVariable+"="+role), c.env...)
	return c
}

// PID is the server's process id.
func (p *Process) PID() int { return p.pid }

// ExitCode waits for the server's end and returns its exit status; 255: a signal may have ended it.
func (p *Process) ExitCode() int {
	<-p.done
	return p.supervisor.ProcessState.ExitCode()
}

// Status waits for the server's end, and says how it ended: "exit status 3", for example.
func (p *Process) Status() string {
	if code := p.ExitCode(); code != signalled {
		return fmt.Sprintf("exit status %d", code)
	}
	return fmt.Sprintf("exit status %d, or by a signal", signalled)
}

// signalled is the exit status that a supervisor reports when a signal has ended its server.
const signalled = 255

// Ended waits for the server's end, and returns what proves it.
func (p *Process) Ended() (proof string, err error) {
	return fmt.Sprintf("process %d has ended, its supervisor reports status %d", p.pid, p.ExitCode()), nil
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
	for deadline := time.Now().Add(30 * time.Second); !stopped(p.pid); <-poll.C {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not stop", p.Name)
		}
	}
	return nil
}

// Resume lets a paused server continue.
func (p *Process) Resume() { p.signal(sigContinue) }

// signal sends sig unless the server has ended: then its process id may belong to another process.
func (p *Process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = kill(p.pid, sig)
	}
}

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

// boundLog keeps the log below [longestLog], until the process has ended. What is removed is the beginning.
func (p *Process) boundLog(ended <-chan struct{}) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for running := true; running; {
		select {
		case <-look.C:
		case <-ended:
			running = false
		}
		if info, err := os.Stat(p.log); err == nil && info.Size() > longestLog {
			p.trimLog()
		}
	}
}

// trimLog removes all but the end of the log. The process appends to it meanwhile, so a few lines may be lost.
func (p *Process) trimLog() {
	p.trimming.Lock()
	defer p.trimming.Unlock()
	log, err := os.OpenFile(p.log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	defer log.Close()
	tail := p.tail()
	if log.Truncate(0) == nil {
		_, _ = log.WriteString(tail)
	}
}

// end is the end of the log only, because a log may be long.
func (p *Process) end() string {
	p.trimming.Lock()
	defer p.trimming.Unlock()
	return p.tail()
}

func (p *Process) tail() string {
	const tailSize = 64 << 10
	log, err := os.Open(p.log)
	if err != nil {
		return ""
	}
	defer log.Close()
	if size, err := log.Seek(0, io.SeekEnd); err == nil {
		_, _ = log.Seek(max(0, size-tailSize), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(log, tailSize))
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

// These internal variables tell a process of this binary what it is, before it reads its command line.
const (
	roleVariable   = "LOCKLAB_STACK_ROLE"   // supervisor, miniredis, one that a package has registered; empty: an ordinary program
	serverVariable = "LOCKLAB_STACK_SERVER" // the role that a supervisor gives its server
	dirVariable    = "LOCKLAB_STACK_DIR"    // the directory that a supervisor removes at the end
	addrVariable   = "LOCKLAB_STACK_ADDR"   // the address at which a miniredis listens

	supervisorRole = "supervisor"
	miniredisRole  = "miniredis"
)

// Reexec must be the first call of main and TestMain in every program that uses a [Stack]. In a
// process that a stack started it does that process's work and does not return.
func Reexec() {
	role := os.Getenv(roleVariable)
	os.Unsetenv(roleVariable)
	switch role {
	case supervisorRole:
		os.Exit(supervise(os.Args[1:], os.Getenv(dirVariable)))
	case miniredisRole:
		os.Exit(serveMiniredis(os.Stdout))
	}
	if serve := roles[role]; serve != nil {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
}

// supervisor is the process that runs a command, not yet started. It writes the server's process id to report.
func (s *Stack) supervisor(c command, log, report *os.File) *exec.Cmd {
	cmd := exec.Command(s.self, c.argv...)
	if c.env == nil {
		c.env = os.Environ()
	}
	cmd.Env = append(c.env, roleVariable+"="+supervisorRole, dirVariable+"="+s.dir)
	cmd.Stdout, cmd.Stderr = log, log
	if c.in != nil {
		cmd.Stdin, cmd.Stdout = c.in, c.out
	}
	cmd.ExtraFiles = []*os.File{s.watched, report} // descriptors 3 and 4 of the supervisor
	cmd.SysProcAttr = OwnProcessGroup()
	return cmd
}

// supervise runs argv until it ends, or until the lifeline does: then it kills the server and removes dir. Several supervisors may
// do so at the same time; the last one removes what the other servers wrote meanwhile. It returns the server's exit status, or
// -1 when a signal ended it.
func supervise(argv []string, dir string) int {
	lifeline, report := os.NewFile(3, "lifeline"), os.NewFile(4, "report")
	closeOnExec(3)
	closeOnExec(4)
	ignoreStopSignals()
	runtime.LockOSThread() // Linux sends the parent-death signal when this thread ends, not the process

	server := exec.Command(argv[0], argv[1:]...)
	server.Stdin, server.Stdout, server.Stderr = os.Stdin, os.Stdout, os.Stderr
	server.Env = append(os.Environ(), roleVariable+"="+os.Getenv(serverVariable))
	server.SysProcAttr = supervised()
	if err := server.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(report, server.Process.Pid)
	report.Close()

	ended, closed := make(chan struct{}), make(chan struct{})
	go func() {
		_ = server.Wait()
		killGroup(server.Process.Pid) // what the server has started, and left
		close(ended)
	}()
	go func() { _, _ = io.Copy(io.Discard, lifeline); close(closed) }()
	select {
	case <-ended:
	case <-closed:
		_ = server.Process.Kill()
		<-ended
		_ = os.RemoveAll(dir)
	}
	return server.ProcessState.ExitCode()
}

// ignoreStopSignals keeps a supervisor alive when the user stops the program that started it. The signals are caught and not
// ignored, because the server would inherit what is ignored.
func ignoreStopSignals() {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}
