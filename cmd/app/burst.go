package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/progress"
	"locklab/report/terminal"
	"locklab/stack/compose"
	"locklab/versions"
)

// burstFlags are the flags that app demo and app burst share: what to send.
type burstFlags struct {
	Users    int      `default:"666" placeholder:"N" help:"Number of simultaneous page views. Must be even."`
	Drivers  int      `default:"20" placeholder:"N" help:"Number of drivers who grab the same order at once. Must be even."`
	Rounds   int      `default:"1" placeholder:"N" help:"Number of rounds. Each round sends every burst once."`
	Versions []string `default:"${versions}" enum:"${allVersions},all" placeholder:"vN" help:"Versions to send requests to, or all for every version that can run."`
	JSON     bool     `name:"json" help:"Print the results as JSON."`
}

func (b *burstFlags) validate() error {
	plan := b.plan()
	if slices.Contains(b.Versions, allVersions) {
		if len(b.Versions) > 1 {
			return usageErrorf("--versions has all and other versions; use all alone, or omit it")
		}
		plan.Versions = versions.Names()
	}
	if err := plan.Validate(); err != nil {
		return usageErrorf("--%w", err) // the error starts with the name of the field, which is the name of its flag
	}
	return nil
}

// allVersions is the value of --versions that selects every version that can run.
const allVersions = "all"

// choose replaces "all" by the versions that can run, and returns a sentence for each version that it leaves out. check returns why a
// version cannot run. It is an error if a version that the user named cannot run, or if any cannot and LAB_REQUIRE=all is set.
func (b *burstFlags) choose(check func(versions.Version) error) (leftOut []string, err error) {
	all := slices.Equal(b.Versions, []string{allVersions})
	if all {
		b.Versions = versions.Names()
	}
	for _, name := range slices.Clone(b.Versions) {
		v, _ := versions.Find(name)
		reason := check(v)
		switch {
		case reason == nil:
			continue
		case !all:
			return nil, unavailable(fmt.Errorf("--versions: %s cannot run: %w", name, reason))
		case os.Getenv("LAB_REQUIRE") == "all":
			return nil, unavailable(fmt.Errorf("LAB_REQUIRE=all requires every version, but %s cannot run: %w", name, reason))
		}
		leftOut = append(leftOut, fmt.Sprintf("%s (%s) is left out: %s", name, v.Title, reason))
		b.Versions = slices.DeleteFunc(b.Versions, func(chosen string) bool { return chosen == name })
	}
	return leftOut, nil
}

func (b *burstFlags) plan() burst.Plan {
	return burst.Plan{Users: b.Users, Drivers: b.Drivers, Rounds: b.Rounds, Versions: b.Versions}
}

// finish prints the results, followed by next unless the output is JSON. Then it calls keep and returns the error of the verdict.
func (b *burstFlags) finish(result *burst.Results, std streams, next string, keep func()) error {
	if err := printResult(std, b.JSON, result, terminal.Bursts); err != nil {
		return err
	}
	if !b.JSON {
		fmt.Fprint(std.out, next)
	}
	keep()
	return verdictError(result.Verdict, result.Reasons())
}

// validateInstances checks that each instance gets at least one page view and one driver.
func (b *burstFlags) validateInstances(instances int) error {
	if err := validateRange("--instances", instances, 2, 32); err != nil {
		return err
	}
	if instances > b.Drivers || instances > b.Users {
		return usageErrorf("--instances is %d; must not exceed --users (%d) or --drivers (%d), so that each instance gets one of both",
			instances, b.Users, b.Drivers)
	}
	return nil
}

// burstCommand sends bursts to instances that are already running, such as those of docker-compose.yml.
type burstCommand struct {
	burstFlags
	URL        string `arg:"" optional:"" help:"URL of the load balancer in front of the instances (default: nginx as set in .env, or http://127.0.0.1:8000)."`
	Instances  int    `default:"2" placeholder:"N" help:"Number of instances behind the balancer, from 2 to 32. Each needs a unique name."`
	ByChance   bool   `help:"Accept a balancer that picks an instance at random per connection, as a Kubernetes Service does: at least two instances must answer, in any proportion."`
	AdminToken string `placeholder:"SECRET" help:"Token that the instances require to reset the counter (default: as set in .env, or none)."`
}

const burstNext = `Next:    TOPOLOGY=cluster docker compose up -d --wait    switch to another Redis, then repeat
         docker compose down                             remove everything
`

// Run sends the bursts to each version, and prints and judges the results.
func (c *burstCommand) Run(ctx context.Context, std streams) error {
	if err := cmp.Or(c.validate(), c.validateInstances(c.Instances)); err != nil {
		return err
	}
	if err := c.applyComposeDefaults(ctx); err != nil {
		return err
	}
	base, err := baseURL("the URL", c.URL)
	if err != nil {
		return err
	}
	began, tell, target := time.Now(), progress.New(std.err), burst.Target{URL: base, AdminToken: c.AdminToken, ByChance: c.ByChance}
	health, err := fetchHealth(ctx, target)
	if err != nil {
		return commandError(ctx, fmt.Errorf("%w; "+statusHint, err), "nothing was judged")
	}
	leftOut, err := c.choose(health.Lacks)
	if err != nil {
		return err
	}
	plan := c.plan()
	plan.Instances = c.Instances
	result, err := plan.Run(ctx, target, terminal.TellBursts(tell))
	tell.Done()
	if refused := (*burst.StatusError)(nil); errors.As(err, &refused) && refused.Code == http.StatusUnauthorized {
		return usageErrorf("%w: --admin-token is missing or wrong", err)
	}
	if err := commandError(ctx, err, "nothing was judged"); err != nil {
		return err
	}
	result.Topology, result.LeftOut, result.TookMS = health.Topology, leftOut, time.Since(began).Milliseconds()
	return c.finish(result, std, burstNext, func() {})
}

// baseURL checks the URL of a balancer and removes the slash that a browser appends. setting names the URL in an error.
func baseURL(setting, given string) (base string, err error) {
	base = strings.TrimSuffix(given, "/")
	if target, err := url.Parse(base); err != nil || base != "http://"+target.Host || validateAddress("URL", target.Host) != nil {
		return "", usageErrorf("%s is %q; must be http://host:port, without a path", setting, given)
	}
	return base, nil
}

// applyComposeDefaults sets the URL and the token, if they are missing, to those of the compose files.
func (c *burstCommand) applyComposeDefaults(ctx context.Context) error {
	lab, err := composeTarget(ctx, ".")
	if err != nil && c.URL == "" {
		return usageErrorf("%w; or give the URL", err)
	}
	c.URL, c.AdminToken = cmp.Or(c.URL, lab.URL), cmp.Or(c.AdminToken, lab.AdminToken)
	return nil
}

// composeTarget returns the address of nginx and the admin token that the compose files in dir set, or the default address without such
// files. Files that cannot be read are an error: several labs may share this machine, and the default may be another one.
func composeTarget(ctx context.Context, dir string) (burst.Target, error) {
	if _, err := compose.Topologies(dir); err != nil {
		return burst.Target{URL: "http://127.0.0.1:8000"}, nil
	}
	project, err := compose.Load(ctx, dir, "")
	if err != nil {
		return burst.Target{}, err
	}
	return burst.Target{URL: "http://" + project.Published("nginx"), AdminToken: project.Variable("ADMIN_TOKEN")}, nil
}
