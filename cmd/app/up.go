package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/experiments/burst"
	"locklab/internal/doctor"
	"locklab/internal/progress"
	"locklab/stack/compose"
)

type checkout struct {
	Dir string `default:"." placeholder:"PATH" help:"Directory with docker-compose.yml."`
}

type upCommand struct {
	checkout
	Topology string `arg:"" optional:"" placeholder:"TOPOLOGY" help:"Topology of Redis: single, master-slave, sentinel or cluster (default: REDIS_TOPOLOGY of .env, or single)."`
	Build    bool   `help:"Build the image of the instances from this checkout."`
	Verbose  bool   `short:"v" help:"Show the output of docker compose."`
}

type downCommand struct{ checkout }

type statusCommand struct{ checkout }

// Run returns when every service is healthy, or says which is not, and why.
func (c *upCommand) Run(ctx context.Context, std streams) error {
	project, err := compose.Load(ctx, c.Dir, c.Topology)
	if err != nil {
		return misuse("%w", err)
	}
	began, tell := time.Now(), progress.New(std.err)
	tell.Say("looking whether the lab can run here")
	err = hindered(ctx, std, c.Dir, project, project.Starts, whole...)
	tell.Done()
	if err != nil {
		return err
	}
	docker := compose.Docker{Project: project, Build: c.Build, Env: []string{"APP_VERSION=" + built().String()}}
	if c.Verbose {
		docker.Progress, tell.Terminal = std.err, false // a line that changes would be among its lines
	}
	if docker.ForceRecreate, err = docker.RedisDied(ctx); err != nil {
		tell.Done()
		return stopped(ctx, err, "nothing was started")
	}
	tell.Say("starting the lab over Redis " + project.Topology)
	if docker.ForceRecreate {
		tell.Say("a Redis server has died: starting all of it anew over Redis " + project.Topology)
	}
	err = docker.Up(ctx)
	tell.Done()
	if err != nil && ctx.Err() == nil {
		problems, why := docker.Diagnosis(ctx)
		list(std.err, problems)
		err = errors.Join(err, why)
	}
	if err := stopped(ctx, err, "app down takes down what was started"); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "The lab is up over Redis %s (%.0f s).\n%s", project.Topology, time.Since(began).Seconds(), urls(ctx, project))
	return nil
}

// Run removes the containers and the network, and with them everything that was counted.
func (c *downCommand) Run(ctx context.Context, std streams) error {
	project, err := compose.Running(ctx, c.Dir)
	if err == nil && project == nil {
		project, err = compose.Load(ctx, c.Dir, "")
	}
	if err != nil {
		return stopped(ctx, err, left)
	}
	tell := progress.New(std.err)
	tell.Say("stopping the lab")
	err = compose.Docker{Project: project}.Down(ctx)
	tell.Done()
	if err != nil {
		return stopped(ctx, err, left)
	}
	fmt.Fprintf(std.out, "The lab is down; nothing is left of it.\nNext: %s up, or %[1]s up cluster\n", self())
	return nil
}

// Run says what runs and where, and ends with 69 when something that should does not.
func (c *statusCommand) Run(ctx context.Context, std streams) error {
	project, err := compose.Running(ctx, c.Dir)
	if err != nil {
		return stopped(ctx, err, left)
	}
	if project == nil {
		return unavailable(errors.New("the lab is not up: app up starts it"))
	}
	problems, err := compose.Docker{Project: project}.Diagnosis(ctx)
	if err != nil || ctx.Err() != nil {
		return stopped(ctx, err, left)
	}
	if len(problems) > 0 {
		list(std.err, problems)
		return unavailable(fmt.Errorf("the lab over Redis %s is not whole: app up %[1]s brings it back, and begins anew where a Redis server "+
			"has died; docker compose logs SERVICE tells more", project.Topology))
	}
	fmt.Fprintf(std.out, "The lab is up over Redis %s; every service is ready.\n%s", project.Topology, urls(ctx, project))
	return nil
}

// left says what an interruption leaves.
const left = "app status says what runs"

// whole are the doctor's checks of what the whole lab needs.
var whole = []string{"docker", "compose", "images", "ports", "subnet"}

// hindered finds with the doctor's checks what would make Docker fail with a worse sentence, lists it, and is an error then. needs says of
// which images.
func hindered(
	ctx context.Context, std streams, dir string, project *compose.Project, needs func(image string) bool, checks ...string,
) error {
	lab := doctor.Lab{Dir: dir}
	addTo(&lab, project)
	lab.Images = slices.DeleteFunc(lab.Images, func(i doctor.Image) bool { return !needs(i.Name) })
	chosen := slices.DeleteFunc(doctor.Checks(lab), func(check doctor.Check) bool { return !slices.Contains(checks, check.Name) })
	var problems []string
	for _, line := range doctor.Run(ctx, chosen) {
		if !line.OK {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", line.Name, line.Found, line.Do))
		}
	}
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, nil, "nothing was started")
	case len(problems) == 0:
		return nil
	}
	list(std.err, problems)
	return unavailable(errors.New("the lab's containers cannot run here as it is; app doctor looks at everything"))
}

// list prints one thing a line; what follows it says what they are.
func list(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

func urls(ctx context.Context, project *compose.Project) string {
	var b strings.Builder
	if runs, err := askHealth(ctx, burst.Target{URL: "http://" + project.Published("app-1")}); err == nil && stamp != "" &&
		runs.Build != unknownBuild && runs.Build != build() {
		fmt.Fprintf(&b, "  The instances are built from %s, and this checkout is at %s: app up --build builds them again.\n", runs.Build, build())
	}
	for _, service := range []string{"nginx", "app-1", "app-2"} {
		fmt.Fprintf(&b, "  %-9s http://%s\n", service, project.Published(service))
	}
	for _, service := range []string{"mysql", "etcd", "zookeeper", "memcached"} {
		if addr := project.Published(service); addr != "" { // the last three may be switched off
			fmt.Fprintf(&b, "  %-9s %s\n", service, addr)
		}
	}
	fmt.Fprintf(&b, "Next: %s burst http://%s    or: docker compose run --rm k6    and then: %[1]s down\n", self(), project.Published("nginx"))
	return b.String()
}

// self is how this program is started where the user is. A user who has taken it out of the image may have no Go.
func self() string {
	if strings.HasPrefix(os.Args[0], "./") {
		return os.Args[0]
	}
	if _, err := os.Stat("go.mod"); err == nil {
		return "go run ./cmd/app"
	}
	return "app"
}
