// Command benchmark measures the lab's lock beside other libraries: see README.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"locklab/internal/lists"
	"locklab/lab/servers"
	"locklab/loadtest/benchmark/runner"
)

func main() {
	servers.Reexec()
	var cli struct {
		Run  runCommand  `cmd:"" help:"Measure (default: everything that the page shows)."`
		Page pageCommand `cmd:"" help:"Make the tables of docs/benchmark.md or docs/scale.md from saved runs."`
	}
	names := kong.Vars{}
	for name, plan := range runner.Plans {
		var workloads []string
		for _, w := range plan {
			workloads = append(workloads, w.Name)
		}
		names[name] = strings.Join(workloads, ", ")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k := kong.Parse(&cli, kong.Name("benchmark"), names,
		lists.Trimmed(), kong.Description("Measure our lock beside other libraries, on real servers."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}
