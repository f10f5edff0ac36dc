// Package replies says what an error that Redis has replied means for the command.
package replies

import "github.com/redis/go-redis/v9"

// NotNow reports whether err is the reply of a server that has not executed the command, although it or another server will execute it
// later. There are four reasons. A slot of a cluster is moving (ASK, MOVED, TRYAGAIN). A cluster misses a master (CLUSTERDOWN). A replica
// is asked for a write (READONLY). A server is not ready (LOADING, MASTERDOWN). To send the command again is harmless.
func NotNow(err error) bool {
	if err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask || redis.IsTryAgainError(err) || redis.IsClusterDownError(err) || redis.IsReadOnlyError(err) ||
		redis.IsLoadingError(err) || redis.IsMasterDownError(err)
}
