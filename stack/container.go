package stack

import (
	"context"
	"fmt"
	"sync"

	"locklab/stack/compose"
)

// container is a [Server] that runs in one.
type container struct {
	compose.Container
	kill  sync.Once
	ended chan struct{}

	mu  sync.Mutex
	err error // of what has no other way to say it
}

func contain(c compose.Container) *container {
	return &container{Container: c, ended: make(chan struct{})}
}

// soon is for a command to Docker that does not end with the trial.
func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), grace)
}

func (c *container) String() string { return c.Service }

// Kill ends it. That it could not be killed, Ended says.
func (c *container) Kill() {
	c.kill.Do(func() {
		ctx, cancel := soon()
		defer cancel()
		c.failed(c.Container.Kill(ctx))
		close(c.ended)
	})
}

func (c *container) Done() <-chan struct{} { return c.ended }

// Ended waits until it was killed.
func (c *container) Ended() (proof string, err error) {
	<-c.ended
	ctx, cancel := soon()
	defer cancel()
	status, err := c.Wait(ctx)
	c.failed(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("container %s has ended, Docker says with status %s", c.Name, status), c.err
}

func (c *container) Pause() error {
	ctx, cancel := soon()
	defer cancel()
	return c.Container.Pause(ctx)
}

func (c *container) Resume() {
	ctx, cancel := soon()
	defer cancel()
	c.failed(c.Unpause(ctx))
}

func (c *container) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *container) tail() string {
	ctx, cancel := soon()
	defer cancel()
	return c.LastLine(ctx)
}

var _ Server = (*container)(nil)
