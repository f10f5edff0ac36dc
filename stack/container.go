package stack

import (
	"context"
	"fmt"
	"sync"

	"locklab/stack/compose"
)

// container is a [Server] in a container.
type container struct {
	compose.Container
	kill   sync.Once
	killed chan struct{}

	mu  sync.Mutex
	err error // the first one of a method that returns none; Ended returns it
}

func newContainer(c compose.Container) *container {
	return &container{Container: c, killed: make(chan struct{})}
}

// dockerContext is for a command to Docker that must not end with the trial.
func dockerContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), stopTimeout)
}

func (c *container) String() string { return c.Service }

// Kill ends the container. Ended returns the error.
func (c *container) Kill() {
	c.kill.Do(func() {
		ctx, cancel := dockerContext()
		defer cancel()
		c.keep(c.Container.Kill(ctx))
		close(c.killed)
	})
}

func (c *container) Done() <-chan struct{} { return c.killed }

// Ended waits until Kill was called and the container has ended.
func (c *container) Ended() (proof string, err error) {
	<-c.killed
	ctx, cancel := dockerContext()
	defer cancel()
	status, err := c.Wait(ctx)
	c.keep(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("container %s has ended, Docker reports status %s", c.Name, status), c.err
}

func (c *container) Pause() error {
	ctx, cancel := dockerContext()
	defer cancel()
	return c.Container.Pause(ctx)
}

func (c *container) Resume() {
	ctx, cancel := dockerContext()
	defer cancel()
	c.keep(c.Unpause(ctx))
}

// keep stores the first error for Ended.
func (c *container) keep(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *container) lastOutput() string {
	ctx, cancel := dockerContext()
	defer cancel()
	return c.LastLine(ctx)
}
