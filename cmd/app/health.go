package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"locklab/experiments/burst"
)

// healthCommand asks an instance whether it is ready: the image has no other program that could.
type healthCommand struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where the instance listens, as for app serve (${default})."`
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
		host = "127.0.0.1" // who listens everywhere listens there
	}
	ready, err := askReady(ctx, "http://"+net.JoinHostPort(host, port))
	switch {
	case err != nil:
		return unavailable(err)
	case !ready.Ready:
		return unavailable(fmt.Errorf("instance %s is not ready: %s", ready.Instance, ready.missing()))
	}
	fmt.Fprintf(std.out, "instance %s is ready\n", ready.Instance)
	return nil
}

// readiness is the answer of /readyz.
type readiness struct {
	Instance    string
	Ready       bool
	Unreachable map[string]string // server → why
}

func askReady(ctx context.Context, base string) (readiness, error) {
	var ready readiness
	err := getJSON(ctx, base+"/readyz", &ready)
	if err == nil && ready.Instance == "" {
		err = fmt.Errorf("what listens at %s is no instance of ours", base)
	}
	return ready, err
}

// askHealth asks an instance what it is.
func askHealth(ctx context.Context, base string) (burst.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	h, err := burst.Target{URL: base}.Health(ctx)
	if err != nil {
		err = fmt.Errorf("no instance answers: %w", err)
	}
	return h, err
}

// getJSON asks an instance; its refusals are JSON too.
func getJSON(ctx context.Context, url string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no instance answers: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if json.Unmarshal(body, answer) != nil {
		return fmt.Errorf("%s is no instance of ours: it answers %s: %.80q", url, response.Status, body)
	}
	return nil
}

// missing names the servers that do not answer, and why.
func (r readiness) missing() string {
	var all []string
	for server, why := range r.Unreachable {
		all = append(all, server+": "+why)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
