package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"locklab/internal/marked"
	"locklab/internal/progress"
	"locklab/lab/burst"
	"locklab/lab/burst/loadtool"
	"locklab/lab/containers"
	"locklab/lab/report/terminal"
	"locklab/lab/report/topologies"
	"locklab/lab/servers/compose"
)

type labTopologiesCommand struct {
	checkout
	Out        string   `default:"docs/topologies.md" placeholder:"FILE" help:"File to write the page to."`
	Topologies []string `default:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Redis topologies to start, in this order."`
	Versions   []string `default:"${versions}" enum:"${allVersions}" placeholder:"vN" help:"Versions to send requests to."`
	Tools      []string `default:"app,k6,jmeter" enum:"app,k6,jmeter" placeholder:"TOOL" help:"Load tools to use; app is this program."`
	Users      int      `default:"666" placeholder:"N" help:"Number of simultaneous page views."`
	Drivers    int      `default:"20" placeholder:"N" help:"Number of drivers who grab the same order at once."`
}

// Run starts each topology, loads it, kills a master, removes everything, and writes the page.
func (c *labTopologiesCommand) Run(ctx context.Context, std streams) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if err := c.preflight(ctx, std); err != nil {
		return err
	}
	tell := progress.New(std.err)
	cfg.Tell = tell.Step
	result, err := containers.Run(ctx, cfg)
	tell.Done()
	if err := commandError(ctx, err, "nothing was written"); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := topologies.Page(&page, result); err != nil {
		return err
	}
	if err := c.write(page.String()); err != nil {
		return unavailable(err)
	}
	fmt.Fprintf(std.out, "Wrote %s. Verdict: %s\n", c.Out, terminal.Verdict(result.Verdict(), wantsColour(std.out)))
	return verdictError(result.Verdict(), "see "+c.Out)
}

// write writes results between the markers of the page, or into a new file.
func (c *labTopologiesCommand) write(results string) error {
	if _, err := os.Stat(c.Out); os.IsNotExist(err) {
		return os.WriteFile(c.Out, []byte(results), 0o644)
	}
	return marked.Update(c.Out, "topologies", results)
}

// config checks the flags and turns them into a configuration.
func (c *labTopologiesCommand) config() (containers.Config, error) {
	cfg := containers.Config{Dir: c.Dir, Topologies: c.Topologies, Versions: c.Versions, Users: c.Users, Drivers: c.Drivers}
	if err := validatePlan(burst.Plan{Users: c.Users, Drivers: c.Drivers, Rounds: 1, Versions: c.Versions}); err != nil {
		return cfg, err
	}
	if folder, err := os.Stat(filepath.Dir(c.Out)); err != nil || !folder.IsDir() {
		return cfg, usageErrorf("--out is %s, but the folder %s does not exist", c.Out, filepath.Dir(c.Out))
	}
	tools := map[string]burst.Sender{"app": burst.App{}, "k6": loadtool.K6(c.Dir), "jmeter": loadtool.JMeter(c.Dir)}
	for _, name := range c.Tools {
		cfg.Tools = append(cfg.Tools, tools[name])
	}
	return cfg, nil
}

// preflight checks that this machine can run every topology and load tool.
func (c *labTopologiesCommand) preflight(ctx context.Context, std streams) error {
	for _, topology := range c.Topologies {
		project, err := compose.Load(ctx, c.Dir, topology)
		if err != nil {
			return loadError(err)
		}
		if err := checkDocker(ctx, std, c.Dir, project, project.Starts, append(c.Tools, labChecks...)...); err != nil {
			return err
		}
	}
	return nil
}
