package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"locklab/lab/burst"
)

// healthCommand asks an instance whether it is ready. Containers use it as their health check, because the image has no other program.
type healthCommand struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address of the instance, as for app serve."`
	Alive  bool   `env:"-" help:"Only check that the instance answers, even if it cannot reach its servers."`
}

// healthTimeout is longer than an instance waits for its own servers.
const healthTimeout = 4 * time.Second

// Run fails with exit code 69 and the reason if the instance is not ready.
func (c *healthCommand) Run(ctx context.Context, std streams) error {
	if err := validateAddress("--listen", c.Listen); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	target := burst.Target{URL: "http://" + localAddr(c.Listen)}
	if c.Alive {
		health, err := fetchHealth(ctx, target)
		if err != nil {
			return unavailable(err)
		}
		fmt.Fprintf(std.out, "instance %s is alive\n", health.Instance)
		return nil
	}
	ready, err := target.Ready(ctx)
	switch {
	case err != nil:
		return unavailable(explainNoAnswer(err))
	case !ready.Ready:
		return unavailable(fmt.Errorf("instance %s is not ready: %s", ready.Instance, ready.Missing()))
	}
	fmt.Fprintf(std.out, "instance %s is ready\n", ready.Instance)
	return nil
}

func fetchHealth(ctx context.Context, target burst.Target) (burst.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	h, err := target.Health(ctx)
	return h, explainNoAnswer(err)
}

// explainNoAnswer marks an error of the connection as an instance that did not answer.
func explainNoAnswer(err error) error {
	if silent := (*url.Error)(nil); errors.As(err, &silent) {
		return fmt.Errorf("no instance answers: %w", err)
	}
	return err
}
