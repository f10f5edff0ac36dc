package explore

import (
	"locklab/lockstrategy/articlelock"
	"locklab/lockstrategy/redislock/script"
)

// V3 is the lock of version v3 as a list of steps: its scripts as they are, for a client that tries once. It has none of
// what v3 does beside them: renewal, a context that ends with the lease, re-entrance, the queue.
var V3 = articlelock.Lock{
	Name: "v3, its scripts",
	Acquire: []articlelock.Step{{
		Name: "acquire.lua",
		Command: func(c *articlelock.Client) []any {
			acquire, _ := script.Commands(articlelock.Key, c.Value, c.Lease)
			return acquire
		},
		Then: func(_ *articlelock.Client, reply any) articlelock.Next { return granted(reply) },
	}},
	Release:    []articlelock.Step{release},
	Compensate: []articlelock.Step{release},
}

var release = articlelock.Step{
	Name: "release.lua",
	Then: func(_ *articlelock.Client, reply any) articlelock.Next {
		if values, ok := reply.([]any); ok && len(values) > 0 && values[0] == int64(0) {
			return articlelock.NotHeld
		}
		return articlelock.Continue
	},
	Command: func(c *articlelock.Client) []any {
		_, release := script.Commands(articlelock.Key, c.Value, c.Lease)
		return release
	},
}

// granted reads the reply of acquire.lua: without a token another client holds the lock.
func granted(reply any) articlelock.Next {
	if script.Token(reply) > 0 {
		return articlelock.Continue
	}
	return articlelock.Refused
}
