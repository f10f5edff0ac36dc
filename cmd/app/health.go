package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"locklab/experiments/burst"
)

// healthCommand asks an instance whether it is ready: the image has no other program that could.
type healthCommand struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address of the instance, as for app serve."`
}

// healthWithin is longer than an instance waits for its servers.
const healthWithin = 4 * time.Second

// Run says what is not ready, and ends with 69 then.
func (c *healthCommand) Run(ctx context.Context, std streams) error {
	if err := address("--listen", c.Listen); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	host, port, _ := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // an instance that listens on all addresses listens on this one
	}
	ready, err := burst.Target{URL: "http://" + net.JoinHostPort(host, port)}.Ready(ctx)
	switch {
	case err != nil:
		return unavailable(noInstance(err))
	case !ready.Ready:
		return unavailable(fmt.Errorf("instance %s is not ready: %s", ready.Instance, ready.Missing()))
	}
	fmt.Fprintf(std.out, "instance %s is ready\n", ready.Instance)
	return nil
}

func askHealth(ctx context.Context, target burst.Target) (burst.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	h, err := target.Health(ctx)
	return h, noInstance(err)
}

// noInstance says of an error that there was no answer, where that is so.
func noInstance(err error) error {
	if silent := (*url.Error)(nil); errors.As(err, &silent) {
		return fmt.Errorf("no instance answers: %w", err)
	}
	return err
}
