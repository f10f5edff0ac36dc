package steps

import (
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

// V3 is the lock of version v3 as a list of steps: its scripts as they are, for a client that tries once. It has none of
// what v3 does beside them: renewal, a context that ends with the lease, re-entrance, the cohort.
var V3 = naive.Lock{
	Name: "v3, its scripts",
	Acquire: []naive.Step{{
		Name: "acquire.lua",
		Command: func(c *naive.Client) []any {
			acquire, _ := lockstrategy.Commands(naive.Key, c.Value, c.Lease)
			return acquire
		},
		Then: func(_ *naive.Client, reply any) naive.Next { return granted(reply) },
	}},
	Release:    []naive.Step{release},
	Compensate: []naive.Step{release},
}

var release = naive.Step{
	Name: "release.lua",
	Then: func(_ *naive.Client, reply any) naive.Next {
		if values, ok := reply.([]any); ok && len(values) > 0 && values[0] == int64(0) {
			return naive.NotHeld
		}
		return naive.Continue
	},
	Command: func(c *naive.Client) []any {
		_, release := lockstrategy.Commands(naive.Key, c.Value, c.Lease)
		return release
	},
}

// granted reads the reply of acquire.lua: without a token another client holds the lock.
func granted(reply any) naive.Next {
	if lockstrategy.Token(reply) > 0 {
		return naive.Continue
	}
	return naive.Refused
}
