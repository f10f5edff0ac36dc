package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"locklab/experiments/burst"
	"locklab/experiments/loadtool"
)

// Shot is one burst that a tool is to send.
type Shot struct {
	Kind    loadtool.Kind
	Version string // as in the URL
	Users   int    // simultaneous requests: views, or drivers
	Target  burst.Target
}

// Tool sends a burst and returns what it saw. An error means that there is no record.
type Tool struct {
	Name string
	Fire func(ctx context.Context, shot Shot) (loadtool.Record, error)
}

// Ours is the load of the demo: every connection is open before the first request is sent.
func Ours() Tool {
	return Tool{"ours", func(ctx context.Context, shot Shot) (loadtool.Record, error) {
		if shot.Kind == loadtool.Order {
			burst, err := burst.RunGrabs(ctx, shot.Target, shot.Version, shot.Users, "", burst.Simultaneous)
			return loadtool.OfOrder("ours", &burst, loadtool.Times{Max: burst.Took}), err
		}
		burst, err := burst.RunViews(ctx, shot.Target, shot.Version, shot.Users, burst.Simultaneous)
		return loadtool.OfPageview("ours", &burst, loadtool.Times{Max: burst.Took}), err
	}}
}

// K6 runs the scripts of loadtest/k6 in the checkout dir.
func K6(dir string) Tool {
	return external("k6", func(ctx context.Context, shot Shot, file string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "k6", "run", "--quiet", filepath.Join(dir, "loadtest", "k6", string(shot.Kind)+".js"))
		cmd.Env = append(os.Environ(), "K6_NO_USAGE_REPORT=true", "K6_WEB_DASHBOARD=false",
			"BASE_URL="+shot.Target.URL, "VERSION="+shot.Version, fmt.Sprintf("USERS=%d", shot.Users),
			"ADMIN_TOKEN="+shot.Target.AdminToken, "SUMMARY="+file)
		return cmd
	})
}

// JMeter runs the plans of loadtest/jmeter in the checkout dir.
func JMeter(dir string) Tool {
	return external("JMeter", func(ctx context.Context, shot Shot, file string) *exec.Cmd {
		host, port, _ := strings.Cut(strings.TrimPrefix(shot.Target.URL, "http://"), ":")
		plans := filepath.Join(dir, "loadtest", "jmeter")
		return exec.CommandContext(ctx, filepath.Join(plans, "jmeter"), "-n", "-f",
			"-t", filepath.Join(plans, string(shot.Kind)+".jmx"), "-l", file, "-j", file+".log",
			"-Jhost="+host, "-Jport="+port, "-Jversion="+shot.Version, fmt.Sprintf("-Jusers=%d", shot.Users),
			"-Jtoken="+shot.Target.AdminToken)
	})
}

// external is a program that leaves a file.
func external(name string, command func(ctx context.Context, shot Shot, file string) *exec.Cmd) Tool {
	return Tool{name, func(ctx context.Context, shot Shot) (loadtool.Record, error) {
		dir, err := os.MkdirTemp("", "locklab-load-")
		if err != nil {
			return loadtool.Record{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file := filepath.Join(dir, "run")
		cmd := command(ctx, shot, file)
		cmd.WaitDelay = 5 * time.Second
		output, failed := cmd.CombinedOutput()
		if errors.Is(failed, exec.ErrNotFound) {
			return loadtool.Record{}, fmt.Errorf("%s is not on this machine; app doctor says how to get it", name)
		}
		if ctx.Err() != nil {
			return loadtool.Record{}, ctx.Err()
		}
		// The file also says what the exit status says of thresholds.
		record, err := loadtool.Read(file)
		if err != nil {
			text := strings.TrimSpace(string(output))
			last := text[strings.LastIndex(text, "\n")+1:]
			return loadtool.Record{}, errors.Join(fmt.Errorf("%s: %w", name, cmp.Or(failed, err)), errors.New(last))
		}
		return record, nil
	}}
}
