package topology

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

const (
	// laterPause is short: a READONLY reply costs one connection, and each of them may lead to the server that was the master.
	laterPause  = 20 * time.Millisecond
	laterAtMost = 5 * time.Second // for a command without a deadline: a replica takes over in less
)

// later sends a command again that was refused for now ([replies.NotNow]), or had no master to go to: no server has executed it. It does so
// until the deadline of the context, or for laterAtMost. Then the error says for how long it was refused, and wraps the last reply.
type later struct{}

func (later) DialHook(next redis.DialHook) redis.DialHook { return next }

func (later) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		if !notNow(err) { // nearly always
			return err
		}
		bound, cancel := context.WithDeadline(ctx, began.Add(laterAtMost))
		defer cancel()
		for notNow(err) {
			select {
			case <-bound.Done():
			case <-time.After(laterPause):
			}
			if bound.Err() != nil {
				return fmt.Errorf("refused for %s%s: %w", time.Since(began).Round(time.Millisecond), because(err), err)
			}
			err = next(ctx, cmd)
		}
		return err
	}
}

func notNow(err error) bool { return replies.NotNow(err) || errors.Is(err, errNoMaster) }

// because says what a reply means that does not say it itself.
func because(err error) string {
	if redis.IsTryAgainError(err) {
		return ", because a slot of the cluster is moving"
	}
	return ""
}

func (later) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
