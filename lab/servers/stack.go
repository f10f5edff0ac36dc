package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Stack is a set of servers with a common directory. Close ends all of them.
type Stack struct {
	dir      string
	self     string // the path of this binary, which miniredis and the roles of other packages run
	checkout string // topologies run in containers of its compose file; empty: in processes

	mu    sync.Mutex
	parts []stopper // in the order in which they were started
	ports []int     // that its servers have
}

type stopper interface{ Stop() error }

// New makes an empty stack in a temporary directory. The caller must Close it. On Windows it is an error.
func New() (*Stack, error) {
	if os.Getenv(roleVariable) != "" { // this process would start itself again and again
		return nil, errors.New("servers: a stack has started this program, which did not call servers.Reexec first in main or TestMain")
	}
	if errSystem != nil {
		return nil, errSystem
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "locklab-")
	if err != nil {
		return nil, err
	}
	if err := reapAtEnd(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Stack{dir: dir, self: self}, nil
}

// Dir is the stack's directory, which Close removes.
func (s *Stack) Dir() string { return s.dir }

// Close stops everything, the last started first, and removes the directory. It returns when no process is left.
func (s *Stack) Close() error {
	s.mu.Lock()
	parts, ports := s.parts, s.ports
	s.parts, s.ports = nil, nil
	s.mu.Unlock()
	var err error
	for _, part := range slices.Backward(parts) {
		err = errors.Join(err, part.Stop())
	}
	allPorts.giveBack(ports)
	return errors.Join(err, os.RemoveAll(s.dir))
}

// workdir makes a directory for one server.
func (s *Stack) workdir(name string) (string, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, nil
}

// add lets Close stop a part.
func (s *Stack) add(part stopper) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, part)
}

// Permanent is an error after which [Until] does not try again.
type Permanent struct{ Err error }

func (p Permanent) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p Permanent) Unwrap() error { return p.Err }

// Until calls ready every 5 ms until it returns nil or [Permanent], or ctx ends. It is for a condition of which no event tells.
// The error is the last one of ready, joined with that of ctx.
func Until(ctx context.Context, ready func(context.Context) error) error {
	retry := time.NewTicker(5 * time.Millisecond)
	defer retry.Stop()
	for {
		err := ready(ctx)
		if permanent := (Permanent{}); err == nil || errors.As(err, &permanent) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-retry.C:
		}
	}
}

// await calls ready until it returns nil, the server ends, or ctx does.
func await(ctx context.Context, server Server, ready func(context.Context) error) error {
	err := Until(ctx, func(ctx context.Context) error {
		err := ready(ctx)
		select {
		case <-server.Done():
			if err != nil {
				err = Permanent{fmt.Errorf("%s ended before it was ready: %s", server, server.lastOutput())}
			}
		default:
		}
		return err
	})
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("%s is not ready in time: %w", server, err)
	}
	return err
}
