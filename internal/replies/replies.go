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

// NotYet is the error of a client that does not know to which server a command is to be sent. It was not sent, and may be sent soon.
type NotYet string

func (n NotYet) Error() string { return string(n) }

// MayHaveRun reports whether a server may have executed the command that failed with err: the command was sent, and not refused.
func MayHaveRun(err error) bool {
	var refused redis.Error
	var network *net.OpError
	notSent := errors.Is(err, ErrNotSent) || errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, new(NotYet)) ||
		errors.As(err, &network) && network.Op == "dial"
	return err != nil && !notSent && !errors.As(err, &refused)
}

// NotNow reports whether no server has executed the command, although one will execute it later: err is a [NotYet], or a reply that says
// so. A server has five reasons. A slot of a cluster is moving (ASK, MOVED, TRYAGAIN). A cluster misses a master (CLUSTERDOWN). A replica
// is asked for a write (READONLY). The server is not ready (LOADING, MASTERDOWN). It executes a script that takes long (BUSY). To send the
// command again is harmless. OOM, MISCONF and NOREPLICAS are not among them: they last until somebody mends the server or its replicas.
func NotNow(err error) bool {
	moved := redis.HasErrorPrefix(err, "MOVED ") || redis.HasErrorPrefix(err, "ASK ")
	return moved || errors.As(err, new(NotYet)) || redis.IsTryAgainError(err) || redis.IsClusterDownError(err) || redis.IsReadOnlyError(err) ||
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
