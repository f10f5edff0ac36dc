package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// takedown is a process that takes the containers of a project down when it is stopped, and when this program ends for any reason.
type takedown struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *strings.Builder
}

func (s *Stack) takedown(project string) (*takedown, error) {
	t := &takedown{process: exec.Command(s.self), out: new(strings.Builder)}
	t.process.Env = append(os.Environ(), roleVariable+"="+takedownRole, dirVariable+"="+s.dir)
	t.process.Stdout = t.out
	t.process.SysProcAttr = OwnProcessGroup()
	var err error
	if t.in, err = t.process.StdinPipe(); err == nil {
		err = t.process.Start()
	}
	if err == nil {
		_, err = fmt.Fprintln(t.in, project)
	}
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	return t, nil
}

// Stop takes the containers down, and returns when they are gone, or an error after takedownTimeout.
func (t *takedown) Stop() error {
	_ = t.in.Close()
	if err := t.process.Wait(); err != nil {
		return fmt.Errorf("stack: %s: %w", strings.TrimSpace(t.out.String()), err)
	}
	return nil
}

// takedownRole waits until its input ends, takes a project down, and removes the stack's directory.
var takedownRole = Role("takedown", func(in io.Reader, out io.Writer) int {
	ignoreStopSignals()
	lines := bufio.NewReader(in)
	project, err := lines.ReadString('\n')
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, lines) // returns when the lab ends
	err = removeContainers(strings.TrimSpace(project))
	_ = os.RemoveAll(os.Getenv(dirVariable)) // before the output, which may have no reader any more
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	return 0
})

const (
	takedownTimeout = 2 * time.Minute // until a project is gone
	wantedAbsent    = 3               // how often, a second apart, nothing of it must be there: Docker may still create something
)

// removeContainers removes a project's containers and its network until there are none.
func removeContainers(project string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), takedownTimeout)
	defer cancel()
	for absent := 0; ; {
		_, err = docker(ctx, "compose", "--project-name", project, "down", "--timeout", "5")
		left, failed := containersOf(ctx, project)
		if err = errors.Join(err, failed); err == nil && left == "" {
			absent++
		} else {
			absent = 0
		}
		if absent == wantedAbsent {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the containers of %s are still there: docker compose --project-name %[1]s down", project), err)
		case <-time.After(time.Second):
		}
	}
}

// containersOf lists the ids of a project's containers and networks.
func containersOf(ctx context.Context, project string) (ids string, err error) {
	filter := "label=com.docker.compose.project=" + project
	containers, err := docker(ctx, "ps", "--all", "--quiet", "--filter", filter)
	networks, failed := docker(ctx, "network", "ls", "--quiet", "--filter", filter)
	return containers + networks, errors.Join(err, failed)
}

func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		err = fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return text, err
}
