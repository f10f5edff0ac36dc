package servers

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"locklab/lab/servers/compose"
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

// bounded calls Docker with a context that does not end with the trial.
func bounded(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return call(ctx)
}

func (c *container) String() string { return c.Service }

// Kill ends the container. Ended returns the error.
func (c *container) Kill() {
	c.kill.Do(func() {
		c.keep(bounded(c.Container.Kill))
		close(c.killed)
	})
}

func (c *container) Done() <-chan struct{} { return c.killed }

// Ended waits until Kill was called and the container has ended.
func (c *container) Ended() (proof string, err error) {
	<-c.killed
	var status string
	c.keep(bounded(func(ctx context.Context) (err error) { status, err = c.Wait(ctx); return err }))
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("container %s has ended, Docker reports status %s", c.Name, status), c.err
}

func (c *container) Pause() error { return bounded(c.Container.Pause) }

func (c *container) Resume() { c.keep(bounded(c.Unpause)) }

// keep stores the first error for Ended.
func (c *container) keep(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = cmp.Or(c.err, err)
}

func (c *container) lastOutput() (line string) {
	_ = bounded(func(ctx context.Context) error { line = c.LastLine(ctx); return nil })
	return line
}
