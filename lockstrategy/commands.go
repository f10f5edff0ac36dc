package lockstrategy

import "time"

// Commands are what [Redis] sends to a server for an owner that tries once, as arguments of one command each. Experiments use them
// to choose the interleaving of several owners.
func Commands(key, owner string, lease time.Duration) (acquire, release []any) {
	acquire = []any{"EVAL", acquireSource, 2, key, tokenKey(key), lease.Milliseconds(), owner, 1}
	release = []any{"EVAL", releaseSource, 2, key, channelOf(key), owner, "publish"}
	return acquire, release
}
