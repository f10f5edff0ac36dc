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

	"locklab/internal/progress"
	"locklab/lab/burst"
	"locklab/lab/doctor"
	"locklab/lab/servers/compose"
)

// checkout has the flag of commands that need the files of this repository.
type checkout struct {
	Dir string `default:"." placeholder:"PATH" help:"Directory that contains docker-compose.yml."`
}

type upCommand struct {
	checkout
	Topology string `arg:"" optional:"" placeholder:"TOPOLOGY" help:"Redis topology: single, master-slave, sentinel or cluster (default: TOPOLOGY in .env, or single)."`
	Build    bool   `help:"Rebuild the image of the instances from this checkout."`
	Verbose  bool   `short:"v" help:"Show the output of docker compose."`
}

type downCommand struct{ checkout }

type statusCommand struct{ checkout }

// Run starts the lab and returns when every service is healthy. Otherwise it prints which one is not, and why.
func (c *upCommand) Run(ctx context.Context, std streams) error {
	project, err := compose.Load(ctx, c.Dir, c.Topology)
	if err != nil {
		return loadError(err)
	}
	began, tell := time.Now(), progress.New(std.err)
	tell.Say("checking this machine")
	err = checkDocker(ctx, std, c.Dir, project, project.Starts, labChecks...)
	tell.Done()
	if err != nil {
		return err
	}
	docker := compose.Docker{Project: project, Build: c.Build, Env: []string{"APP_VERSION=" + origin()}}
	if c.Verbose {
		docker.Progress, tell.Terminal = std.err, false // our changing line would mix with Docker's output
	}
	if err := docker.Claim(ctx); err != nil {
		return commandError(ctx, err, "nothing was started")
	}
	tell.Say("starting the lab over Redis " + project.Topology)
	err = docker.Up(ctx)
	tell.Done()
	if err != nil && ctx.Err() == nil {
		problems, failed := docker.Diagnosis(ctx)
		printLines(std.err, problems)
		err = errors.Join(err, failed)
	}
	if err := commandError(ctx, err, "app down removes what was started"); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "The lab is up over Redis %s (%.0f s).\n%s", project.Topology, time.Since(began).Seconds(), addresses(ctx, project))
	return nil
}

// loadError returns the error of files that could not be read: unavailable without Docker, else the user's.
func loadError(err error) error {
	if errors.Is(err, compose.ErrNoDocker) {
		return unavailable(err)
	}
	return usageErrorf("%w", err)
}

// Run removes the containers, the network, and all data.
func (c *downCommand) Run(ctx context.Context, std streams) error {
	project, err := compose.Running(ctx, c.Dir)
	if err == nil && project == nil {
		project, err = compose.Load(ctx, c.Dir, "")
	}
	if err != nil {
		return commandError(ctx, err, statusHint)
	}
	tell := progress.New(std.err)
	tell.Say("stopping the lab")
	err = compose.Docker{Project: project}.Down(ctx)
	tell.Done()
	if err != nil {
		return commandError(ctx, err, statusHint)
	}
	fmt.Fprintf(std.out, "The lab is down and its data is removed.\nNext: %s up, or %[1]s up cluster\n", self())
	return nil
}

// Run prints where the services listen. It fails with exit code 69 and the reasons if a service is not ready.
func (c *statusCommand) Run(ctx context.Context, std streams) error {
	project, err := compose.Running(ctx, c.Dir)
	if err != nil {
		return commandError(ctx, err, statusHint)
	}
	if project == nil {
		return unavailable(errors.New("the lab is not up: app up starts it"))
	}
	docker := compose.Docker{Project: project}
	problems, err := docker.Diagnosis(ctx)
	if err != nil || ctx.Err() != nil {
		return commandError(ctx, err, statusHint)
	}
	if len(problems) == 0 { // containers are healthy by themselves, so the instances know what they do not reach
		problems = unreachable(ctx, project)
	}
	if len(problems) > 0 {
		printLines(std.err, problems)
		return unavailable(fmt.Errorf("the lab over Redis %s is not ready: %s up %[1]s repairs it, "+
			"and docker compose logs SERVICE shows details", project.Topology, self()))
	}
	fmt.Fprintf(std.out, "The lab is up over Redis %s; every service is ready.\n%s", project.Topology, addresses(ctx, project))
	return nil
}

// unreachable returns a line for each instance that does not reach one of its servers.
func unreachable(ctx context.Context, project *compose.Project) (lines []string) {
	for _, instance := range []string{"app-1", "app-2"} {
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		ready, err := burst.Target{URL: "http://" + project.Published(instance)}.Ready(ctx)
		if err == nil && !ready.Ready {
			lines = append(lines, fmt.Sprintf("%s is not ready: %s", instance, ready.Missing()))
		}
	}
	return lines
}

const statusHint = "app status shows what is running"

// labChecks are the doctor's checks that the whole lab must pass.
var labChecks = []string{"docker", "compose", "images", "ports", "subnet"}

// checkDocker runs some of the doctor's checks, and prints the problems and fails if there are any. It comes before Docker does because its
// messages are better than Docker's. needsImage reports whether an image must be there.
func checkDocker(
	ctx context.Context, std streams, dir string, project *compose.Project, needsImage func(image string) bool, checks ...string,
) error {
	lab := doctor.Lab{Dir: dir}
	lab.Add(project)
	lab.Images = slices.DeleteFunc(lab.Images, func(image string) bool { return !needsImage(image) })
	chosen := slices.DeleteFunc(doctor.Checks(lab), func(check doctor.Check) bool { return !slices.Contains(checks, check.Name) })
	var problems []string
	for _, result := range doctor.Run(ctx, chosen) {
		if !result.OK {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", result.Name, result.Found, result.Do))
		}
	}
	switch {
	case ctx.Err() != nil:
		return commandError(ctx, nil, "nothing was started")
	case len(problems) == 0:
		return nil
	}
	printLines(std.err, problems)
	return unavailable(errors.New("this machine cannot run the containers; fix the problems above, and see app doctor for all checks"))
}

func printLines(w io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// addresses lists where the services listen. It warns if the instances were built from another commit than this program.
func addresses(ctx context.Context, project *compose.Project) string {
	var b strings.Builder
	if health, err := fetchHealth(ctx, burst.Target{URL: "http://" + project.Published("app-1")}); err == nil && isOtherBuild(health) {
		fmt.Fprintf(&b, "  The instances were built from %s, but this checkout is at %s: app up --build rebuilds them.\n", health.Build, build())
	}
	for _, line := range project.Addresses() {
		fmt.Fprintf(&b, "  %-12s %s\n", line[0], line[1])
	}
	fmt.Fprintf(&b, "Next: %s burst, or docker compose run --rm k6; then %[1]s down\n", self())
	return b.String()
}

// isOtherBuild reports whether an instance was built from another commit than this program.
func isOtherBuild(health burst.Health) bool {
	return stamp != "" && health.Build != unknownBuild && health.Build != build()
}

// self returns the command with which the user starts this program in the working directory.
func self() string {
	if strings.HasPrefix(os.Args[0], "./") {
		return os.Args[0]
	}
	if _, err := os.Stat("go.mod"); err == nil {
		return "go run ./cmd/app"
	}
	return "app"
}
