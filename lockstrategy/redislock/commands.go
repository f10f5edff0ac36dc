package redislock

import (
	"time"

	"locklab/lockstrategy"
)

// Commands are the commands that [Lock] sends to a server for an owner of this name that tries once, each as a list of arguments.
// Experiments use them to choose the interleaving of several owners.
func Commands(key, name string, lease time.Duration) (acquire, release []any) {
	acquire = []any{"EVAL", acquireSource, 2, key, grantKey(key), lease.Milliseconds(), name}
	release = []any{"EVAL", releaseSource, 1, key, name, "publish", ChannelOf(key)}
	return acquire, release
}

// Token is the fencing token of the lease that a reply to the acquire of [Commands] grants; 0: it grants none.
func Token(reply any) uint64 {
	if values, ok := reply.([]any); ok && len(values) > 0 {
		if number, ok := values[0].(int64); ok && number > 0 {
			return uint64(number) * lockstrategy.TokensPerGrant
		}
	}
	return 0
}
