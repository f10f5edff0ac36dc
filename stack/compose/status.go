package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// State is how one service is.
type State struct {
	Service string
	State   string // running, exited, … as Docker says; missing: it has no container
	Health  string // healthy, unhealthy, starting; empty: nobody asks
	Reason     string // it is not ready: what its last health check or its log said
}

// Ready reports whether the service does its work.
func (s State) Ready() bool {
	return s.State == "running" && (s.Health == "healthy" || s.Health == "")
}

// container is a line of docker compose ps.
type container struct {
	Name, Service, State, Health string
	ExitCode                     int
	Labels                       string
}

// Status says of every service of the project how it is, those that are not ready first. Containers
// of another topology are no part of it.
func (d Docker) Status(ctx context.Context) ([]State, error) {
	containers, err := d.containers(ctx)
	if err != nil {
		return nil, err
	}
	var all []State
	for name, service := range d.Files.Services {
		if len(service.Profiles) > 0 {
			continue
		}
		state := State{Service: name, State: "missing", Reason: "it has no container"}
		if c, found := containers[name]; found {
			state = State{Service: name, State: c.State, Health: c.Health}
			if !state.Ready() {
				state.Reason = d.why(ctx, c)
			}
		}
		all = append(all, state)
	}
	slices.SortFunc(all, func(a, b State) int {
		if a.Ready() != b.Ready() {
			return map[bool]int{false: -1, true: 1}[a.Ready()]
		}
		return strings.Compare(a.Service, b.Service)
	})
	return all, nil
}

// Diagnosis has a line for each service that is not ready: which, how it is, and why.
func (d Docker) Diagnosis(ctx context.Context) ([]string, error) {
	states, err := d.Status(ctx)
	var lines []string
	for _, s := range states {
		if s.Ready() {
			continue
		}
		how := s.State
		if s.State == "running" {
			how = s.Health
		}
		lines = append(lines, fmt.Sprintf("%s is %s: %s", s.Service, how, s.Reason))
	}
	return lines, err
}

// RedisDied reports whether a Redis server of the project has stopped, or came back without a topology being
// whole again: it comes back empty, as a stranger to the others. Then everything must begin anew.
func (d Docker) RedisDied(ctx context.Context) (bool, error) {
	containers, err := d.containers(ctx)
	for name, c := range containers {
		service, known := d.Files.Services[name]
		if !known || service.Image != d.Variable("REDIS_IMAGE") {
			continue
		}
		if c.State == "exited" || c.State == "dead" || name == proof && c.Health == "unhealthy" {
			return true, err
		}
	}
	return false, err
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
		if !strings.Contains(c.Labels, "com.docker.compose.oneoff=True") { // of docker compose run
			byService[c.Service] = c
		}
	}
	return byService, nil
}

// why asks Docker what it knows about a container that is not ready.
func (d Docker) why(ctx context.Context, c container) string {
	switch c.State {
	case "running":
		return cmp.Or(d.lastCheck(ctx, c.Name), "its first health check is still to come")
	case "created":
		return "it waits for another service"
	case "paused":
		return "docker compose unpause " + c.Service + " lets it go on"
	case "exited":
		if c.ExitCode == 0 {
			return "it was stopped"
		}
	}
	return fmt.Sprintf("it ended with status %d. %s", c.ExitCode, d.lastLine(ctx, c.Name))
}

// lastCheck is what the latest health check printed.
func (d Docker) lastCheck(ctx context.Context, name string) string {
	out, err := d.output(ctx, "inspect", "--format", "{{json .State.Health.Log}}", name)
	var log []struct{ Output string }
	if err != nil || json.Unmarshal(out, &log) != nil || len(log) == 0 {
		return ""
	}
	return strings.Join(strings.Fields(log[len(log)-1].Output), " ")
}

func (d Docker) lastLine(ctx context.Context, name string) string {
	out, err := d.combined(ctx, "logs", "--tail", "1", name)
	if out = strings.TrimSpace(out); err != nil || out == "" {
		return "It logged nothing."
	}
	return "Its last line: " + out
}

// Running is the topology whose services have containers, or "" when none has. Of several it is the
// one that knows most of them.
func Running(ctx context.Context, dir string) (string, error) {
	topologies, err := Topologies(dir)
	if err != nil {
		return "", err
	}
	var containers map[string]container
	best, most := "", 0
	for _, topology := range topologies {
		project, err := Load(ctx, dir, topology)
		if err != nil {
			return "", err
		}
		if containers == nil {
			if containers, err = (Docker{Project: project}).containers(ctx); err != nil {
				return "", err
			}
		}
		fits := 0
		for name := range containers {
			if _, known := project.Files.Services[name]; known {
				fits++
			}
		}
		if fits > most {
			best, most = topology, fits
		}
	}
	return best, nil
}
