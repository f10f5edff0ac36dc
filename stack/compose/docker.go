package compose

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Limits of what Docker may take. Up is bounded by the caller's context and by readyWithin.
const (
	readyWithin = 2 * time.Minute
	killed      = 2 * time.Second // from the end of a context to the end of docker, which is told first
)

// Docker runs `docker compose` for a project. Progress, if there is one, is told what it says.
type Docker struct {
	*Project
	Progress io.Writer
	Build    bool     // the instances' image, although there is one
	ForceRecreate     bool     // make every container again, although there is one
	Env      []string // added to the environment: NAME=value
}

// Up creates and starts what is not running as the files say, stops what other topologies left, and
// returns when everything is healthy: all of it, or services and what they depend on. The error is Docker's;
// [Docker.Status] knows more.
func (d Docker) Up(ctx context.Context, services ...string) error {
	args := []string{"compose", "up", "--detach", "--wait", "--wait-timeout", fmt.Sprint(int(readyWithin.Seconds())), "--remove-orphans"}
	if d.Build {
		args = append(args, "--build")
	}
	if d.ForceRecreate {
		args = append(args, "--force-recreate")
	}
	return d.run(ctx, append(args, services...)...)
}

// Down removes all containers and the network.
func (d Docker) Down(ctx context.Context) error {
	return d.run(ctx, "compose", "--profile="+profile, "down", "--remove-orphans", "--timeout", "15")
}

// run runs docker and shows Progress what it says; the error ends with its last line.
func (d Docker) run(ctx context.Context, args ...string) error {
	var said bytes.Buffer
	cmd := d.command(ctx, args...)
	cmd.Stdout = &said
	if d.Progress != nil {
		cmd.Stdout = io.MultiWriter(d.Progress, &said)
	}
	cmd.Stderr = cmd.Stdout
	return explain(cmd.Run(), args, said.String())
}

// output runs docker and returns what it wrote to its standard output.
func (d Docker) output(ctx context.Context, args ...string) ([]byte, error) {
	var complaint bytes.Buffer
	cmd := d.command(ctx, args...)
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	return out, explain(err, args, complaint.String())
}

// combined runs docker and returns all that it wrote: logs go to both streams.
func (d Docker) combined(ctx context.Context, args ...string) (string, error) {
	out, err := d.command(ctx, args...).CombinedOutput()
	return string(out), explain(err, args, string(out))
}

func (d Docker) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), variable+"="+d.Topology)
	cmd.Env = append(append(cmd.Env, d.changed...), d.Env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killed
	return cmd
}

func explain(err error, args []string, said string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("docker is not on the PATH: app doctor says what a workshop needs")
	}
	lines := strings.Split(cmp.Or(strings.TrimSpace(said), "it said nothing"), "\n")
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	return fmt.Errorf("docker %s: %s: %w", strings.Join(words[:min(2, len(words))], " "), lines[len(lines)-1], err)
}

// decode reads what docker compose prints for --format json: an array, or an object on each line.
func decode[T any](text []byte) ([]T, error) {
	var all []T
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err := json.Unmarshal(text, &all)
		return all, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var one T
		if err := decoder.Decode(&one); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
