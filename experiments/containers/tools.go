package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
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
	Name  string
	Takes time.Duration // about, for a burst
	Fire  func(ctx context.Context, shot Shot) (loadtool.Record, error)
}

// Ours is the load of the demo: every connection is open before the first request is sent.
func Ours() Tool {
	return Tool{"ours", time.Second, func(ctx context.Context, shot Shot) (loadtool.Record, error) {
		if shot.Kind == loadtool.Order {
			burst, err := burst.RunGrabs(ctx, shot.Target, shot.Version, shot.Users, "", burst.Simultaneous)
			return loadtool.OfOrder("ours", &burst, loadtool.Times{Max: burst.Took}), err
		}
		burst, err := burst.RunViews(ctx, shot.Target, shot.Version, shot.Users, burst.Simultaneous)
		return loadtool.OfPageview("ours", &burst, loadtool.Times{Max: burst.Took}), err
	}}
}

// K6 runs the scripts of loadtest/k6 in a checkout.
func K6(checkout string) Tool {
	return external(loadtool.K6, 3*time.Second, checkout, func(shot Shot) (arguments, variables []string) {
		return nil, []string{"K6_WEB_DASHBOARD=false", "VERSION=" + shot.Version, fmt.Sprintf("USERS=%d", shot.Users)}
	})
}

// JMeter runs the plans of loadtest/jmeter in a checkout.
func JMeter(checkout string) Tool {
	return external(loadtool.JMeter, 8*time.Second, checkout, func(shot Shot) (arguments, variables []string) {
		return []string{"-Jversion=" + shot.Version, fmt.Sprintf("-Jusers=%d", shot.Users)}, nil
	})
}

// external is a program that leaves a file.
func external(
	tool loadtool.Tool, takes time.Duration, checkout string, settings func(Shot) (arguments, variables []string),
) Tool {
	return Tool{tool.Name, takes, func(ctx context.Context, shot Shot) (loadtool.Record, error) {
		dir, err := os.MkdirTemp("", "locklab-load-")
		if err != nil {
			return loadtool.Record{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		b := loadtool.Burst{
			Checkout: checkout, Kind: shot.Kind, File: filepath.Join(dir, "run"),
			URL: shot.Target.URL, AdminToken: shot.Target.AdminToken,
		}
		b.Arguments, b.Variables = settings(shot)
		var output bytes.Buffer
		record, err := tool.Run(ctx, b, &output)
		if err != nil && ctx.Err() == nil {
			text := strings.TrimSpace(output.String())
			err = errors.Join(err, errors.New(text[strings.LastIndex(text, "\n")+1:]))
		}
		return record, err
	}}
}
