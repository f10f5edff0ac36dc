// Command kubernetes starts a Kubernetes of three nodes on this machine for each topology of deploy/kubernetes, and sends load to the lab
// in it. It kills a node during a burst, judges, and writes docs/kubernetes.md. It needs Linux, root, Docker with the images of the lab,
// and Debian's packages etcd-server, containerd, runc, containernetworking-plugins, conntrack, ethtool, socat and iptables. It
// needs control groups of version 1, which systemd mounts when the kernel's command line has systemd.unified_cgroup_hierarchy=0.
//
// What is NOT guaranteed: that a cluster of several machines behaves the same. The nodes share a kernel, two processors and a clock.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

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
	text, err := pageOf(all, began, strings.TrimSpace(commit))
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// runAll prepares what the clusters need, and runs one after the other.
func runAll(ctx context.Context, topologies []string) (all []Result, err error) {
	before, err := machine()
	if err != nil {
		return nil, err
	}
	bin, err := output(ctx, engine+"/build")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "locklab-kubernetes-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := saveImages(ctx, strings.TrimSpace(bin), dir); err != nil {
		return nil, err
	}
	for _, topology := range topologies {
		result, err := isolated(ctx, strings.TrimSpace(bin), dir, topology, before)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", topology, err)
		}
		all = append(all, result)
		fmt.Fprint(os.Stderr, result.text())
	}
	return all, nil
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

// isolated runs one topology in namespaces of its own, which end with it, and checks that nothing of it is left on the machine.
func isolated(ctx context.Context, bin, dir, topology string, before state) (r Result, err error) {
	work := filepath.Join(dir, topology)
	if err := os.MkdirAll(work, 0o755); err != nil {
		return r, err
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	// The shell is the first process, which reaps those that containerd leaves to it.
	args := []string{
		"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"bash", "-c", `"$@"; exit $?`, "bash", self, inside, work, topology,
	}
	cmd := exec.CommandContext(ctx, "unshare", args...)
	cmd.Env = append(os.Environ(), "KUBERNETES_BIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	ran := cmd.Run()
	if logs := os.Getenv("LAB_KEEP_LOGS"); ran != nil && logs != "" {
		_, _ = output(context.WithoutCancel(ctx), "sh", "-c", `mkdir -p "$1" && cd "$0" && cp --parents *.log */*.log "$1"`, work, logs)
	}
	// Whatever happened, the machine is as it was.
	_, cleaned := output(context.WithoutCancel(ctx), engine+"/cluster", "clean")
	restored := before.restore()
	removed := os.RemoveAll(filepath.Join(work, "cluster"))
	if err := errors.Join(ran, cleaned, restored, removed, before.unchanged()); err != nil {
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
	cmd := exec.CommandContext(ctx, name, args...)
	var said strings.Builder
	cmd.Stderr = &said
	if name == engine+"/build" {
		cmd.Stderr = os.Stderr // it takes minutes
	}
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, said.String())
	}
	return string(out), nil
}
