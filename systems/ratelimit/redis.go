package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// The scripts.
var (
	//go:embed a0.lua
	a0Source string
	//go:embed fixed.lua
	fixedSource string
	//go:embed sliding.lua
	slidingSource string

	a0Script      = redis.NewScript(a0Source)
	fixedScript   = redis.NewScript(fixedSource)
	slidingScript = redis.NewScript(slidingSource)
)

// unanswered is the error of a command that got no usable answer; nil stays nil.
func unanswered(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// misstored adds the key, and what to do, to the error of a counter that is no number: another program has written it.
func misstored(err error, key string) error {
	if !errors.Is(err, ErrUnavailable) {
		return err
	}
	says := func(text string) bool { return strings.Contains(err.Error(), text) } // a script puts text of its own before Redis's
	if errors.Is(err, strconv.ErrSyntax) || errors.Is(err, strconv.ErrRange) || slices.ContainsFunc(misstoredTexts, says) {
		return fmt.Errorf("%w: the key %s holds no counter of ours: delete it", err, key)
	}
	return err
}

// misstoredTexts are parts of what Redis says of a value that cannot be counted: to INCR, to commands of another type, and to Lua's math.
var misstoredTexts = []string{"not an integer", "WRONGTYPE", "number expected"}

// article is A0's listing: read the counter, compare, then count by a script, and ignore what the script says. Between the two
// other callers pass the same comparison.
type article struct {
	client  redis.UniversalClient
	atLeast bool // compare with >= instead of >: A0's comparison admits one call too many
}

// Allow implements [Limiter].
func (a article) Allow(ctx context.Context, limit Limit) (State, error) {
	count, err := a.client.Get(ctx, limit.Key).Int()
	if err != nil && !errors.Is(err, redis.Nil) {
		return State{}, unanswered(err)
	}
	if count > limit.Count || a.atLeast && count == limit.Count {
		return State{}, refuse(limit, a.client.PTTL(ctx, limit.Key).Val())
	}
	if err := a0Script.Run(ctx, a.client, []string{limit.Key}, limit.Window.Milliseconds()).Err(); err != nil {
		return State{}, unanswered(err)
	}
	return State{Remaining: max(0, limit.Count-count-1), Reset: limit.Window}, nil
}

// twoCommands counts by INCR and then sets the expiry by a second command. A process that dies between them leaves a counter without
// an expiry, and no later call sets one.
type twoCommands struct{ client redis.UniversalClient }

// Allow implements [Limiter].
func (t twoCommands) Allow(ctx context.Context, limit Limit) (State, error) {
	count, err := t.client.Incr(ctx, limit.Key).Result()
	if redis.HasErrorPrefix(err, "increment or decrement would overflow") {
		count, err = math.MaxInt64, nil
	}
	if err == nil && count == 1 {
		err = t.client.PExpire(ctx, limit.Key, limit.Window).Err()
	}
	switch {
	case err != nil:
		return State{}, unanswered(err)
	case count > int64(limit.Count):
		return State{}, refuse(limit, t.client.PTTL(ctx, limit.Key).Val())
	}
	return State{Remaining: limit.Count - int(count), Reset: limit.Window}, nil
}

// scripted runs one script that decides and counts.
type scripted struct {
	client redis.UniversalClient
	script *redis.Script
}

// Allow implements [Limiter].
func (s scripted) Allow(ctx context.Context, limit Limit) (State, error) {
	reply, err := s.script.Run(ctx, s.client, []string{limit.Key}, limit.Count, limit.Window.Milliseconds()).Int64Slice()
	if err != nil {
		return State{}, unanswered(err)
	}
	remaining, wait := int(reply[0]), time.Duration(reply[1])*time.Millisecond
	if remaining < 0 {
		return State{}, refuse(limit, wait)
	}
	return State{Remaining: remaining, Reset: wait}, nil
}

// rateKeys is what redis_rate puts before its keys.
const rateKeys = "rate:"

// gcra is the generic cell rate algorithm of go-redis/redis_rate: a burst at any time, and a constant rate. Any window admits up to
// the burst and the calls of the rate together.
type gcra struct {
	limiter *redis_rate.Limiter
	burst   func(count int) (burst, rate int)
}

// perWindow is what redis_rate.PerMinute does: any window admits up to twice the limit.
func perWindow(count int) (burst, rate int) { return count, count }

// withinLimit keeps burst and rate together within the limit. So bursts are a tenth of it.
func withinLimit(count int) (burst, rate int) {
	burst = max(1, count/10)
	return burst, max(1, count-burst)
}

// Allow implements [Limiter].
func (g gcra) Allow(ctx context.Context, limit Limit) (State, error) {
	burst, rate := g.burst(limit.Count)
	result, err := g.limiter.Allow(ctx, limit.Key, redis_rate.Limit{Rate: rate, Burst: burst, Period: limit.Window})
	switch {
	case err != nil:
		return State{}, unanswered(err)
	case result.Allowed == 0 && result.RetryAfter <= 0: // more seconds than a Duration has
		return State{}, refuse(limit, math.MaxInt64)
	case result.Allowed == 0:
		return State{}, refuse(limit, result.RetryAfter)
	}
	return State{Remaining: result.Remaining, Reset: result.ResetAfter}, nil
}
