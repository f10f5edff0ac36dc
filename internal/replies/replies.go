// Package replies says what an error of Redis, or of the connection to it, means for the command.
package replies

import (
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// MayHaveRun reports whether a server may have executed the command that failed with err: the command was sent, and not refused.
func MayHaveRun(err error) bool {
	var refused redis.Error
	var network *net.OpError
	notSent := errors.As(err, &network) && network.Op == "dial"
	return err != nil && !notSent && !errors.As(err, &refused)
}

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
