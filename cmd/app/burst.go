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

// bursts are the flags of what the demo and app burst send.
type bursts struct {
	Users    int      `default:"666" placeholder:"N" help:"Number of simultaneous page views; even, so that each instance gets half."`
	Drivers  int      `default:"20" placeholder:"N" help:"Number of drivers who want the same order; even."`
	Rounds   int      `default:"1" placeholder:"N" help:"Number of repetitions of all bursts."`
	Versions []string `default:"${versions}" enum:"${allVersions},all" placeholder:"vN" help:"Versions to send requests to; all: each that can run."`
	JSON     bool     `name:"json" help:"Print the results as JSON, for programs."`
}

func (b *bursts) validate() error {
	plan := b.plan()
	if slices.Contains(b.Versions, allVersions) {
		if len(b.Versions) > 1 {
			return misuse("--versions names all and others; name either")
		}
		plan.Versions = versions.Names()
	}
	if err := plan.Validate(); err != nil {
		return misuse("--%w", err) // a field is named as its flag
	}
	return nil
}

// allVersions is what --versions has for each version that can run.
const allVersions = "all"

// choose replaces "all" by the versions that can run. why says why one cannot, which is nil for one that can. It returns a sentence for
// each version that is left out. A version that was named, and LAB_REQUIRE=all, make that an error.
func (b *bursts) choose(why func(versions.Version) error) (leftOut []string, err error) {
	all := slices.Equal(b.Versions, []string{allVersions})
	if all {
		b.Versions = versions.Names()
	}
	for _, name := range slices.Clone(b.Versions) {
		v, _ := versions.Find(name)
		reason := why(v)
		switch {
		case reason == nil:
			continue
		case !all:
			return nil, unavailable(fmt.Errorf("--versions names %s, which cannot run: %w", name, reason))
		case os.Getenv("LAB_REQUIRE") == "all":
			return nil, unavailable(fmt.Errorf("%s cannot run, and LAB_REQUIRE=all requires every version: %w", name, reason))
		}
		leftOut = append(leftOut, fmt.Sprintf("%s (%s) is left out: %s", name, v.Title, reason))
		b.Versions = slices.DeleteFunc(b.Versions, func(chosen string) bool { return chosen == name })
	}
	return leftOut, nil
}

func (b *bursts) plan() burst.Plan {
	return burst.Plan{Users: b.Users, Drivers: b.Drivers, Rounds: b.Rounds, Versions: b.Versions}
}

// finish prints the results, and for people what to try next. Then it calls keep, and returns what the verdict makes of the exit status.
func (b *bursts) finish(result *burst.Results, std streams, next string, keep func()) error {
	if err := printed(std, b.JSON, result, terminal.Bursts); err != nil {
		return err
	}
	if !b.JSON {
		fmt.Fprint(std.out, next)
	}
	keep()
	return verdictExit(result.Verdict, result.Reasons())
}

// eachGetsOne checks the number of instances: each must get one of the page views and one of the drivers.
func (b *bursts) eachGetsOne(instances int) error {
	if err := within("--instances", instances, 2, 32); err != nil {
		return err
	}
	if instances > b.Drivers || instances > b.Users {
		return misuse("--instances is %d, with --users %d and --drivers %d; each instance must get one of both", instances, b.Users, b.Drivers)
	}
	return nil
}

// burstCommand sends bursts to instances that run already, such as those of docker-compose.yml.
type burstCommand struct {
	bursts
	URL        string `arg:"" optional:"" help:"Address of the balancer before the instances (default: nginx as .env has it, or http://127.0.0.1:8000)."`
	Instances  int    `default:"2" placeholder:"N" help:"Number of instances behind the balancer, from 2 to 32. Each must have a name of its own."`
	ByChance   bool   `help:"The balancer chooses an instance by chance for each connection, as a Service of Kubernetes does: two must answer, and their parts may differ."`
	AdminToken string `placeholder:"SECRET" help:"Token that the instances require for a reset of the counter (default: as .env has it, or none)."`
}

const burstNext = `Next:    REDIS_TOPOLOGY=cluster docker compose up -d --wait --remove-orphans    another Redis; then this again
         docker compose down --remove-orphans                                   take everything down
`

// Run sends the bursts, version by version, and prints what was left.
func (c *burstCommand) Run(ctx context.Context, std streams) error {
	if err := cmp.Or(c.validate(), c.eachGetsOne(c.Instances)); err != nil {
		return err
	}
	if err := c.fromFiles(ctx); err != nil {
		return err
	}
	base, err := baseURL("the URL", c.URL)
	if err != nil {
		return err
	}
	began, tell, target := time.Now(), progress.New(std.err), burst.Target{URL: base, AdminToken: c.AdminToken, ByChance: c.ByChance}
	health, err := askHealth(ctx, target)
	if err != nil {
		return stopped(ctx, fmt.Errorf("%w; app status says what runs", err), "nothing is judged")
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
		return misuse("%w: --admin-token is missing or wrong", err)
	}
	if err := stopped(ctx, err, "nothing is judged"); err != nil {
		return err
	}
	result.Topology, result.LeftOut, result.TookMS = health.Topology, leftOut, time.Since(began).Milliseconds()
	return c.finish(result, std, burstNext, func() {})
}

// baseURL checks the address of a balancer, and takes the slash from it that a browser adds.
func baseURL(what, given string) (base string, err error) {
	base = strings.TrimSuffix(given, "/")
	if target, err := url.Parse(base); err != nil || base != "http://"+target.Host || address("URL", target.Host) != nil {
		return "", misuse("%s is %q; it must be http://host:port, and no more", what, given)
	}
	return base, nil
}

// fromFiles takes what is not given from the compose files, where there are some.
func (c *burstCommand) fromFiles(ctx context.Context) error {
	near, err := nearby(ctx, ".")
	if err != nil && c.URL == "" {
		return misuse("%w; or name the URL", err)
	}
	c.URL, c.AdminToken = cmp.Or(c.URL, near.URL), cmp.Or(c.AdminToken, near.AdminToken)
	return nil
}

// nearby is the lab of the compose files in dir: nginx on this machine, and the token. Several labs may share this machine, so files that
// cannot be read are an error. Without such files it is the lab of the default settings.
func nearby(ctx context.Context, dir string) (burst.Target, error) {
	if _, err := compose.Topologies(dir); err != nil {
		return burst.Target{URL: "http://127.0.0.1:8000"}, nil
	}
	project, err := compose.Load(ctx, dir, "")
	if err != nil {
		return burst.Target{}, err
	}
	return burst.Target{URL: "http://" + project.Published("nginx"), AdminToken: project.Variable("ADMIN_TOKEN")}, nil
}
