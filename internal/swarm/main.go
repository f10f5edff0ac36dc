// Command swarm starts a Swarm of two Docker engines on this machine for each topology of deploy/swarm, and sends load to the lab in it. It
// kills an engine during a burst, judges, and writes a part of deploy/swarm/README.md. It needs Linux, root, and Docker with the images
// of the lab. It needs control groups of version 1, which systemd mounts when the kernel's command line has
// systemd.unified_cgroup_hierarchy=0.
//
// What is NOT guaranteed: that a Swarm of several machines behaves the same. The engines share a kernel, two processors and a clock.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"locklab/internal/machine"
	"locklab/internal/marked"
	"locklab/stack/compose"
)

const (
	page    = "deploy/swarm/README.md"
	engines = "deploy/swarm/engines"
	inside  = "inside" // first argument of the process that lives in the engines' namespaces
	results = "results.json"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 3 && os.Args[1] == inside {
		err = runInside(ctx, os.Args[2], os.Args[3])
	} else {
		err = run(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "swarm:", err)
		os.Exit(1)
	}
}

// run runs the topologies, or all, and writes the page when all of them are as expected.
func run(ctx context.Context, topologies []string) error {
	known, err := compose.Topologies(".")
	if err != nil {
		return err
	}
	for _, topology := range topologies {
		if !slices.Contains(known, topology) {
			return fmt.Errorf("there is no topology %q: take some of %s", topology, strings.Join(known, ", "))
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
	return marked.Update(page, "swarm", block(all, began, strings.TrimSpace(commit)))
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

// runAll saves the images that the engines need, and runs one topology after the other.
func runAll(ctx context.Context, topologies []string) (all []Result, err error) {
	if err := machine.Missing(programs); err != nil {
		return nil, err
	}
	before, err := machine.Look(kinds, kernelSettings)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := saveImages(ctx, dir); err != nil {
		return nil, err
	}
	for _, topology := range topologies {
		result, err := isolated(ctx, dir, topology, before)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", topology, err)
		}
		all = append(all, result)
		fmt.Fprint(os.Stderr, result.text())
	}
	return all, nil
}

// saveImages writes the images of the lab that are in Docker into dir.
func saveImages(ctx context.Context, dir string) error {
	project, err := compose.Load(ctx, ".", "", "BACKENDS=1")
	if err != nil {
		return err
	}
	var images []string
	for _, service := range project.Files.Services {
		if compose.Starts(service) && !slices.Contains(images, service.Image) {
			images = append(images, service.Image)
		}
	}
	fmt.Fprintln(os.Stderr, "saving the images of the lab")
	_, err = output(ctx, "docker", append([]string{"save", "--output", filepath.Join(dir, "images.tar")}, images...)...)
	return err
}

// isolated runs one topology in namespaces of its own, which end with it, and checks that nothing of it is left on the machine.
func isolated(ctx context.Context, dir, topology string, before machine.State) (r Result, err error) {
	work := filepath.Join(dir, topology)
	if err := os.MkdirAll(work, 0o755); err != nil {
		return r, err
	}
	ran := machine.Isolated(ctx, nil, inside, work, topology)
	if logs := os.Getenv("LAB_KEEP_LOGS"); ran != nil && logs != "" {
		_, _ = output(context.WithoutCancel(ctx), "sh", "-c", `mkdir -p "$1" && cp "$0"/*/*.log "$1"`, work, logs)
	}
	// Whatever happened, the machine is as it was.
	_, cleaned := output(context.WithoutCancel(ctx), engines, "clean")
	restored := before.Restore()
	removed := os.RemoveAll(filepath.Join(work, "swarm"))
	if err := errors.Join(ran, cleaned, restored, removed, before.Unchanged()); err != nil {
		return r, err
	}
	text, err := os.ReadFile(filepath.Join(work, results))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// output runs a command. Its error has what the command said.
func output(ctx context.Context, name string, args ...string) (string, error) {
	return machine.Output(ctx, nil, name, args...)
}
