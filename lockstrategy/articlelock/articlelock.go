// Package articlelock contains locks with a defect, one in each file, as the articles show them in substance; and beside them,
// to compare, correct ones. Each says which article shows it and which experiment violates it. Do not use them.
//
// A lock is two lists of steps, each one command to Redis. Between any two of them a client may be stopped, die, or be
// overtaken, and that is where the defects are. A scheduler (package explore) decides which client moves, so that a violation
// needs no luck. Every step has a name, and every stop is named after the step that follows it.
//
// What is NOT guaranteed: anything.
package articlelock

import "time"

// Key is the lock's key, in all of them.
const Key = "lock"

// Lock is a way to lock. All of them try once: a refused client does not ask again.
type Lock struct {
	Name       string // as it is called in a table
	Article    string // that shows it, if one does
	ViolatedIn string // the experiments that violate it
	Acquire    []Step
	Release    []Step
	Renew      []Step // in the middle of the work; mostly there is none
	Compensate []Step // when the reply to its acquire was lost; without it the client ends
	// Shared: the value in the lock is the same in each attempt of a driver.
	Shared bool
	// Finally: a refused client does the steps of the release, too, as a finally block does. One whose reply was lost does not.
	Finally bool
	// ClientTime: the lock contains the time at which it ends, by the client's clock. It never expires in the server.
	ClientTime bool
	// Skew is by how much the clock of each client is ahead of the clock before it.
	Skew time.Duration
}

// Step is one command to Redis, and what its reply means.
type Step struct {
	Name    string
	Command func(c *Client) []any
	// Then reads the reply: a string, an int64, a list, or nil. Without it the client continues.
	Then func(c *Client, reply any) Next
	// Words says what a reply means, for people; nil: the reply says it itself.
	Words func(reply any) string
}

// Next is what a client does after a reply.
type Next int

// Next steps of a client.
const (
	Continue Next = iota // with the next step
	Refused              // another client holds the lock; this one does not get it
	Skip                 // the rest of this list
	NotHeld              // the rest of the release: the client learns that it did not hold the lock
)

// Client is a client that does the steps.
type Client struct {
	Name    string
	Value   string // that it stores in the lock
	Lease   time.Duration
	Found   string        // the value that it read from the lock
	Refused bool          // by a reply that a later step reads
	Clock   time.Duration // the time of its clock
}

// Millis is the lease as Redis takes it.
func (c *Client) Millis() int64 { return c.Lease.Milliseconds() }

// won continues when the reply says that something was done: 1, or OK.
func won(_ *Client, reply any) Next {
	if n, ok := reply.(int64); ok && n == 0 || reply == nil {
		return Refused
	}
	return Continue
}

// released reads whether the client held the lock that it has released.
func released(_ *Client, reply any) Next {
	if reply == int64(0) {
		return NotHeld
	}
	return Continue
}

// del deletes the lock of any client.
var del = Step{Name: "DEL", Command: func(*Client) []any { return []any{"DEL", Key} }}

// setNXPX takes a free lock, with an expiry, in one command.
var setNXPX = Step{
	Name:    "SET NX PX",
	Command: func(c *Client) []any { return []any{"SET", Key, c.Value, "NX", "PX", c.Millis()} },
	Then:    won,
}

// compareAndDelete deletes the lock if it contains the client's value, in one script.
var compareAndDelete = script("script: compare, DEL", released,
	"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0")

// script is a step in Lua. KEYS[1] is the lock's key, ARGV[1] the client's value, ARGV[2] its lease in milliseconds.
func script(name string, then func(*Client, any) Next, lua string) Step {
	return Step{Name: name, Then: then, Command: func(c *Client) []any { return []any{"EVAL", lua, 1, Key, c.Value, c.Millis()} }}
}
