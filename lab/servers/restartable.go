package servers

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Restartable is one server of any kind. It keeps its address.
type Restartable struct {
	Server        // what runs it now: Restart replaces it
	Name   string // in the stack
	Addr   string // host:port, for clients

	start func() (*Process, error)                       // at Addr; nil: it runs in a container
	ready func(context.Context) (says string, err error) // whether it serves, and what it says of itself then
}

// PID is the process id of a server that runs in no container.
func (r *Restartable) PID() int { return r.Server.(*Process).PID() }

// Await calls ready until it returns nil, the server ends, or ctx does.
func (r *Restartable) Await(ctx context.Context, ready func(context.Context) error) error {
	return await(ctx, r, ready)
}

// Restart kills the server, unless it has ended, and starts it again at its address, with what is on its disk. It returns when the server
// serves. The server must not be used meanwhile. A container cannot be started again: that is an error.
func (r *Restartable) Restart(ctx context.Context) (proof string, err error) {
	if r.start == nil {
		return "", fmt.Errorf("%s cannot be started again: it runs in a container", r.Name)
	}
	r.Kill()
	before, err := r.Ended()
	if err == nil {
		err = r.launch()
	}
	if err != nil {
		return "", err
	}
	says, err := r.serves(ctx)
	return fmt.Sprintf("%s; process %d answers at %s%s", before, r.PID(), r.Addr, says), err
}

// launch starts the server, and does not wait for it.
func (r *Restartable) launch() error {
	p, err := r.start()
	if err == nil {
		r.Server = p
	}
	return err
}

// serves waits until the server is ready.
func (r *Restartable) serves(ctx context.Context) (says string, err error) {
	err = r.Await(ctx, func(ctx context.Context) (err error) {
		says, err = r.ready(ctx)
		return err
	})
	return says, err
}

// startAll starts servers that belong together, and waits until all are ready. It calls before, unless that is nil, before it starts server
// i. After an error some may run, until the stack is closed.
func startAll[S interface {
	launch() error
	serves(context.Context) (string, error)
}](ctx context.Context, servers []S, before func(i int) error) error {
	for i, s := range servers {
		if before != nil {
			if err := before(i); err != nil {
				return err
			}
		}
		if err := s.launch(); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		group.Go(func() error { _, err := s.serves(ctx); return err })
	}
	return group.Wait()
}

// awaitLeader waits until one of the servers leads, and returns it.
func awaitLeader[S interface {
	leads(context.Context) (bool, error)
}](ctx context.Context, servers []S) (leader S, err error) {
	err = Until(ctx, func(ctx context.Context) error {
		failed := errors.New("no server leads")
		for _, s := range servers {
			leads, err := s.leads(ctx)
			if leads {
				leader = s
				return err
			}
			failed = errors.Join(failed, err)
		}
		return failed
	})
	return leader, err
}

// startAtFreeAddr starts a server at a free address, and waits until it is ready.
func (s *Stack) startAtFreeAddr(ctx context.Context, r *Restartable) error {
	err := s.atFreeAddr(func(addr string) error {
		r.Addr = addr
		if err := r.launch(); err != nil {
			return err
		}
		_, err := r.serves(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	return nil
}
