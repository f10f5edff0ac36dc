package explore

import (
	"fmt"

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
		Then:  func(_ *articlelock.Client, reply any) articlelock.Next { return granted(reply) },
		Words: grantedInWords,
	}},
	Release:    []articlelock.Step{release},
	Compensate: []articlelock.Step{release},
}

var release = articlelock.Step{
	Name: "release.lua",
	Then: func(_ *articlelock.Client, reply any) articlelock.Next {
		if !freed(reply) {
			return articlelock.NotHeld
		}
		return articlelock.Continue
	},
	Words: func(reply any) string {
		if !freed(reply) {
			return "not its own"
		}
		return "released"
	},
	Command: func(c *articlelock.Client) []any {
		_, release := script.Commands(articlelock.Key, c.Value, c.Lease)
		return release
	},
}

// freed reads the reply of release.lua: 0 first means that the owner did not hold the lock.
func freed(reply any) bool {
	values, ok := reply.([]any)
	return !ok || len(values) == 0 || values[0] != int64(0)
}

// grantedInWords is the reply of acquire.lua for people. Of a refusal it says what is left of the other lease.
func grantedInWords(reply any) string {
	if granted(reply) == articlelock.Continue {
		return "granted"
	}
	values, _ := reply.([]any)
	if len(values) < 2 {
		return shown(reply)
	}
	left, _ := values[1].(int64)
	if left < 0 {
		return "refused: the key has no expiry"
	}
	return fmt.Sprintf("refused: %.1f s left", float64(left)/1000)
}

// granted reads the reply of acquire.lua: without a token another client holds the lock.
func granted(reply any) articlelock.Next {
	if script.Token(reply) > 0 {
		return articlelock.Continue
	}
	return articlelock.Refused
}
