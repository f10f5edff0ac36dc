package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// down takes a project's containers down when it is stopped, and when this process has ended in whatever way: it is a process of its own.
type down struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *strings.Builder
	up      bool // all that is to be taken down is there: nobody is creating more
}

func (s *Stack) takenDown(name string) (*down, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	d := &down{process: exec.Command(self), out: new(strings.Builder)}
	d.process.Env = append(os.Environ(), roleVariable+"="+downRole, dirVariable+"="+s.dir)
	d.process.Stdout = d.out
	d.process.SysProcAttr = apart()
	if d.in, err = d.process.StdinPipe(); err == nil {
		err = d.process.Start()
	}
	if err == nil {
		_, err = fmt.Fprintln(d.in, name)
	}
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	return d, nil
}

// wholly is what the process hears when nobody is creating containers any more.
const wholly = "wholly"

// Stop takes the containers down, and returns when they are gone, or cannot be made to go in time.
func (d *down) Stop() error {
	if d.up {
		_, _ = fmt.Fprintln(d.in, wholly)
	}
	_ = d.in.Close()
	if err := d.process.Wait(); err != nil {
		return fmt.Errorf("stack: %s: %w", strings.TrimSpace(d.out.String()), err)
	}
	return nil
}

// downRole waits until its input ends, takes a project down, and removes the stack's directory.
var downRole = Role("containers", func(in io.Reader, out io.Writer) int {
	// What is meant for the lab must not end who cleans up behind it.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	lines := bufio.NewReader(in)
	name, err := lines.ReadString('\n')
	if err != nil {
		return 0
	}
	rest, _ := io.ReadAll(lines) // until the lab ends
	err = takeDown(strings.TrimSpace(name), strings.Contains(string(rest), wholly))
	_ = os.RemoveAll(os.Getenv(dirVariable)) // first: who would read may be gone
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	return 0
})

// downWithin bounds how long a project may take to go.
const downWithin = 2 * time.Minute

// takeDown removes a project's containers and its network until there are none. Of a lab that died on its way up Docker may be creating
// some still: then there must be none three times, a second apart.
func takeDown(project string, wholly bool) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), downWithin)
	defer cancel()
	wanted := 3
	if wholly {
		wanted = 1
	}
	for none := 0; none < wanted; {
		_, err = docker(ctx, "compose", "--project-name", project, "down", "--timeout", "5")
		left, failed := leftOf(ctx, project)
		if err = errors.Join(err, failed); err == nil && left == "" {
			none++
		} else {
			none = 0
		}
		if none == wanted {
			break
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the containers of %s are still there: docker compose --project-name %[1]s down", project), err)
		case <-time.After(time.Second):
		}
	}
	return err
}

// leftOf lists what Docker has of a project.
func leftOf(ctx context.Context, project string) (ids string, err error) {
	filter := "label=com.docker.compose.project=" + project
	containers, err := docker(ctx, "ps", "--all", "--quiet", "--filter", filter)
	networks, failed := docker(ctx, "network", "ls", "--quiet", "--filter", filter)
	return containers + networks, errors.Join(err, failed)
}

func docker(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	said := strings.TrimSpace(string(out))
	if err != nil {
		err = fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return said, err
}
