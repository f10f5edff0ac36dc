package servers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

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
