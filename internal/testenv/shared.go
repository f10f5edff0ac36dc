package testenv

import (
	"context"
	"errors"
	"sync"
	"testing"

	"locklab/stack"
)

// Shared is a server that the tests of a package share. It starts when the first of them asks for it, and [Main] ends it. Each test uses
// keys, or a database, of its own. A test that stops a server, changes its settings, or counts all that it stores, starts one with [Stack].
type Shared[T any] struct {
	Need  Need
	Start func(context.Context, *stack.Stack) (T, error)

	once   sync.Once
	server T
	err    error
}

// Of returns the server, or skips the test when the need is not met.
func (s *Shared[T]) Of(t testing.TB) T {
	t.Helper()
	Needs(t, s.Need)
	s.once.Do(func() {
		var started *stack.Stack
		if started, s.err = stack.New(); s.err != nil {
			return
		}
		sharedStacks.add(started)
		ctx, cancel := context.WithTimeout(context.Background(), longestStart)
		defer cancel()
		s.server, s.err = s.Start(ctx, started)
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// sharedStacks are the stacks of the shared servers, which [Main] closes.
var sharedStacks stacks

type stacks struct {
	mu  sync.Mutex
	all []*stack.Stack
}

func (s *stacks) add(started *stack.Stack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, started)
}

func (s *stacks) close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, started := range s.all {
		err = errors.Join(err, started.Close())
	}
	return err
}
