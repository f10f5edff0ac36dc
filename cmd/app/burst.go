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

const mostUsers = 10000

func (b *bursts) validate() error {
	if err := cmp.Or(
		within("--users", b.Users, 2, mostUsers), within("--drivers", b.Drivers, 2, mostUsers), within("--rounds", b.Rounds, 1, 1000),
	); err != nil {
		return err
	}
	if b.Users%2 != 0 || b.Drivers%2 != 0 {
		return misuse("--users is %d and --drivers is %d; both must be even, so that each instance gets exactly half", b.Users, b.Drivers)
	}
	if len(b.Versions) == 0 {
		return misuse("--versions is empty; name at least one, such as v3")
	}
	if len(b.Versions) > 1 && slices.Contains(b.Versions, allVersions) {
		return misuse("--versions names all and others; name either")
	}
	for i, v := range b.Versions {
		if slices.Contains(b.Versions[:i], v) {
			return misuse("--versions names %s twice; --rounds repeats", v)
		}
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
	if err := std.print(b.JSON, result); err != nil {
		return err
	}
	if !b.JSON {
		fmt.Fprint(std.out, next)
	}
	keep()
	return verdictExit(result.Verdict, result.Reasons())
}

// burstCommand sends bursts to instances that run already, such as those of docker-compose.yml.
type burstCommand struct {
	bursts
	URL        string `arg:"" optional:"" help:"Address of the balancer before the two instances (default: nginx as .env has it, or http://127.0.0.1:8000)."`
	AdminToken string `placeholder:"SECRET" help:"Token that the instances require for a reset of the counter (default: as .env has it, or none)."`
}

const burstNext = `Next:    REDIS_TOPOLOGY=cluster docker compose up -d --wait --remove-orphans    another Redis; then this again
         docker compose down --remove-orphans                                   take everything down
`

// Run sends the bursts, version by version, and prints what was left.
func (c *burstCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	c.fromFiles(ctx)
	base := strings.TrimSuffix(c.URL, "/") // a browser adds it
	if target, err := url.Parse(base); err != nil || base != "http://"+target.Host || address("URL", target.Host) != nil {
		return misuse("the URL is %q; it must be http://host:port, and no more", c.URL)
	}
	began, tell, target := time.Now(), newProgress(std.err), burst.Target{URL: base, AdminToken: c.AdminToken}
	health, err := askHealth(ctx, target)
	if err != nil {
		return unavailable(fmt.Errorf("%w; app status says what runs", err))
	}
	leftOut, err := c.choose(func(v versions.Version) error { return lacks(health, v) })
	if err != nil {
		return err
	}
	result, err := c.plan().Run(ctx, target, tell.step)
	tell.done()
	if refused := (*burst.StatusError)(nil); errors.As(err, &refused) && refused.Code == http.StatusUnauthorized {
		return misuse("%w: --admin-token is missing or wrong", err)
	}
	if err := stopped(ctx, err, "nothing is judged"); err != nil {
		return err
	}
	result.Topology, result.LeftOut, result.TookMS = health.Topology, leftOut, time.Since(began).Milliseconds()
	return c.finish(result, std, burstNext, func() {})
}

// lacks says that an instance does not have a version; nil: it has, or does not tell.
func lacks(instance burst.Health, v versions.Version) error {
	if len(instance.Versions) == 0 || slices.Contains(instance.Versions, v.Name) {
		return nil
	}
	return fmt.Errorf("the instance has %s; %s needs %s", strings.Join(instance.Versions, ", "), v.Name, v.Needs.Flag())
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
