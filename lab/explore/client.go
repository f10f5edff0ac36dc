package explore

import (
	"fmt"
	"strconv"

	"locklab/lockstrategy/articlelock"
)

// Counter is the key of the counter behind the lock.
const Counter = "counter"

// phase is the part of its life that a client is in.
type phase int

const (
	acquiring phase = iota
	reading
	renewing
	writing
	releasing
	ended
	compensating // after an acquire whose reply was lost
)

// Client is a client of a lock, with its position in the lock's steps.
type Client struct {
	articlelock.Client
	lock  articlelock.Lock
	phase phase
	at    int // the next step of the phase's list
	read  int64
	wrote int64 // 0: nothing yet
	how   string
	// notHeld: its release has learned that it did not hold the lock.
	notHeld bool
}

// How the life of a client ended.
const (
	refused   = "refused"
	noReply   = "without a reply" // to its acquire: it does not believe that it holds the lock
	dead      = "dead"
	completed = "done"
)

// Ended reports whether no step is left, and how the client ended.
func (c *Client) Ended() (how string, over bool) { return c.how, c.phase == ended }

// NextStep is the name of the client's next step; empty: it has ended.
func (c *Client) NextStep() string {
	if c.phase == ended {
		return ""
	}
	return c.next().Name
}

// Where says where the client is.
func (c *Client) Where() (where string) {
	switch c.phase {
	case ended:
		switch {
		case c.how == completed && c.notHeld:
			return fmt.Sprintf("done, wrote %d, not the owner", c.wrote)
		case c.how == completed:
			return fmt.Sprintf("done, wrote %d", c.wrote)
		}
		return c.how
	case acquiring:
		where = "wants the lock"
		if c.at > 0 {
			where = "is taking the lock"
		}
	case reading:
		where = "holds the lock"
	case renewing, writing:
		where = fmt.Sprintf("holds the lock, read %d", c.read)
	case releasing:
		where = fmt.Sprintf("releases the lock, wrote %d", c.wrote)
		if c.how == refused {
			where = "was refused, and releases all the same"
		}
	case compensating:
		where = "got no reply, and compensates"
	}
	return where
}

// believes reports whether the client works as the holder of the lock.
func (c *Client) believes() bool {
	return c.phase >= reading && c.phase <= releasing && c.how != refused
}

func (c *Client) next() articlelock.Step {
	switch c.phase {
	case reading:
		return articlelock.Step{Name: "GET counter", Command: func(*articlelock.Client) []any { return []any{"GET", Counter} }}
	case writing:
		return articlelock.Step{Name: "SET counter", Command: func(*articlelock.Client) []any { return []any{"SET", Counter, c.read + 1} }}
	}
	return c.list()[c.at]
}

func (c *Client) list() []articlelock.Step {
	switch c.phase {
	case acquiring:
		return c.lock.Acquire
	case renewing:
		return c.lock.Renew
	case releasing:
		return c.lock.Release
	case compensating:
		return c.lock.Compensate
	}
	return nil
}

// replied takes the reply to a step, and goes on.
func (c *Client) replied(step articlelock.Step, reply any) error {
	switch c.phase {
	case reading:
		text, _ := reply.(string) // nil before the first write
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			c.read = n
		} else if text != "" {
			return fmt.Errorf("the counter contains %q", text)
		}
		c.enter(renewing)
	case writing:
		c.wrote = c.read + 1
		c.enter(releasing)
	default:
		next := articlelock.Continue
		if step.Then != nil {
			next = step.Then(&c.Client, reply)
		}
		if next == articlelock.Refused && c.phase == acquiring {
			c.phase, c.how = ended, refused
			if c.lock.Finally {
				c.phase, c.at = releasing, 0
			}
			return nil
		}
		c.notHeld = next == articlelock.NotHeld && c.phase == releasing
		switch c.at++; {
		case c.at < len(c.list()) && next != articlelock.Skip && next != articlelock.NotHeld:
		case c.phase == compensating:
			c.phase, c.how = ended, noReply
		default:
			c.enter(c.phase + 1)
		}
	}
	return nil
}

// lostReply goes on without a reply to a step of the acquire.
func (c *Client) lostReply() {
	c.phase, c.at = compensating, 0
	if len(c.lock.Compensate) == 0 {
		c.phase, c.how = ended, noReply
	}
}

// enter begins a phase, or the first one after it that has steps.
func (c *Client) enter(p phase) {
	c.phase, c.at = p, 0
	switch {
	case p == ended:
		if c.how == "" {
			c.how = completed
		}
	case p != reading && p != writing && len(c.list()) == 0:
		c.enter(p + 1)
	}
}

func (c *Client) die() { c.phase, c.how = ended, dead }

// state is everything that the client's future depends on, as text.
func (c *Client) state() string {
	return fmt.Sprintf("%d.%d %d %d %s %q %q %t %v %t",
		c.phase, c.at, c.read, c.wrote, c.how, c.Value, c.Found, c.Refused, c.Clock, c.notHeld)
}
