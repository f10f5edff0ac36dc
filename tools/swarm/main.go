// Command swarm starts a Swarm of two Docker engines on this machine for each topology of deploy/swarm, and sends load to the lab in it. It
// kills an engine during a burst, judges, and writes a part of deploy/swarm/README.md. It needs Linux, root, and Docker with the images
// of the lab. It needs control groups of version 1, which systemd mounts when the kernel's command line has
// systemd.unified_cgroup_hierarchy=0.
//
// What is NOT guaranteed: that a Swarm of several machines behaves the same. The engines share a kernel, two processors and a clock.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab/servers/compose"
	"locklab/tools/machine"
)

const (
	page    = "deploy/swarm/README.md"
	engines = "deploy/swarm/engines"
)

var swarm = machine.Cluster{
	Name: "swarm", Script: engines, Programs: programs, Kinds: kinds, Settings: kernelSettings, Inside: runInside,
}

func main() { swarm.Main(run) }

// run runs the topologies, or all, and writes the page when all of them are as expected.
func run(ctx context.Context, topologies []string) error {
	known, err := compose.Topologies(".")
	if err != nil {
		return err
	}
	for _, topology := range topologies {
		if !slices.Contains(known, topology) {
			return fmt.Errorf("there is no topology %q: take some of %s; or clean", topology, strings.Join(known, ", "))
		}
	}
	if len(topologies) > 0 { // the page shows all of them
		_, err := runAll(ctx, topologies)
		return err
	}
	began := time.Now()
	commit, err := output(ctx, "git", "describe", "--always", "--dirty")
	if err != nil {
		return err
	}
	all, err := runAll(ctx, known)
	if err != nil {
		return err
	}
	return marked.UpdateAll(page, tablesOf(all, began, strings.TrimSpace(commit)))
}

// programs that the engines need.
var programs = []machine.Program{
	{File: "docker", Debian: "docker.io"},
	{File: "dockerd", Debian: "docker.io"},
	{File: "containerd", Debian: "containerd"},
	{File: "runc", Debian: "runc"},
	{File: "iptables", Debian: "iptables"},
	{File: "ip", Debian: "iproute2"},
	{File: "ps", Debian: "procps"},
}

// runAll runs one topology after the other.
func runAll(ctx context.Context, topologies []string) (all []Result, err error) {
	all = make([]Result, 0, len(topologies)) // or a result would move
	prepare := func(dir string) ([]string, error) { return nil, saveImages(ctx, dir) }
	err = swarm.Run(ctx, topologies, prepare, func(string) fmt.Stringer {
		all = append(all, Result{})
		return &all[len(all)-1]
	})
	return all, err
}

// saveImages writes the images of the lab that are in Docker into dir.
func saveImages(ctx context.Context, dir string) error {
	images, err := machine.Images(ctx, compose.Starts)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "saving the images of the lab")
	_, err = output(ctx, "docker", append([]string{"save", "--output", filepath.Join(dir, "images.tar")}, images...)...)
	return err
}

// output runs a command. Its error has what the command said.
func output(ctx context.Context, name string, args ...string) (string, error) {
	return machine.Output(ctx, nil, name, args...)
}
