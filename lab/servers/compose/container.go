package compose

import (
	"context"
	"fmt"
	"strings"
)

// Container runs a service of a project.
type Container struct {
	Name    string // in Docker
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

// Kill ends the container without warning, as a power cut does. It takes about a tenth of a second.
func (c Container) Kill(ctx context.Context) error { return c.docker.run(ctx, "kill", c.Name) }

// Pause stops the container's processes from running until Unpause.
func (c Container) Pause(ctx context.Context) error { return c.docker.run(ctx, "pause", c.Name) }

// Unpause lets the processes continue.
func (c Container) Unpause(ctx context.Context) error { return c.docker.run(ctx, "unpause", c.Name) }

// Disconnect takes the container off the project's network. Traffic to it and from it is lost, and neither side is told.
func (c Container) Disconnect(ctx context.Context) error {
	return c.docker.run(ctx, "network", "disconnect", c.network(), c.Name)
}

// Connect puts the container back on the network, with its address in the files.
func (c Container) Connect(ctx context.Context) error {
	return c.docker.run(ctx, "network", "connect", "--ip", c.Address(), "--alias", c.Service, c.network(), c.Name)
}

// Wait waits for the end of the container, and returns its exit status.
func (c Container) Wait(ctx context.Context) (string, error) {
	out, err := c.docker.output(ctx, "wait", c.Name)
	return strings.TrimSpace(out), err
}

// Run runs a command in the container, and returns its standard output.
func (c Container) Run(ctx context.Context, command ...string) (string, error) {
	return c.docker.output(ctx, append([]string{"exec", c.Name}, command...)...)
}

// LastLine is a sentence with the last line of the container's log.
func (c Container) LastLine(ctx context.Context) string { return c.docker.lastLine(ctx, c.Name) }

// Address is the container's address on the project's network, as the files say.
func (c Container) Address() string {
	return c.docker.Files.Services[c.Service].Networks[network].Address
}

// network is the name of the project's network in Docker.
func (c Container) network() string { return c.docker.Files.Networks[network].Name }
