// Command app is the lab in one program: an instance of the service, and the demo that runs two.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"locklab/stack"
)

func main() {
	stack.Reexec() // a process that a stack started has other work to do
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
