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
	"strconv"
	"strings"
	"time"

	"locklab/internal/progress"
	"locklab/lab/burst"
	"locklab/lab/burst/loadtool"
	"locklab/lab/report/terminal"
	"locklab/lab/servers/compose"
	"locklab/versions"
)

// burstFlags are the flags that app demo and app burst share.
type burstFlags struct {
	Drivers int  `default:"20" placeholder:"N" help:"Number of drivers who grab the same order at once. Must be even."`
	Rounds  int  `default:"1" placeholder:"N" help:"Number of rounds. Each round sends every burst once."`
	JSON    bool `name:"json" help:"Print the results as JSON."`
}

func (b *burstFlags) plan(users int, names []string, instances int) burst.Plan {
	return burst.Plan{Users: users, Drivers: b.Drivers, Rounds: b.Rounds, Versions: names, Instances: instances}
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

// validatePlan checks what a plan sends.
func validatePlan(plan burst.Plan) error {
	if slices.Contains(plan.Versions, allVersions) {
		if len(plan.Versions) > 1 {
			return usageErrorf("--versions has all and other versions; use all alone, or omit it")
		}
		plan.Versions = versions.Names()
	}
	if err := plan.Validate(); err != nil {
		return usageErrorf("--%w", err) // a field and its flag have the same name
	}
	return nil
}

// allVersions is the value of --versions that selects every version that can run.
const allVersions = "all"

// chooseVersions replaces "all" by the versions that can run, and returns a sentence for each version that it leaves out. check returns why
// a version cannot run. It is an error if a version that the user named cannot run, or if any cannot and LAB_REQUIRE=all is set.
func chooseVersions(names []string, check func(versions.Version) error) (chosen, leftOut []string, err error) {
	all := slices.Equal(names, []string{allVersions})
	if all {
		names = versions.Names()
	}
	for _, name := range names {
		v, _ := versions.Find(name)
		reason := check(v)
		switch {
		case reason == nil:
			chosen = append(chosen, name)
			continue
		case !all:
			return nil, nil, unavailable(fmt.Errorf("--versions: %s cannot run: %w", name, reason))
		case os.Getenv("LAB_REQUIRE") == "all":
			return nil, nil, unavailable(fmt.Errorf("LAB_REQUIRE=all requires every version, but %s cannot run: %w", name, reason))
		}
		leftOut = append(leftOut, fmt.Sprintf("%s (%s) is left out: %s", name, v.Title, reason))
	}
	return chosen, leftOut, nil
}

// validateInstances checks that each instance gets at least one page view and one driver.
func validateInstances(plan burst.Plan) error {
	if err := validateRange("--instances", plan.Instances, 2, 32); err != nil {
		return err
	}
	if plan.Instances > plan.Drivers || plan.Instances > plan.Users {
		return usageErrorf("--instances is %d; must not exceed --users (%d) or --drivers (%d), so that each instance gets one of both",
			plan.Instances, plan.Users, plan.Drivers)
	}
	return nil
}

// burstCommand sends bursts to instances that are already running, such as those of docker-compose.yml.
type burstCommand struct {
	checkout
	URL        string   `arg:"" optional:"" help:"URL of the load balancer in front of the instances (default: nginx as set in .env, or http://127.0.0.1:8000)."`
	Tool       string   `default:"app" enum:"app,k6,jmeter" placeholder:"TOOL" help:"What sends the requests: app (this program), k6 or jmeter."`
	Users      *int     `placeholder:"N" help:"Number of simultaneous page views. Must be even (default: USERS of the environment or .env, or 666)."`
	Versions   []string `enum:"${allVersions},all" placeholder:"vN" help:"Versions to send requests to, or all for every version that can run (default: VERSION of the environment or .env, or ${versions}; with k6 and jmeter without v0)."`
	Instances  *int     `placeholder:"N" help:"Number of instances behind the balancer, from 2 to 32. Each needs a unique name (default: APP_INSTANCES of .env, or 2)."`
	ByChance   bool     `help:"Accept a balancer that picks an instance at random per connection, as a Kubernetes Service does: at least two instances must answer, in any proportion."`
	AdminToken string   `placeholder:"SECRET" help:"Token that the instances require to reset the counter (default: ADMIN_TOKEN of the environment or .env, or none)."`
	burstFlags
}

// burstNext says how to go on after a burst over a topology.
func burstNext(topology string) string {
	other := "cluster"
	if topology == other {
		other = "sentinel"
	}
	return fmt.Sprintf("Next:    TOPOLOGY=%-8s docker compose up -d --wait    change the topology, then repeat\n"+
		"         docker compose down                              remove everything\n", other)
}

// Run sends the bursts to each version, and prints and judges the results.
func (c *burstCommand) Run(ctx context.Context, std streams) (err error) {
	target, plan, err := c.settings(ctx)
	if err != nil {
		return err
	}
	sender, err := c.sender()
	if err != nil {
		return unavailable(err)
	}
	defer func() { err = errors.Join(err, sender.Close()) }()
	began, tell := time.Now(), progress.New(std.err)
	health, err := fetchHealth(ctx, target)
	if err != nil {
		return commandError(ctx, fmt.Errorf("%w; "+statusHint, err), "nothing was judged")
	}
	if isOtherBuild(health) {
		std.say(fmt.Sprintf("This program was built from %s, and the instances from %s: docker compose --profile load build, or app up --build.",
			build(), health.Build))
	}
	var leftOut []string
	if plan.Versions, leftOut, err = chooseVersions(plan.Versions, health.Lacks); err != nil {
		return err
	}
	result, err := plan.Run(ctx, target, sender, terminal.TellBursts(tell))
	tell.Done()
	if refused := (*burst.StatusError)(nil); errors.As(err, &refused) && refused.Code == http.StatusUnauthorized {
		return usageErrorf("%w: --admin-token is missing or wrong", err)
	}
	if failed := (*loadtool.Failure)(nil); errors.As(err, &failed) {
		std.say(failed.Output)
	}
	if err := commandError(ctx, err, "nothing was judged"); err != nil {
		return err
	}
	result.Topology, result.LeftOut, result.TookMS = health.Topology, leftOut, time.Since(began).Milliseconds()
	next := ""
	if c.URL == "" { // the containers of this checkout
		next = burstNext(health.Topology)
	}
	return c.finish(result, std, next, func() {})
}

// sender is the load tool, which must be on this machine.
func (c *burstCommand) sender() (burst.Sender, error) {
	switch c.Tool {
	case "k6":
		tool := loadtool.K6(c.Dir)
		return tool, tool.Missing()
	case "jmeter":
		tool := loadtool.JMeter(c.Dir)
		return tool, tool.Missing()
	}
	return burst.App{}, nil
}

// settings returns where to send what. A flag takes precedence over a variable of the lab.
func (c *burstCommand) settings(ctx context.Context) (target burst.Target, plan burst.Plan, err error) {
	lab, err := settingsOf(ctx, c.Dir)
	if err != nil && c.URL == "" {
		return target, plan, loadError(fmt.Errorf("%w; or give the URL", err))
	}
	target = burst.Target{AdminToken: cmp.Or(c.AdminToken, lab.AdminToken), ByChance: c.ByChance}
	if target.URL, err = baseURL("the URL", cmp.Or(c.URL, lab.URL)); err != nil {
		return target, plan, err
	}
	users, instances := versions.ArticleUsers, 2
	err = errors.Join(setNumber(&users, c.Users, "USERS", lab.users), setNumber(&instances, c.Instances, "APP_INSTANCES", lab.instances))
	names := slices.Clone(c.Versions)
	if len(names) == 0 {
		names = strings.FieldsFunc(lab.version, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if len(names) == 0 {
		names = versions.DefaultNames()
		if c.Tool != "app" {
			// v0 is no version of the articles, and a tool takes seconds for each.
			names = slices.DeleteFunc(names, func(name string) bool { return name == "v0" })
		}
	}
	plan = c.plan(users, names, instances)
	if err == nil {
		err = cmp.Or(validatePlan(plan), validateInstances(plan))
	}
	fromLab := c.Users == nil && lab.users != "" || len(c.Versions) == 0 && lab.version != "" || c.Instances == nil && lab.instances != ""
	if err != nil && fromLab {
		err = fmt.Errorf("%w; USERS, VERSION and APP_INSTANCES of the environment or .env replace flags that are not given", err)
	}
	return target, plan, err
}

// setNumber sets n to the value of a flag, or else of a variable, or leaves the default.
func setNumber(n, flag *int, variable, text string) (err error) {
	switch {
	case flag != nil:
		*n = *flag
	case text != "":
		if *n, err = strconv.Atoi(text); err != nil {
			return usageErrorf("%s is %q; it must be a number", variable, text)
		}
	}
	return nil
}

// baseURL checks the URL of a balancer and removes the slash that a browser appends. setting names the URL in an error.
func baseURL(setting, given string) (base string, err error) {
	base = strings.TrimSuffix(given, "/")
	if target, err := url.Parse(base); err != nil || base != "http://"+target.Host || validateAddress("URL", target.Host) != nil {
		return "", usageErrorf("%s is %q; must be http://host:port, without a path", setting, given)
	}
	return base, nil
}

// labSettings are what the settings of a lab say: its address, and what to send.
type labSettings struct {
	burst.Target
	users, version, instances string // as they were written; empty: not set
}

// settingsOf returns the settings of the lab whose compose files are in dir: as `docker compose` has them, from the shell, .env and the
// defaults. Without such files, as in a container, there are the variables of the environment and the default address. Files that cannot be
// read are an error, beside the same settings: several labs may share this machine, and the default may be another one.
func settingsOf(ctx context.Context, dir string) (labSettings, error) {
	address, value := "127.0.0.1:8000", os.Getenv
	var err error
	if _, none := compose.Topologies(dir); none == nil {
		var project *compose.Project
		if project, err = compose.Load(ctx, dir, ""); err == nil {
			address = project.Published("nginx")
			value = func(name string) string { return project.Environment("k6", name) }
		}
	}
	target := burst.Target{URL: "http://" + address, AdminToken: value("ADMIN_TOKEN")}
	return labSettings{target, value("USERS"), value("VERSION"), value("APP_INSTANCES")}, err
}
