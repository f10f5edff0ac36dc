package ratelimit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// local counts in this process. It is exact for one process, and knows nothing of the others.
type local struct {
	nodes    int // the limit is shared by so many, in equal parts
	mu       sync.Mutex
	admitted map[string][]time.Time // by key, in the last window
}

// newLocal returns the counter of one of nodes. Each gets its part of the limit, rounded down; what a node does not use is lost.
func newLocal(nodes int) *local { return &local{nodes: nodes, admitted: make(map[string][]time.Time)} }

// NewLocal returns a limiter that counts in this process, for what one process must bound alone. It forgets no key. A limit must be valid.
func NewLocal() Limiter { return newLocal(1) }

// Allow implements [Limiter].
func (l *local) Allow(_ context.Context, limit Limit) (State, error) {
	part := limit.Count / l.nodes
	if part == 0 {
		return State{}, fmt.Errorf("%w: a limit of %d calls leaves none for each of %d nodes", ErrInput, limit.Count, l.nodes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.allow(limit, part, time.Now())
}

func (l *local) allow(limit Limit, part int, now time.Time) (State, error) {
	recent := l.admitted[limit.Key]
	for len(recent) > 0 && now.Sub(recent[0]) >= limit.Window {
		recent = recent[1:]
	}
	if len(recent) >= part {
		l.admitted[limit.Key] = recent
		return State{}, refuse(limit, recent[0].Add(limit.Window).Sub(now))
	}
	l.admitted[limit.Key] = append(recent, now)
	return State{Remaining: part - len(recent) - 1, Reset: limit.Window}, nil
}

// unlimited admits everything. It is the measure for what the others cost.
type unlimited struct{}

// Allow implements [Limiter].
func (unlimited) Allow(_ context.Context, limit Limit) (State, error) {
	return State{Remaining: limit.Count}, nil
}
