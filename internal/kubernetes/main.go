// Command kubernetes starts a Kubernetes of three nodes on this machine for each topology of deploy/kubernetes, and sends load to the lab
// in it. It kills a node during a burst, judges, and writes docs/kubernetes.md. It needs Linux, root, Docker with the images of the lab,
// and programs of Debian, whose packages it names where they are missing. It needs control groups of version 1, which systemd
// mounts when the kernel's command line has systemd.unified_cgroup_hierarchy=0.
//
// What is NOT guaranteed: that a cluster of several machines behaves the same. The nodes share a kernel, two processors and a clock.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"locklab/internal/machine"
	"locklab/stack/compose"
)

const (
	page    = "docs/kubernetes.md"
	engine  = "deploy/kubernetes/engine"
	pause   = "locklab-pause:1"
	inside  = "inside" // first argument of the process that lives in the cluster's namespaces
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
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}

// run runs the topologies and the class, or those that are named, and writes the page when all of them are as expected.
func run(ctx context.Context, names []string) error {
	known, err := compose.Topologies(".")
	if err != nil {
		return err
	}
	known = append([]string{class}, known...)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no %q: take some of %s", name, strings.Join(known, ", "))
		}
	}
	if len(names) > 0 { // the page shows all of them
		_, err := runAll(ctx, names)
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
	text, err := pageOf(all, began, strings.TrimSpace(commit))
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// findings are what the page shows.
type findings struct {
	All   []Result
	Class Class
}

// runAll prepares what the clusters need, and runs one after the other.
func runAll(ctx context.Context, names []string) (all findings, err error) {
	before, err := machine.Look(kinds, kubeletSettings)
	if err := errors.Join(err, machine.Missing(programs)); err != nil {
		return all, err
	}
	bin, err := output(ctx, engine+"/build")
	if err != nil {
		return all, err
	}
	bin = strings.TrimSpace(bin)
	dir, err := os.MkdirTemp("", "locklab-kubernetes-")
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := saveImages(ctx, bin, dir); err != nil {
		return all, err
	}
	for _, name := range names {
		var found interface{ text() string } = &all.Class
		if name != class {
			all.All = append(all.All, Result{})
			found = &all.All[len(all.All)-1]
		}
		if err := isolated(ctx, bin, dir, name, before, found); err != nil {
			return all, fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprint(os.Stderr, found.text())
	}
	return all, nil
}

// programs that the cluster starts.
var programs = []machine.Program{
	{File: "etcd", Debian: "etcd-server"},
	{File: "containerd", Debian: "containerd"},
	{File: "runc", Debian: "runc"},
	{File: "/usr/lib/cni/bridge", Debian: "containernetworking-plugins"},
	{File: "conntrack", Debian: "conntrack"},
	{File: "ethtool", Debian: "ethtool"},
	{File: "socat", Debian: "socat"},
	{File: "iptables", Debian: "iptables"},
	{File: "docker", Debian: "docker.io"},
}

// saveImages writes the images of the lab that are in Docker, and that of a pod's sandbox, into dir.
func saveImages(ctx context.Context, bin, dir string) error {
	project, err := compose.Load(ctx, ".", "", "BACKENDS=1")
	if err != nil {
		return err
	}
	images := []string{pause}
	for name, service := range project.Files.Services {
		if name != "jmeter" && !slices.Contains(images, service.Image) {
			images = append(images, service.Image)
		}
	}
	program, err := os.ReadFile(filepath.Join(bin, "pause"))
	if err != nil {
		return err
	}
	folder := filepath.Join(dir, "pause")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "pause"), program, 0o755)); err != nil {
		return err
	}
	if _, err := output(ctx, "docker", "build", "--quiet", "--tag", pause, "--file", engine+"/pause/Dockerfile", folder); err != nil {
		return err
	}
	defer func() { _, _ = output(context.WithoutCancel(ctx), "docker", "rmi", pause) }()
	fmt.Fprintln(os.Stderr, "saving the images of the lab")
	_, err = output(ctx, "docker", append([]string{"save", "--output", filepath.Join(dir, "images.tar")}, images...)...)
	return err
}

// isolated runs one topology or the class in namespaces of its own, and checks that nothing of it is left on the machine. Its result is
// decoded into found.
func isolated(ctx context.Context, bin, dir, name string, before machine.State, found any) error {
	work := filepath.Join(dir, name)
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	ran := machine.Isolated(ctx, []string{"KUBERNETES_BIN=" + bin, "PATH=" + bin + ":" + os.Getenv("PATH")}, inside, work, name)
	if logs := os.Getenv("LAB_KEEP_LOGS"); ran != nil && logs != "" {
		_, _ = output(context.WithoutCancel(ctx), "sh", "-c", `mkdir -p "$1" && cd "$0" && cp --parents *.log */*.log "$1"`, work, logs)
	}
	// Whatever happened, the machine is as it was.
	_, cleaned := output(context.WithoutCancel(ctx), engine+"/cluster", "clean")
	restored := before.Restore()
	removed := os.RemoveAll(filepath.Join(work, "cluster"))
	if err := errors.Join(ran, cleaned, restored, removed, before.Unchanged()); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(work, results))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, found)
}

// output runs a command. Its error has what the command said.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var told io.Writer
	if name == engine+"/build" {
		told = os.Stderr // it takes minutes
	}
	return machine.Output(ctx, told, name, args...)
}
