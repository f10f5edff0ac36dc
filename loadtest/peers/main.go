// Command peers measures the lab's lock beside other libraries: see README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"locklab/loadtest/peers/worker"
)

type workerCommand struct{}

// Run obeys the runner.
func (workerCommand) Run() error { return worker.Serve(os.Stdin, os.Stdout) }

func main() {
	var cli struct {
		Run    runCommand    `cmd:"" help:"Measure; without flags the short form of the page."`
		Page   pageCommand   `cmd:"" help:"Make the page docs/benchmark.md of saved runs."`
		Worker workerCommand `cmd:"" hidden:""`
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k := kong.Parse(&cli, kong.Name("peers"), kong.Vars{"workloads": workloads()}, kong.Description("Our lock beside other libraries, on real servers."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}
