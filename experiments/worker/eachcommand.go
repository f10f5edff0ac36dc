package worker

import "github.com/redis/go-redis/v9"

// EachCommand is the part of a [redis.Hook] that only looks at commands outside of pipelines. Its ProcessHook is missing.
type EachCommand struct{}

// DialHook implements [redis.Hook].
func (EachCommand) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements [redis.Hook].
func (EachCommand) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
