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

	"github.com/compose-spec/compose-go/v2/types"
)

// State is the state of one service.
type State struct {
	Service string
	State   string // running, exited, … as Docker says; missing: it has no container
	Health  string // healthy, unhealthy, starting; empty: it has no health check
	Reason  string // why it is not ready: the output of its last health check, or of its log; empty: it is ready
}

// Ready reports whether the service runs and passes its health check, if it has one.
func (s State) Ready() bool {
	return s.State == "running" && (s.Health == "healthy" || s.Health == "")
}

// container is a line of docker compose ps.
type container struct {
	Name, Service, State, Health string
	ExitCode                     int
	Labels                       string
}

// Status returns the state of every service of the project, those that are not ready first. It does not contain services of another
// topology.
func (d Docker) Status(ctx context.Context) ([]State, error) {
	containers, err := d.containers(ctx)
	if err != nil {
		return nil, err
	}
	var all []State
	for name, service := range d.Files.Services {
		if !Starts(service) {
			continue
		}
		state := State{Service: name, State: "missing", Reason: "it has no container"}
		if c, found := containers[name]; found {
			state = State{Service: name, State: c.State, Health: c.Health}
			if !state.Ready() {
				state.Reason = d.reason(ctx, c)
			}
		}
		all = append(all, state)
	}
	rank := map[bool]int{false: 0, true: 1}
	slices.SortFunc(all, func(a, b State) int {
		return cmp.Or(rank[a.Ready()]-rank[b.Ready()], strings.Compare(a.Service, b.Service))
	})
	return all, nil
}

// Diagnosis returns a line for each service that is not ready: its name, its state, and the reason.
func (d Docker) Diagnosis(ctx context.Context) ([]string, error) {
	states, err := d.Status(ctx)
	var lines []string
	for _, s := range states {
		if s.Ready() {
			continue
		}
		state := s.State
		if s.State == "running" {
			state = s.Health
		}
		lines = append(lines, fmt.Sprintf("%s is %s: %s", s.Service, state, s.Reason))
	}
	return lines, err
}

// Claim returns an error if another checkout has made containers under the project's name: each up would take them from the other.
func (d Docker) Claim(ctx context.Context) error {
	_, err := d.containers(ctx)
	return err
}

func (d Docker) containers(ctx context.Context) (map[string]container, error) {
	out, err := d.output(ctx, "compose", "ps", "--all", "--format", "json")
	if err != nil {
		return nil, err
	}
	lines, err := decode[container](out)
	if err != nil {
		return nil, fmt.Errorf("docker compose ps: %w", err)
	}
	byService := map[string]container{}
	for _, c := range lines {
		if err := d.ours(c); err != nil {
			return nil, err
		}
		if !strings.Contains(c.Labels, "com.docker.compose.oneoff=True") { // of docker compose run
			byService[c.Service] = c
		}
	}
	return byService, nil
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
	switch {
	case c.State == "running":
		return cmp.Or(seen.lastCheck(), "its first health check is still to come")
	case c.State == "paused":
		return "docker compose unpause " + c.Service + " lets it go on"
	case c.State == "exited" && c.ExitCode == 0:
		return "it was stopped"
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
		_ = json.Unmarshal(out, &i)
	}
	return i
}

// lastCheck is the output of the latest health check.
func (i inspected) lastCheck() string {
	if log := i.State.Health.Log; len(log) > 0 {
		return oneLine(log[len(log)-1].Output)
	}
	return ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (d Docker) lastLine(ctx context.Context, name string) string {
	out, err := d.combined(ctx, io.Discard, "logs", "--tail", "1", name) // logs has both streams
	if out = strings.TrimSpace(out); err != nil || out == "" {
		return "It logged nothing."
	}
	return "Its last line: " + out
}

// Leftovers returns the services that have a container and do not belong to the project, such as those of another topology.
func (d Docker) Leftovers(ctx context.Context) ([]string, error) {
	containers, err := d.containers(ctx)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(containers)) {
		if service, known := d.Files.Services[name]; !known || service.GetScale() == 0 {
			all = append(all, name)
		}
	}
	return all, err
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
	for _, instance := range []string{"app-1", "app-2"} {
		c, found := containers[instance]
		if !found {
			continue
		}
		told := types.NewMapping(docker.inspect(ctx, c.Name).Config.Env)
		settings := []string{"BACKENDS=" + told["LAB_BACKENDS"], "APP_INSTANCES=" + told["LAB_NODES"], "METRICS="}
		if _, measured := containers["prometheus"]; measured {
			settings[2] += "1"
		}
		if topology := told["LAB_TOPOLOGY"]; topology != "" {
			return Load(ctx, dir, topology, settings...)
		}
	}
	return project, nil
}
