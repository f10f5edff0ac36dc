package loadtool

import (
	"bytes"
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
)

// Shot is one burst that a tool is to fire.
type Shot struct {
	Kind    Kind
	Version string // as in the URL
	Users   int    // requests at once: views, or drivers
	Target  burst.Target
}

// Tool fires a burst and returns what it saw. An error means that there is no record.
type Tool struct {
	Name string
	Fire func(ctx context.Context, shot Shot) (Record, error)
}

// Ours is the load of the demo: every connection is open before the first request is sent.
func Ours() Tool {
	return Tool{"ours", func(ctx context.Context, shot Shot) (Record, error) {
		r := Record{Tool: "ours"}
		if shot.Kind == Order {
			burst, err := burst.RunGrabs(ctx, shot.Target, shot.Version, shot.Users, burst.Simultaneous)
			r.Order, r.Time.Max = &burst, burst.Took
			return r, err
		}
		burst, err := burst.RunViews(ctx, shot.Target, shot.Version, shot.Users, burst.Simultaneous)
		r.Pageview, r.Time.Max = &burst, burst.Took
		return r, err
	}}
}

// K6 runs the scripts of loadtest/k6 in the checkout dir.
func K6(dir string) Tool {
	return external("k6", ".json", func(ctx context.Context, shot Shot, file string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "k6", "run", "--quiet", filepath.Join(dir, "loadtest", "k6", string(shot.Kind)+".js"))
		cmd.Env = append(os.Environ(), "K6_NO_USAGE_REPORT=true", "K6_WEB_DASHBOARD=false",
			"BASE_URL="+shot.Target.URL, "VERSION="+shot.Version, fmt.Sprintf("USERS=%d", shot.Users),
			"ADMIN_TOKEN="+shot.Target.AdminToken, "SUMMARY="+file)
		return cmd
	})
}

// JMeter runs the plans of loadtest/jmeter in the checkout dir.
func JMeter(dir string) Tool {
	return external("JMeter", ".jtl", func(ctx context.Context, shot Shot, file string) *exec.Cmd {
		host, port, _ := strings.Cut(strings.TrimPrefix(shot.Target.URL, "http://"), ":")
		plans := filepath.Join(dir, "loadtest", "jmeter")
		return exec.CommandContext(ctx, filepath.Join(plans, "jmeter"), "-n", "-f",
			"-t", filepath.Join(plans, string(shot.Kind)+".jmx"), "-l", file, "-j", file+".log",
			"-Jhost="+host, "-Jport="+port, "-Jversion="+shot.Version, fmt.Sprintf("-Jusers=%d", shot.Users),
			"-Jtoken="+shot.Target.AdminToken)
	})
}

// external is a tool that is a program of its own and leaves a file.
func external(name, extension string, command func(ctx context.Context, shot Shot, file string) *exec.Cmd) Tool {
	return Tool{name, func(ctx context.Context, shot Shot) (Record, error) {
		dir, err := os.MkdirTemp("", "locklab-"+strings.ToLower(name)+"-")
		if err != nil {
			return Record{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file := filepath.Join(dir, "run"+extension)
		cmd := command(ctx, shot, file)
		cmd.WaitDelay = 5 * time.Second
		said, failed := cmd.CombinedOutput()
		if errors.Is(failed, exec.ErrNotFound) {
			return Record{}, fmt.Errorf("%s is not on this machine; app doctor says how to get it", name)
		}
		if ctx.Err() != nil {
			return Record{}, ctx.Err()
		}
		// What its exit status says of the thresholds the file says, too.
		record, err := Read(file)
		if err != nil {
			return Record{}, errors.Join(fmt.Errorf("%s: %w", name, cmp.Or(failed, err)), errors.New(lastLine(said)))
		}
		return record, nil
	}}
}

func lastLine(said []byte) string {
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	return string(lines[len(lines)-1])
}
