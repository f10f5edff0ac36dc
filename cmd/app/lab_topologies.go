package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"locklab/experiments/containers"
	"locklab/internal/marked"
	"locklab/internal/progress"
	"locklab/report/topologies"
	"locklab/stack/compose"
)

type labTopologiesCommand struct {
	checkout
	Out        string   `default:"docs/topologies.md" placeholder:"FILE" help:"File for the page."`
	Topologies []string `default:"single,master-slave,sentinel,cluster" placeholder:"KIND" help:"Topologies to start, in this order."`
	Versions   []string `default:"${versions}" enum:"${allVersions}" placeholder:"vN" help:"Versions to send requests to."`
	Tools      []string `default:"ours,k6,jmeter" enum:"ours,k6,jmeter" placeholder:"TOOL" help:"Load tools to send them with."`
	Users      int      `default:"666" placeholder:"N" help:"Number of simultaneous page views."`
	Drivers    int      `default:"20" placeholder:"N" help:"Number of drivers who want the same order."`
}

// Run brings up, fires, breaks, takes down, and writes the page.
func (c *labTopologiesCommand) Run(ctx context.Context, std streams) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if err := c.preflight(ctx, std); err != nil {
		return err
	}
	tell := progress.New(std.err)
	cfg.Tell = tell.Weighted
	result, err := containers.Run(ctx, cfg)
	tell.Done()
	if err := stopped(ctx, err, "nothing is written"); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := topologies.Page(&page, result); err != nil {
		return err
	}
	if err := c.write(page.String()); err != nil {
		return unavailable(err)
	}
	fmt.Fprintf(std.out, "%s is written; verdict of all of it: %s\n", c.Out, result.Verdict())
	return verdictExit(result.Verdict(), "see "+c.Out)
}

// write writes what was seen between the markers of the page, or into a new file.
func (c *labTopologiesCommand) write(seen string) error {
	if _, err := os.Stat(c.Out); os.IsNotExist(err) {
		return os.WriteFile(c.Out, []byte(seen), 0o644)
	}
	return marked.Update(c.Out, "topologies", seen)
}

// config finds what cannot work, before anything is started.
func (c *labTopologiesCommand) config() (containers.Config, error) {
	cfg := containers.Config{Dir: c.Dir, Topologies: c.Topologies, Versions: c.Versions, Users: c.Users, Drivers: c.Drivers}
	sizes := bursts{Users: c.Users, Drivers: c.Drivers, Rounds: 1, Versions: c.Versions}
	if err := sizes.validate(); err != nil {
		return cfg, err
	}
	if folder, err := os.Stat(filepath.Dir(c.Out)); err != nil || !folder.IsDir() {
		return cfg, misuse("--out is %s, and there is no folder %s", c.Out, filepath.Dir(c.Out))
	}
	tools := map[string]containers.Tool{"ours": containers.Ours(), "k6": containers.K6(c.Dir), "jmeter": containers.JMeter(c.Dir)}
	for _, name := range c.Tools {
		cfg.Tools = append(cfg.Tools, tools[name])
	}
	return cfg, nil
}

// preflight looks at every topology, and for the load tools.
func (c *labTopologiesCommand) preflight(ctx context.Context, std streams) error {
	for _, topology := range c.Topologies {
		project, err := compose.Load(ctx, c.Dir, topology)
		if err != nil {
			return misuse("--topologies: %w", err)
		}
		if err := hindered(ctx, std, c.Dir, project, project.Starts, append(c.Tools, whole...)...); err != nil {
			return err
		}
	}
	return nil
}
