package testenv

import (
	"context"
	"errors"
	"sync"
	"testing"

	"locklab/lab/servers"
)

// Shared is a server that the tests of a package share. It starts when the first of them asks for it, and [Main] ends it. Each test uses
// keys, or a database, of its own. A test that stops a server, changes its settings, or counts all that it stores, starts one with [Stack].
type Shared[T any] struct {
	Need  Need
	Start func(context.Context, *servers.Stack) (T, error)

	once   sync.Once
	server T
	err    error
}

// Of returns the server, or skips the test when the need is not met.
func (s *Shared[T]) Of(t testing.TB) T {
	t.Helper()
	Needs(t, s.Need)
	s.once.Do(func() {
		var started *servers.Stack
		if started, s.err = servers.New(); s.err != nil {
			return
		}
		AtEnd(started.Close)
		ctx, cancel := context.WithTimeout(context.Background(), longestStart)
		defer cancel()
		s.server, s.err = s.Start(ctx, started)
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// AtEnd has [Main] call end after the tests of a package: it ends what they share.
func AtEnd(end func() error) {
	ends.mu.Lock()
	defer ends.mu.Unlock()
	ends.all = append(ends.all, end)
}

var ends struct {
	mu  sync.Mutex
	all []func() error
}

// endShared ends what the tests of this package have shared.
func endShared() (err error) {
	ends.mu.Lock()
	defer ends.mu.Unlock()
	for _, end := range ends.all {
		err = errors.Join(err, end())
	}
	return err
}
