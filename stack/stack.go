package stack

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

// Stack is a set of processes with a common directory and a common end.
type Stack struct {
	dir      string
	checkout string   // whose containers topologies run in; empty: in processes
	lifeline *os.File // our end of the pipe: what we started lives while it is open
	watched  *os.File // the guards' end

	mu    sync.Mutex
	parts []interface{ Stop() error } // in the order they were started
}

// New makes an empty stack in a temporary directory. Close it.
func New() (*Stack, error) {
	dir, err := os.MkdirTemp("", "locklab-")
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	watched, lifeline, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stack: %w", err), os.RemoveAll(dir))
	}
	return &Stack{dir: dir, lifeline: lifeline, watched: watched}, nil
}

// Dir is the stack's directory, which Close removes.
func (s *Stack) Dir() string { return s.dir }

// Close stops everything, the last started first, and removes the directory. It returns when no
// process is left.
func (s *Stack) Close() error {
	s.mu.Lock()
	parts := s.parts
	s.parts = nil
	s.mu.Unlock()
	var err error
	for _, part := range slices.Backward(parts) {
		err = errors.Join(err, part.Stop())
	}
	return errors.Join(err, s.lifeline.Close(), s.watched.Close(), os.RemoveAll(s.dir))
}

// workdir makes a directory for one server.
func (s *Stack) workdir(name string) (string, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("stack: %w", err)
	}
	return dir, nil
}

func (s *Stack) add(part interface{ Stop() error }) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, part)
}

// Permanent is an error of what [Until] need not ask for again.
type Permanent struct{ Err error }

func (n Permanent) Error() string { return n.Err.Error() }

// Unwrap is why.
func (n Permanent) Unwrap() error { return n.Err }

// Until asks until ready answers nil or [Permanent], or ctx ends: for what no event tells.
func Until(ctx context.Context, ready func(context.Context) error) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		err := ready(ctx)
		if never := (Permanent{}); err == nil || errors.As(err, &never) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-again.C:
		}
	}
}

// await asks until ready answers nil, the server ends, or ctx does.
func await(ctx context.Context, p Server, ready func(context.Context) error) error {
	err := Until(ctx, func(ctx context.Context) error {
		err := ready(ctx)
		select {
		case <-p.Done():
			if err != nil {
				err = Permanent{fmt.Errorf("stack: %s ended before it was ready: %s", p, p.tail())}
			}
		default:
		}
		return err
	})
	if ctx.Err() != nil && err != nil {
		return fmt.Errorf("stack: %s is not ready in time: %w", p, err)
	}
	return err
}
