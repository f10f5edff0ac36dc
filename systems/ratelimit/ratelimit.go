// Package ratelimit bounds how often several instances call one supplier together (A0: 12 nodes, 2000 calls a minute).
//
// A [Limiter] is asked before each call. It admits the call, or refuses it with a [Refusal] that says when to come back. [All] lists
// the ways to count, some of which admit too much: that is their purpose. [Transport] asks for outgoing calls, [Do] for any function.
// [Worst] judges what a supplier has seen.
//
// What is NOT guaranteed: a limiter counts when it admits, and the supplier when the call arrives. Calls that are delayed on the way
// can arrive closer together than they were admitted. Declare a window that is longer than the supplier's by the largest delay.
// Whether an admitted call was made is unknown to the limiter, and none is given back. When the clock of Redis is set back, calls are
// refused for a window at most. When it is set ahead, the window of the jump admits the calls of a new limit in addition.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limit is declared for one operation, as by the annotation of A0: its key, the number of calls, and the time.
type Limit struct {
	Key    string        // of the operation; the instances that share a limit use the same key
	Count  int           // calls that are allowed in any window, from 1
	Window time.Duration // from a millisecond, in whole milliseconds
}

// Bounds of a limit. A window of a day is far above what suppliers declare.
const (
	longestKey    = 200 // bytes
	largestCount  = 1_000_000
	longestWindow = 24 * time.Hour
)

// ErrInput says that a limit or an operation cannot work, and what to write instead.
var ErrInput = errors.New("ratelimit: bad input")

// ErrUnavailable says that the server of the counter gave no usable answer. Whether the call was counted is unknown.
var ErrUnavailable = errors.New("ratelimit: the counter is unavailable")

// Validate returns an error that wraps [ErrInput] and says what to change. An empty key is refused. A0's annotation has the default "",
// so methods without a key share one counter there.
func (l Limit) Validate() error {
	switch {
	case l.Key == "" || len(l.Key) > longestKey:
		return fmt.Errorf("%w: the key of the operation has %d bytes; it must have 1 to %d", ErrInput, len(l.Key), longestKey)
	case l.Count < 1 || l.Count > largestCount:
		return fmt.Errorf("%w: the limit of %.40q is %d; it must be 1 to %d calls", ErrInput, l.Key, l.Count, largestCount)
	case l.Window < time.Millisecond || l.Window > longestWindow || l.Window%time.Millisecond != 0:
		return fmt.Errorf("%w: the window of %.40q is %s; it must be 1ms to %s, in whole milliseconds", ErrInput, l.Key, l.Window, longestWindow)
	}
	return nil
}

// String is the limit for people: 2000 calls in 1m.
func (l Limit) String() string {
	window := strings.ReplaceAll(l.Window.String(), "m0s", "m")
	return fmt.Sprintf("%d calls in %s", l.Count, strings.ReplaceAll(window, "h0m", "h"))
}

// State is what is known of a limit after a call was admitted.
type State struct {
	Remaining int           // calls that would be admitted now; it may be old when it is read
	Reset     time.Duration // until all of the limit is there again, a window at most
	Unchecked bool          // the counter did not answer, and the limiter fails open
}

// Limiter admits calls.
type Limiter interface {
	// Allow asks for one call. It never waits for the limit. The error is a [*Refusal], or wraps [ErrUnavailable] or [ErrInput].
	Allow(ctx context.Context, limit Limit) (State, error)
}

// ErrRefused is what every [Refusal] is.
var ErrRefused = errors.New("ratelimit: refused")

// Refusal says that a call was not admitted, and when to come back.
type Refusal struct {
	Limit Limit
	After time.Duration // until a call may be admitted, a window at most: other callers may be first
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%v: %.40s allows %v; come back in %s", ErrRefused, r.Limit.Key, r.Limit, r.After.Round(time.Millisecond))
}

// Is makes a refusal an [ErrRefused].
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// refuse returns a refusal. after is what the counter said: of one without an expiry, -1, nothing is known, and it becomes a window.
func refuse(limit Limit, after time.Duration) error {
	if after == -1 {
		after = limit.Window
	}
	return &Refusal{Limit: limit, After: max(after, time.Millisecond)}
}

// Do calls f if the limiter admits it, as A0's aspect does around a method. The error of a refused call is the limiter's.
func Do(ctx context.Context, limiter Limiter, limit Limit, f func(ctx context.Context) error) error {
	if _, err := limiter.Allow(ctx, limit); err != nil {
		return err
	}
	return f(ctx)
}

// Mode says what happens to a call while the counter does not answer.
type Mode int

// The modes. Neither is right for every supplier: the one may exceed the limit, and the other loses calls.
const (
	FailClosed Mode = iota // the call is not made: the error wraps ErrUnavailable
	FailOpen               // the call is made, and not counted
)

// failing decides what happens without an answer.
type failing struct {
	Limiter
	mode   Mode
	within time.Duration
}

// Failing bounds how long the counter may take to answer, and says what happens without an answer. within is above 0.
func Failing(limiter Limiter, mode Mode, within time.Duration) (Limiter, error) {
	if within <= 0 {
		return nil, fmt.Errorf("%w: the time to answer is %s; it must be above 0", ErrInput, within)
	}
	return failing{limiter, mode, within}, nil
}

// Allow implements [Limiter].
func (f failing) Allow(ctx context.Context, limit Limit) (State, error) {
	asking, cancel := context.WithTimeout(ctx, f.within)
	defer cancel()
	state, err := f.Limiter.Allow(asking, limit)
	if f.mode == FailOpen && errors.Is(err, ErrUnavailable) && ctx.Err() == nil { // the caller has not left
		return State{Unchecked: true}, nil
	}
	return state, err
}
