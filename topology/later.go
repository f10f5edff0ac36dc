package topology

import (
	"context"
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

// later sends a command again that was refused for now ([replies.NotNow]): no server has executed it. It does
// so until the deadline of the context, or for laterAtMost. Then the error says for how long it was refused, and wraps the last reply.
// A command whose context has the mark [replies.SendOnce], and a pipeline, are not sent again.
type later struct{}

func (later) DialHook(next redis.DialHook) redis.DialHook { return next }

func (later) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		if !replies.NotNow(err) || replies.SentOnce(ctx) {
			return err
		}
		end := began.Add(laterAtMost)
		if deadline, bounded := ctx.Deadline(); bounded && deadline.Before(end) {
			end = deadline
		}
		for refused := err; replies.NotNow(err); refused = err {
			if time.Until(end) < 2*laterPause || !pause(ctx, laterPause) { // a try that the deadline cuts would hide the reason
				return fmt.Errorf("refused for %s: %w", time.Since(began).Round(time.Millisecond), replies.Explain(err))
			}
			if err = next(ctx, cmd); err != nil && ctx.Err() != nil {
				err = fmt.Errorf("%w; before that: %s", err, refused.Error()) // the last one may have been executed
			}
		}
		return err
	}
}

// pause waits for d. It reports false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (later) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
