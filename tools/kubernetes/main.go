// Command kubernetes starts a Kubernetes of three nodes on this machine for each topology of deploy/kubernetes, and sends load to the lab
// in it. It kills a node during a burst, judges, and writes the tables of docs/kubernetes.md. It needs Linux, root, Docker with the images
// of the lab, and programs of Debian, whose packages it names where they are missing. It needs control groups of version 1, which systemd
// mounts when the kernel's command line has systemd.unified_cgroup_hierarchy=0.
//
// What is NOT guaranteed: that a cluster of several machines behaves the same. The nodes share a kernel, two processors and a clock.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"locklab/internal/marked"
	"locklab/lab/servers/compose"
	"locklab/tools/machine"
)

const (
	page   = "docs/kubernetes.md"
	engine = "deploy/kubernetes/engine"
	pause  = "locklab-pause:1"
)

var cluster = machine.Cluster{
	Name: "kubernetes", Script: engine + "/cluster", Programs: programs, Kinds: kinds, Settings: kubeletSettings, Inside: runInside,
}

func main() { cluster.Main(run) }

// run runs the topologies and the class, or those that are named, and writes the tables of the page when all of them are as expected.
func run(ctx context.Context, names []string) error {
	known, err := compose.Topologies(".")
	if err != nil {
		return err
	}
	known = append([]string{class}, known...)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no %q: take some of %s; or clean", name, strings.Join(known, ", "))
		}
	}
	began := time.Now()
	commit, err := output(ctx, "git", "describe", "--always", "--dirty")
	if err != nil {
		return err
	}
	commit = strings.TrimSpace(commit)
	alone := slices.Equal(names, []string{class})
	if len(names) > 0 && !alone { // the page shows all of them
		_, err := runAll(ctx, names)
		return err
	}
	if alone {
		known = names
	}
	all, err := runAll(ctx, known)
	if err != nil {
		return err
	}
	if alone {
		return marked.Update(page, class, classTables(all.Class, began, commit))
	}
	return marked.UpdateAll(page, tablesOf(all, began, commit))
}

// findings are what the page shows.
type findings struct {
	All   []Result
	Class Class
}

// runAll runs the topologies and the class, one after the other.
func runAll(ctx context.Context, names []string) (all findings, err error) {
	prepare := func(dir string) ([]string, error) {
		images, err := machine.Images(ctx, func(s types.ServiceConfig) bool { return s.Name != "jmeter" })
		if err != nil {
			return nil, err
		}
		bin, err := output(ctx, engine+"/build")
		bin = strings.TrimSpace(bin)
		if err == nil {
			err = saveImages(ctx, bin, dir, images)
		}
		return []string{"KUBERNETES_BIN=" + bin, "PATH=" + bin + ":" + os.Getenv("PATH")}, err
	}
	all.All = make([]Result, 0, len(names)) // or a result would move
	err = cluster.Run(ctx, names, prepare, func(name string) fmt.Stringer {
		if name == class {
			return &all.Class
		}
		all.All = append(all.All, Result{})
		return &all.All[len(all.All)-1]
	})
	return all, err
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
	{File: "ip", Debian: "iproute2"},
	{File: "ps", Debian: "procps"},
	{File: "openssl", Debian: "openssl"},
}

// saveImages writes the images, and that of a pod's sandbox, into dir.
func saveImages(ctx context.Context, bin, dir string, images []string) error {
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
	_, err = output(ctx, "docker", append([]string{"save", "--output", filepath.Join(dir, "images.tar"), pause}, images...)...)
	return err
}

// output runs a command. Its error has what the command said.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var told io.Writer
	if name == engine+"/build" {
		told = os.Stderr // it takes minutes
	}
	return machine.Output(ctx, told, name, args...)
}
