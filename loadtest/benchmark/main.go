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
)

func main() {
	servers.Reexec()
	var cli struct {
		Run   runCommand   `cmd:"" help:"Measure (default: everything that the page shows)."`
		Page  pageCommand  `cmd:"" help:"Make the tables of docs/benchmark.md from saved runs."`
		Scale scaleCommand `cmd:"" help:"Make the tables of docs/scale.md from saved runs of the plan scale."`
	}
	names := kong.Vars{}
	for name, p := range plans {
		var workloads []string
		for _, w := range p.workloads() {
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
