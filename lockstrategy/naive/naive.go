// Package naive holds locks that break, one in each file, as the articles show them in substance; and beside them,
// to compare, how it is done well. Each says which article has it and which experiment breaks it. Do not use them.
//
// A lock is two lists of steps, each one command to Redis. Between any two of them a client may be stopped, die, or be
// overtaken, and that is where they break: a scheduler (package steps) decides who moves, so that nobody
// needs luck to see it. Every step has a name, and so has every stop: it is before the step of that name.
//
// What is NOT guaranteed: anything.
package naive

import "time"

// Key is the lock's key, in all of them.
const Key = "lock"

// Lock is a way to lock. All of them try once: who is refused goes away.
type Lock struct {
	Name       string // as it is called in a table
	Article    string // that shows it; empty: none does
	ViolatedIn string // the experiments that break it; empty: none of those about its commands
	Acquire    []Step
	Release    []Step
	Renew      []Step // in the middle of the work; mostly there is none
	Undo       []Step // when its acquire got no answer; without it the client goes away
	// Shared: the value in the lock is the client's name, the same in each of its attempts.
	Shared bool
}

// Step is one command to Redis, and what its answer means.
type Step struct {
	Name    string
	Command func(c *Client) []any
	// Then looks at the answer: a string, an int64, a list, or nil. Without it the client goes on.
	Then func(c *Client, answer any) Next
}

// Next is what a client does after an answer.
type Next int

// What it may do.
const (
	On      Next = iota // the next step
	Refused             // it has not got the lock, and goes away
	Skip                // leave out the rest of this list: it is not for this client to do
)

// Client is who walks through the steps.
type Client struct {
	Name  string
	Value string // what it stores as the lock's value
	Lease time.Duration
	Found string // what it has found in the lock
}

// Millis is the lease as Redis takes it.
func (c *Client) Millis() int64 { return c.Lease.Milliseconds() }

// won goes on when the answer says that something was done: 1, or OK.
func won(_ *Client, answer any) Next {
	if n, ok := answer.(int64); ok && n == 0 || answer == nil {
		return Refused
	}
	return On
}

// del deletes the lock, whoever has it.
var del = Step{Name: "DEL", Command: func(*Client) []any { return []any{"DEL", Key} }}

// setNXPX takes the lock if nobody has it, with an expiry, in one command.
var setNXPX = Step{
	Name:    "SET NX PX",
	Command: func(c *Client) []any { return []any{"SET", Key, c.Value, "NX", "PX", c.Millis()} },
	Then:    won,
}

// compareAndDelete deletes the lock if the client's value is in it, in one script.
var compareAndDelete = Step{
	Name: "script: compare, DEL",
	Command: func(c *Client) []any {
		return eval("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", c.Value)
	},
}

// eval is a script about the lock's key.
func eval(script string, args ...any) []any {
	return append([]any{"EVAL", script, 1, Key}, args...)
}
