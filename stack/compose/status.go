package compose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
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

// RedisDied reports whether a Redis server of the project has stopped, or was started again and the topology is not complete.
// The server starts empty, and the other servers do not know it. Then every container must be made again.
func (d Docker) RedisDied(ctx context.Context) (bool, error) {
	containers, err := d.containers(ctx)
	for name, c := range containers {
		service, known := d.Files.Services[name]
		if !known || service.Image != d.Variable("REDIS_IMAGE") {
			continue
		}
		if c.State == "exited" || c.State == "dead" || name == ready && c.Health == "unhealthy" {
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
	switch c.State {
	case "running":
		return cmp.Or(d.lastCheck(ctx, c.Name), "its first health check is still to come")
	case "created":
		return cmp.Or(d.startError(ctx, c.Name), "it waits for another service")
	case "paused":
		return "docker compose unpause " + c.Service + " lets it go on"
	case "exited":
		if c.ExitCode == 0 {
			return "it was stopped"
		}
	}
	return cmp.Or(d.startError(ctx, c.Name), fmt.Sprintf("it ended with status %d. %s", c.ExitCode, d.lastLine(ctx, c.Name)))
}

// startError is a sentence about why Docker could not start the container; "" when it could, or did not try.
func (d Docker) startError(ctx context.Context, name string) string {
	out, err := d.output(ctx, "inspect", "--format", "{{.State.Error}}", name)
	if said := strings.Join(strings.Fields(string(out)), " "); err == nil && said != "" {
		return "Docker could not start it: " + said
	}
	return ""
}

// lastCheck is the output of the latest health check.
func (d Docker) lastCheck(ctx context.Context, name string) string {
	out, err := d.output(ctx, "inspect", "--format", "{{json .State.Health.Log}}", name)
	var log []struct{ Output string }
	if err != nil || json.Unmarshal(out, &log) != nil || len(log) == 0 {
		return ""
	}
	return strings.Join(strings.Fields(log[len(log)-1].Output), " ")
}

func (d Docker) lastLine(ctx context.Context, name string) string {
	out, err := d.combined(ctx, io.Discard, "logs", "--tail", "1", name) // logs has both streams
	if out = strings.TrimSpace(out); err != nil || out == "" {
		return "It logged nothing."
	}
	return "Its last line: " + out
}

// Running returns the project with the topology whose services have containers, and with the backends if one of them has a container. nil
// says that no service has one. Of several topologies it is the one with the most services that have containers.
func Running(ctx context.Context, dir string) (*Project, error) {
	topologies, err := Topologies(dir)
	if err != nil {
		return nil, err
	}
	var containers map[string]container
	var best *Project
	most := 0
	for _, topology := range topologies {
		project, err := Load(ctx, dir, topology)
		if err != nil {
			return nil, err
		}
		if containers == nil {
			if containers, err = (Docker{Project: project}).containers(ctx); err != nil {
				return nil, err
			}
		}
		fits := 0
		for name := range containers {
			if _, known := project.Files.Services[name]; known {
				fits++
			}
		}
		if fits > most {
			best, most = project, fits
		}
	}
	if best == nil {
		return nil, nil //nolint:nilnil // as documented
	}
	for name, service := range best.Files.Services {
		if _, runs := containers[name]; runs && service.GetScale() == 0 {
			return Load(ctx, dir, best.Topology, backends+"=1")
		}
	}
	return best, nil
}
