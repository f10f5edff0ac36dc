// Package script has the three scripts of the Redis lock, and the names of the keys and the channel that they use. It needs no client, so
// that it also runs where there is none: package explore in a browser.
package script

import (
	_ "embed" // the scripts
	"strings"
	"time"

	"locklab/lockstrategy"
)

// The scripts.
var (
	//go:embed acquire.lua
	Acquire string
	//go:embed renew.lua
	Renew string
	//go:embed release.lua
	Release string
)

// Commands are the commands that the lock sends to a server for an owner of this name that tries once, each as a list of arguments.
// Experiments use them to choose the interleaving of several owners.
func Commands(key, name string, lease time.Duration) (acquire, release []any) {
	acquire = []any{"EVAL", Acquire, 2, key, GrantKey(key), lease.Milliseconds(), name}
	release = []any{"EVAL", Release, 1, key, name, "publish", Channel(key)}
	return acquire, release
}

// Token is the fencing token of the lease that a reply to the acquire of [Commands] grants, or 0 if it grants none.
func Token(reply any) uint64 {
	if values, ok := reply.([]any); ok && len(values) > 0 {
		if number, ok := values[0].(int64); ok && number > 0 {
			return uint64(number) * lockstrategy.TokensPerGrant
		}
	}
	return 0
}

// GrantKey is the key of the number of a lock's last grant, of which fencing tokens are made.
func GrantKey(key string) string { return prefixed(GrantPrefix, key) }

// GrantPrefix is the prefix of the keys that have the number of a lock's last grant.
const GrantPrefix = "locklab_grant"

// Channel names the channel on which the release of key is published.
func Channel(key string) string { return prefixed("redisson_lock__channel", key) }

// prefixed builds a name in the cluster slot of key, as Redisson does.
func prefixed(prefix, key string) string {
	if strings.Contains(key, "{") {
		return prefix + ":" + key
	}
	return prefix + ":{" + key + "}"
}
