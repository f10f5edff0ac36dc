package clients

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// EachCommand is a [redis.Hook] that is called in place of each command outside of pipelines. send sends the command.
type EachCommand func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error

// ProcessHook implements [redis.Hook].
func (e EachCommand) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return e(ctx, cmd, next) }
}

// DialHook implements [redis.Hook].
func (EachCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (EachCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
