// Package replies says what an error of Redis, or of the connection to it, means for the command.
package replies

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// ErrNotSent says that a command was not sent, although the error of a connection is beside it.
var ErrNotSent = errors.New("nothing was sent")

// MayHaveRun reports whether a server may have executed the command that failed with err: the command was sent, and not refused.
func MayHaveRun(err error) bool {
	var refused redis.Error
	var network *net.OpError
	notSent := errors.Is(err, ErrNotSent) || errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, &network) && network.Op == "dial"
	return err != nil && !notSent && !errors.As(err, &refused)
}

// NotNow reports whether err is the reply of a server that has not executed the command, although it or another server will execute it
// later. There are five reasons. A slot of a cluster is moving (ASK, MOVED, TRYAGAIN). A cluster misses a master (CLUSTERDOWN). A replica
// is asked for a write (READONLY). A server is not ready (LOADING, MASTERDOWN). It executes a script that takes long (BUSY). To send the
// command again is harmless. OOM, MISCONF and NOREPLICAS are not among them: they last until somebody mends the server or its replicas.
func NotNow(err error) bool {
	if err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask || redis.IsTryAgainError(err) || redis.IsClusterDownError(err) || redis.IsReadOnlyError(err) ||
		redis.IsLoadingError(err) || redis.IsMasterDownError(err) || redis.HasErrorPrefix(err, "BUSY ") // there are BUSYGROUP and BUSYKEY
}

// Explain adds to an error what a reply means that does not say it itself.
func Explain(err error) error {
	if redis.IsTryAgainError(err) {
		return fmt.Errorf("a slot of the cluster is moving: %w", err)
	}
	return err
}

type once struct{}

// SendOnce marks the context of a command that is not to be sent again when it is refused for now. Its caller does that, or does not
// need it.
func SendOnce(ctx context.Context) context.Context { return context.WithValue(ctx, once{}, true) }

// SentOnce reports whether a context has that mark.
func SentOnce(ctx context.Context) bool { return ctx.Value(once{}) != nil }
