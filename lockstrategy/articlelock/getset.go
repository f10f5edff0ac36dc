package articlelock

import (
	"strconv"
	"time"
)

// GetSet is the older lock that A1 mentions. A1 names the commands; the form is from redis.io/docs/latest/commands/setnx. The key has
// no expiry: it contains the time at which the lock ends, by the clock of the client that took it. GETSET takes an ended lock from its
// holder. The clocks differ by a millisecond.
var GetSet = Lock{
	Name: "SETNX, GETSET", Article: "A1", ViolatedIn: "L20",
	Acquire:    []Step{setNXEnd, getEnd, getSetEnd},
	Release:    []Step{getAndCompare, del},
	ClientTime: true, Skew: time.Millisecond,
}

// GetSetApart is GetSet with clocks that differ by more than a lease.
var GetSetApart = Lock{
	Name: "SETNX, GETSET, clocks an hour apart", Article: "A1", ViolatedIn: "L20",
	Acquire:    GetSet.Acquire,
	Release:    GetSet.Release,
	ClientTime: true, Skew: time.Hour,
}

// setNXEnd takes a lock that no client has taken before.
var setNXEnd = Step{
	Name: "SETNX",
	Command: func(c *Client) []any {
		c.Value = milliseconds(c.Clock + c.Lease)
		return []any{"SETNX", Key, c.Value}
	},
	Then: func(_ *Client, reply any) Next {
		if reply == int64(1) {
			return Skip
		}
		return Continue
	},
}

// getEnd goes on if the lock has ended by the client's clock.
var getEnd = Step{
	Name:    "GET",
	Command: getAndCompare.Command,
	Then: func(c *Client, reply any) Next {
		c.Found, _ = reply.(string)
		if end, err := strconv.ParseInt(c.Found, 10, 64); err != nil || end > c.Clock.Milliseconds() {
			return Refused
		}
		return Continue
	},
}

// getSetEnd takes the lock. If another client was faster, it has written over the end of that client's lock.
var getSetEnd = Step{
	Name:    "GETSET",
	Command: func(c *Client) []any { return []any{"GETSET", Key, c.Value} },
	Then: func(c *Client, reply any) Next {
		if reply != c.Found {
			return Refused
		}
		return Continue
	},
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
