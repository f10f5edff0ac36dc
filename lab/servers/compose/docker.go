package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	readyTimeout = 2 * time.Minute  // of Up, in addition to the caller's context
	checkTimeout = 30 * time.Second // until an unhealthy container was checked anew: on a shared machine each is checked every 20 s
	killDelay    = 2 * time.Second  // from the end of a context, when docker is interrupted, to its kill
)

// ErrNoDocker is the error of a machine that lacks Docker or its plugin compose.
var ErrNoDocker = errors.New("app doctor says what a workshop needs")

// Docker runs `docker compose` for a project. Unless Progress is nil, it gets the output of each command that changes something.
type Docker struct {
	*Project
	Progress io.Writer
	Build    bool     // Up builds the instances' image, also when it exists
	Env      []string // added to the environment: NAME=value
}

// Up creates and starts what is not running as the files say, and stops what other topologies left. It returns when all services
// are healthy, or the given ones and those that they depend on. The error is Docker's; [Docker.Diagnosis] has the reasons.
//
// Compose takes a health check of the past for the present, and ends as soon as a container is unhealthy. So Up waits for the next check,
// and tries once more.
func (d Docker) Up(ctx context.Context, services ...string) error {
	err := d.up(ctx, services)
	if err != nil && d.recovered(ctx) {
		err = d.up(ctx, services)
	}
	return err
}

func (d Docker) up(ctx context.Context, services []string) error {
	args := []string{"compose", "up", "--detach", "--wait", "--wait-timeout", fmt.Sprint(int(readyTimeout.Seconds())), "--remove-orphans"}
	if d.Build {
		args = append(args, "--build")
	}
	return d.run(ctx, append(args, services...)...)
}

// recovered waits until no container is unhealthy. It is false if none was, or if one still is after checkTimeout.
func (d Docker) recovered(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for waited := false; ; waited = true {
		out, err := d.output(ctx, "compose", "ps", "--format", "json")
		if err != nil || !strings.Contains(out, `"unhealthy"`) {
			return err == nil && waited
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Second):
		}
	}
}

// Down removes all containers and the network.
func (d Docker) Down(ctx context.Context) error {
	return d.run(ctx, "compose", "--profile="+profile, "down", "--remove-orphans", "--timeout", "15")
}

// run runs docker and copies its output to Progress. The error ends with the last line of the output.
func (d Docker) run(ctx context.Context, args ...string) error {
	progress := d.Progress
	if progress == nil {
		progress = io.Discard
	}
	_, err := d.combined(ctx, progress, args...)
	return err
}

// combined runs docker and returns what it wrote to both streams.
func (d Docker) combined(ctx context.Context, progress io.Writer, args ...string) (string, error) {
	var output strings.Builder
	cmd := d.command(ctx, args...)
	cmd.Stdout = io.MultiWriter(progress, &output)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	return output.String(), explain(err, args, output.String())
}

// output runs docker and returns what it wrote to its standard output.
func (d Docker) output(ctx context.Context, args ...string) (string, error) {
	var stderr strings.Builder
	cmd := d.command(ctx, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	return string(out), explain(err, args, stderr.String())
}

func (d Docker) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Dir = d.dir
	cmd.Env = slices.Concat(os.Environ(), []string{"COMPOSE_ENV_FILES="}, d.changed, d.Env)
	if d.Topology != "" {
		cmd.Env = append(cmd.Env, variable+"="+d.Topology)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	return cmd
}

// explain adds the command and the last line of its output to an error.
func explain(err error, args []string, output string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("docker is not on the PATH: %w", ErrNoDocker)
	}
	if strings.Contains(output, "docker --help") { // of a client that does not know the command
		return fmt.Errorf("docker has no plugin compose: %w", ErrNoDocker)
	}
	lines := strings.Split(cmp.Or(strings.TrimSpace(output), "no output"), "\n")
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	return fmt.Errorf("docker %s: %s: %w", strings.Join(words[:min(2, len(words))], " "), lines[len(lines)-1], err)
}
