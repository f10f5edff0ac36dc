package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// container is a line of docker compose ps.
type container struct {
	Name, Service, State, Health string
	ExitCode                     int
	Labels                       string
}

// ready reports whether the container runs and passes its health check, if it has one.
func (c container) ready() bool {
	return c.State == "running" && (c.Health == "healthy" || c.Health == "")
}

// Diagnosis returns a line for each service that is not ready: its name, its state, and the reason.
func (d Docker) Diagnosis(ctx context.Context) (lines []string, err error) {
	containers, err := d.containers(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.Files.Services)) {
		c, found := containers[name]
		switch {
		case !d.Files.Services[name].Starts() || c.ready():
		case !found:
			lines = append(lines, name+" is missing: it has no container")
		default:
			state := c.State
			if state == "running" {
				state = c.Health
			}
			lines = append(lines, fmt.Sprintf("%s is %s: %s", name, state, d.reason(ctx, c)))
		}
	}
	return lines, nil
}

// Claim returns an error if another checkout has made containers under the project's name: each up would take them from the other.
func (d Docker) Claim(ctx context.Context) error {
	_, err := d.containers(ctx)
	return err
}

// containers are those of the services, without those of docker compose run.
func (d Docker) containers(ctx context.Context) (map[string]container, error) {
	out, err := d.output(ctx, "compose", "ps", "--all", "--format", "json")
	if err != nil {
		return nil, err
	}
	byService := map[string]container{}
	for decoder := json.NewDecoder(strings.NewReader(out)); ; {
		var c container
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return byService, nil
		} else if err != nil {
			return nil, fmt.Errorf("docker compose ps: %w", err)
		}
		if err := d.ours(c); err != nil {
			return nil, err
		}
		if !strings.Contains(c.Labels, "com.docker.compose.oneoff=True") {
			byService[c.Service] = c
		}
	}
}

// The directory from which Compose has made a container is one of its labels.
const madeFrom = "com.docker.compose.project.working_dir="

// ours returns an error for a container that another checkout has made under the same project name. Two checkouts would take it from each
// other with each up. A directory that is gone has no say: its containers could not be taken down otherwise.
func (d Docker) ours(c container) error {
	_, label, _ := strings.Cut(c.Labels, madeFrom)
	other, _, _ := strings.Cut(label, ",")
	theirs, err := os.Stat(other)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if here, err := os.Stat(d.dir); err != nil || theirs != nil && os.SameFile(here, theirs) { // nil: another user's
		return err
	}
	return fmt.Errorf("the containers of the project %s belong to another checkout, %s: use them there, or give this checkout "+
		"a project name, ports and a network of its own in %s: deploy/participant 1 >%[3]s", d.Files.Name, other, own)
}

// reason asks Docker why a container is not ready.
func (d Docker) reason(ctx context.Context, c container) string {
	seen := d.inspect(ctx, c.Name)
	switch checks := seen.State.Health.Log; {
	case c.State == "running" && len(checks) > 0:
		return oneLine(checks[len(checks)-1].Output)
	case c.State == "running":
		return "its first health check is still to come"
	case c.State == "paused":
		return "docker compose unpause " + c.Service + " lets it go on"
	case seen.State.OOMKilled:
		return "it was killed because its memory limit was reached (out of memory)"
	case seen.State.Error != "":
		return "Docker could not start it: " + oneLine(seen.State.Error)
	case c.State == "created":
		return "it waits for another service"
	}
	return fmt.Sprintf("it ended with status %d. %s", c.ExitCode, d.lastLine(ctx, c.Name))
}

// inspected is what docker inspect says of a container. Of a container that is gone it is empty.
type inspected struct {
	State struct {
		Error     string
		OOMKilled bool
		Health    struct{ Log []struct{ Output string } }
	}
	Config struct{ Env []string }
}

func (d Docker) inspect(ctx context.Context, name string) (i inspected) {
	if out, err := d.output(ctx, "inspect", "--format", "{{json .}}", name); err == nil {
		_ = json.Unmarshal([]byte(out), &i)
	}
	return i
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (d Docker) lastLine(ctx context.Context, name string) string {
	out, err := d.combined(ctx, io.Discard, "logs", "--tail", "1", name) // logs has both streams
	if out = strings.TrimSpace(out); err != nil || out == "" {
		return "It logged nothing."
	}
	return "Its last line: " + out
}

// Running returns the project of the containers: with the settings that the instances were told when they were made, such as the topology,
// whatever the settings are now. Without an instance it is the project of the settings. nil says that there is no container.
func Running(ctx context.Context, dir string) (*Project, error) {
	project, err := Load(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	docker := Docker{Project: project}
	containers, err := docker.containers(ctx)
	if err != nil || len(containers) == 0 {
		return nil, err
	}
	instance := docker.inspect(ctx, cmp.Or(containers["app-1"].Name, containers["app-2"].Name))
	told := map[string]string{}
	for _, line := range instance.Config.Env {
		name, value, _ := strings.Cut(line, "=")
		told[name] = value
	}
	if told["LAB_TOPOLOGY"] == "" {
		return project, nil
	}
	settings := []string{"BACKENDS=" + told["LAB_BACKENDS"], "APP_INSTANCES=" + told["LAB_NODES"], "METRICS="}
	if _, measured := containers["prometheus"]; measured {
		settings[2] += "1"
	}
	return Load(ctx, dir, told["LAB_TOPOLOGY"], settings...)
}
