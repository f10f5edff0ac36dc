package compose

import (
	"context"
	"fmt"
	"strings"
)

// Container is the one that runs a service.
type Container struct {
	Name    string // as Docker has it
	Service string

	docker Docker
}

// Container finds the container of a service.
func (d Docker) Container(ctx context.Context, service string) (Container, error) {
	containers, err := d.containers(ctx)
	if err != nil {
		return Container{}, err
	}
	c, found := containers[service]
	if !found {
		return Container{}, fmt.Errorf("compose: %s has no container", service)
	}
	return Container{Name: c.Name, Service: service, docker: d}, nil
}

// Kill ends its process at once, as a power cut does. It takes about a tenth of a second.
func (c Container) Kill(ctx context.Context) error { return c.docker.run(ctx, "kill", c.Name) }

// Pause stops its processes from running until Unpause.
func (c Container) Pause(ctx context.Context) error { return c.docker.run(ctx, "pause", c.Name) }

// Unpause lets its processes go on.
func (c Container) Unpause(ctx context.Context) error { return c.docker.run(ctx, "unpause", c.Name) }

// Disconnect takes it off the project's network: what is on its way to it or from it gets lost, and nobody is told.
func (c Container) Disconnect(ctx context.Context) error {
	return c.docker.run(ctx, "network", "disconnect", c.network(), c.Name)
}

// Connect puts it back, with the address that the files give it.
func (c Container) Connect(ctx context.Context) error {
	return c.docker.run(ctx, "network", "connect", "--ip", c.Address(), "--alias", c.Service, c.network(), c.Name)
}

// Wait waits for its end, and returns its exit status.
func (c Container) Wait(ctx context.Context) (string, error) {
	out, err := c.docker.output(ctx, "wait", c.Name)
	return strings.TrimSpace(string(out)), err
}

// Run runs a command in it, and returns what that printed.
func (c Container) Run(ctx context.Context, command ...string) (string, error) {
	out, err := c.docker.output(ctx, append([]string{"exec", c.Name}, command...)...)
	return string(out), err
}

// LastLine is of what it printed.
func (c Container) LastLine(ctx context.Context) string { return c.docker.lastLine(ctx, c.Name) }

// Address is the one that the files give it on the project's network.
func (c Container) Address() string {
	return c.docker.Files.Services[c.Service].Networks[network].Ipv4Address
}

// network is the project's, as Docker has it.
func (c Container) network() string { return c.docker.Files.Networks[network].Name }
