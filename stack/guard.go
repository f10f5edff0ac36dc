package stack

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// How a process of this binary is told what it is, before it reads its command line.
const (
	roleVariable   = "LOCKLAB_STACK_ROLE"   // guard, miniredis, a worker's, or none of them
	serverVariable = "LOCKLAB_STACK_SERVER" // the role that a guard gives its server
	dirVariable    = "LOCKLAB_STACK_DIR"    // what a guard removes at the end
	addrVariable   = "LOCKLAB_STACK_ADDR"   // where a miniredis listens; empty: anywhere

	guardRole     = "guard"
	miniredisRole = "miniredis"
)

// Reexec must be the first call of main and TestMain in every program that uses a [Stack]. In a
// process that a stack started it does that process's work and does not return.
func Reexec() {
	role := os.Getenv(roleVariable)
	os.Unsetenv(roleVariable)
	switch role {
	case guardRole:
		os.Exit(guard(os.Args[1:], os.Getenv(dirVariable)))
	case miniredisRole:
		os.Exit(serveMiniredis(os.Stdout))
	}
	if serve := workers[role]; serve != nil {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
}

// guard runs argv until it ends, or until the lifeline does: then it kills it and removes dir.
// Several guards may do so at once; the last one to have killed its server finds all the rest. It
// returns the server's exit status, or -1 when a signal ended it.
func guard(argv []string, dir string) int {
	lifeline, report := os.NewFile(3, "lifeline"), os.NewFile(4, "report")
	private(3)
	private(4)
	// Signals that are meant for the server's starter must not end its guard. Caught and not
	// ignored, because what is ignored stays so in the server.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	runtime.LockOSThread() // Linux watches the thread that started the server, not the process

	server := exec.Command(argv[0], argv[1:]...)
	server.Stdin, server.Stdout, server.Stderr = os.Stdin, os.Stdout, os.Stderr
	server.Env = append(os.Environ(), roleVariable+"="+os.Getenv(serverVariable))
	server.SysProcAttr = together()
	if err := server.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(report, server.Process.Pid)
	report.Close()

	ended, cut := make(chan struct{}), make(chan struct{})
	go func() { _ = server.Wait(); close(ended) }()
	go func() { _, _ = io.Copy(io.Discard, lifeline); close(cut) }()
	select {
	case <-ended:
	case <-cut:
		_ = server.Process.Kill()
		<-ended
		_ = os.RemoveAll(dir)
	}
	return server.ProcessState.ExitCode()
}
