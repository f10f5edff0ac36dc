package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"locklab/experiments/burst"
	"locklab/stack/compose"
)

// burstCommand holds the settings of bursts at instances that run already, such as those of
// docker-compose.yml.
type burstCommand struct {
	bursts
	URL        string `arg:"" optional:"" help:"Where the balancer before the two instances listens (default: nginx as .env has it, or http://127.0.0.1:8000)."`
	AdminToken string `placeholder:"SECRET" help:"What the instances ask for before they reset the counter (default: as .env has it, or none)."`
}

const burstNext = `Next:    REDIS_TOPOLOGY=cluster docker compose up -d --wait --remove-orphans    another Redis; then this again
         docker compose down --remove-orphans                                   take everything down
`

// Run lets the bursts loose, version by version, and prints what was left.
func (c *burstCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	c.fromFiles(ctx)
	base := strings.TrimSuffix(c.URL, "/") // a browser adds it
	if target, err := url.Parse(base); err != nil || base != "http://"+target.Host || address("URL", target.Host) != nil {
		return misuse("the URL is %q; it must be http://host:port, and no more", c.URL)
	}
	c.URL = base
	began, tell := time.Now(), newProgress(std.err)
	health, err := askHealth(ctx, c.URL)
	if err != nil {
		return unavailable(fmt.Errorf("%w; app status says what runs", err))
	}
	result := &burstsResult{URL: c.URL, Topology: health.Topology, next: burstNext}
	err = c.play(ctx, burst.Target{URL: c.URL, AdminToken: c.AdminToken}, result, tell)
	result.TookMS = time.Since(began).Milliseconds()
	tell.done()
	var refused *burst.StatusError
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("interrupted: nothing is judged")}
	case errors.As(err, &refused) && refused.Code == http.StatusUnauthorized:
		return misuse("%w: --admin-token is missing or wrong", err)
	case err != nil:
		return unavailable(err)
	}
	if err := c.print(result, std); err != nil {
		return err
	}
	return result.exit()
}

// fromFiles takes what is not given from the compose files, where there are some.
func (c *burstCommand) fromFiles(ctx context.Context) {
	project, err := compose.Load(ctx, ".", "")
	if c.URL == "" {
		c.URL = "http://127.0.0.1:8000"
		if err == nil {
			c.URL = "http://" + project.Published("nginx")
		}
	}
	if c.AdminToken == "" && err == nil {
		c.AdminToken = project.Variable("ADMIN_TOKEN")
	}
}
