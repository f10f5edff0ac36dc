package steps

import (
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

// V3 is the lock of version v3 as a list of steps: its scripts as they are, for a client that tries once. What it does
// beside them (renewal, a context that ends with the lease, re-entrance, the queue) is not in it.
var V3 = naive.Lock{
	Name: "v3, its scripts",
	Acquire: []naive.Step{{
		Name: "acquire.lua",
		Command: func(c *naive.Client) []any {
			acquire, _ := lockstrategy.Commands(naive.Key, c.Value, c.Lease)
			return acquire
		},
		Then: func(_ *naive.Client, answer any) naive.Next { return granted(answer) },
	}},
	Release: []naive.Step{release},
	Undo:    []naive.Step{release},
}

var release = naive.Step{
	Name: "release.lua",
	Command: func(c *naive.Client) []any {
		_, release := lockstrategy.Commands(naive.Key, c.Value, c.Lease)
		return release
	},
}

// granted reads the reply of acquire.lua: the fence comes first, and is 0 where another has the lock.
func granted(answer any) naive.Next {
	if reply, ok := answer.([]any); ok && len(reply) > 0 {
		if fence, ok := reply[0].(int64); ok && fence > 0 {
			return naive.On
		}
	}
	return naive.Refused
}
