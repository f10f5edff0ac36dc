// Package pview counts page views (A4): one number in Redis that two instances increment.
//
// [Counter.Increment] reads the number, adds one and writes it back. Read and write are two separate commands, so two increments at the
// same time can lose an update. That gap is deliberate: the lab puts locks around it. [Counter.IncrementAtomic] is a single INCR, which
// needs no lock.
//
// A holder with a fencing token registers the token when it reads, together with a random name. Only the holder that registered last can
// write; the others get [ErrStale]. A read is refused as well if the same lock has already registered this token or a newer one. So no
// update of two holders with tokens is lost, whatever happens to the locks, even if a split brain grants one token twice. Checking the
// token at the write alone leaves a gap (experiment L22). [Counter.Set] takes over the registration, so that no holder in flight
// overwrites the value that was set.
//
// Not guaranteed: a request without an answer may have been counted. A read or write without a token is never refused, and may overwrite
// the update of a holder with one. A Redis that loses its last writes in a failover loses their tokens, too.
package pview

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// Names in Redis. Other programs use them to count and to share the lock.
const (
	Key      = "pview"         // the counter, a decimal number
	TokenKey = "{pview}:fence" // the last registration: lock, fencing token and holder; in the counter's cluster slot
	LockKey  = "lock:pview"    // the lock around an increment
)

// Scripts that register and check fencing tokens.
var (
	//go:embed read.lua
	readSource string
	//go:embed write.lua
	writeSource string
	//go:embed set.lua
	setSource string

	readScript  = redis.NewScript(readSource)
	writeScript = redis.NewScript(writeSource)
	setScript   = redis.NewScript(setSource)
)

// ErrUnavailable says that Redis gave no usable answer. Unless the error is also [ErrNotWritten], the view may have been counted.
var ErrUnavailable = errors.New("pview: redis unavailable")

// ErrNotWritten is an [ErrUnavailable] for a command that was not sent or that the server rejected: nothing was written.
var ErrNotWritten = fmt.Errorf("%w, and nothing was written", ErrUnavailable)

// ErrStale says that a read or write was refused because another holder has read since, or the counter was set. Nothing was changed.
var ErrStale = errors.New("pview: stale holder")

// Errors for a value that Redis's INCR rejects, too. Nothing was written.
var (
	// ErrNotNumber says that the counter's key does not hold a decimal number from -2^63 to 2^63-1. A plus sign, spaces and leading
	// zeros are not allowed.
	ErrNotNumber = errors.New("pview: the counter is not a number")
	// ErrOverflow says that the counter is 2^63-1, the largest number. Set it to a smaller one.
	ErrOverflow = errors.New("pview: the counter is the largest number and cannot be incremented")
)

// Locker runs fn while it holds key. fn's context ends when the lock is lost.
type Locker interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error
}

// View is one counted page view.
type View struct {
	Value  int64         // what was written
	Waited time.Duration // for the lock
	Held   time.Duration // from the grant to the end of the work
	Token  uint64        // fencing token of the lease; 0: none
}

// Redis is the part of a go-redis client that a counter uses.
type Redis interface {
	redis.Scripter
	Get(ctx context.Context, key string) *redis.StringCmd
	Set(ctx context.Context, key string, value any, expiration time.Duration) *redis.StatusCmd
	Incr(ctx context.Context, key string) *redis.IntCmd
}

// Counter counts page views in one Redis key.
type Counter struct {
	master  Redis
	replica func() redis.UniversalClient
}

// NewCounter returns a counter that reads and writes on master. replica returns the server for reads that may be stale.
func NewCounter(master Redis, replica func() redis.UniversalClient) *Counter {
	return &Counter{master: master, replica: replica}
}

// Increment reads the counter, adds one and writes it back while it holds lock. lockName identifies the lock, because only fencing tokens
// of the same lock can be compared; it must not contain a space.
func (c *Counter) Increment(ctx context.Context, lockName string, lock Locker) (View, error) {
	var view View
	start := time.Now()
	err := lock.Do(ctx, LockKey, func(ctx context.Context, token uint64) error {
		granted := time.Now()
		defer func() { view.Held = time.Since(granted) }()
		view.Waited, view.Token = granted.Sub(start), token

		h := holder{lockName, token, rand.Text()}
		value, err := c.read(ctx, h)
		if err == nil {
			value, err = addOne(value)
		}
		if err != nil {
			return err
		}
		view.Value = value
		return c.write(ctx, view.Value, h)
	})
	return view, err
}

// IncrementAtomic adds one with a single command, which needs no lock.
func (c *Counter) IncrementAtomic(ctx context.Context) (View, error) {
	value, err := c.master.Incr(ctx, Key).Result()
	if err = wrapError(ctx, err); isBadValue(err) {
		err = c.addValue(ctx, err)
	}
	return View{Value: value}, err
}

// addValue returns err with the value of the counter, which INCR's error does not include. It returns err as it is if the value has changed
// and is valid now.
func (c *Counter) addValue(ctx context.Context, err error) error {
	value, readErr := c.Get(ctx)
	if readErr == nil {
		_, readErr = addOne(value)
	}
	if isBadValue(readErr) {
		return readErr
	}
	return err
}

func isBadValue(err error) bool { return errors.Is(err, ErrNotNumber) || errors.Is(err, ErrOverflow) }

// Get reads the counter. A counter that does not exist is 0.
func (c *Counter) Get(ctx context.Context) (int64, error) { return get(ctx, c.master) }

// GetStale reads the counter from a replica, if the topology has one. The value may be old.
func (c *Counter) GetStale(ctx context.Context) (int64, error) { return get(ctx, c.replica()) }

// holder is what the scripts register about a lock's holder.
type holder struct {
	lock  string
	token uint64
	name  string // random: two holders may have the same token
}

// read reads the counter and registers the holder. A holder without a token is not registered.
func (c *Counter) read(ctx context.Context, h holder) (int64, error) {
	if h.token == 0 {
		return get(ctx, c.master)
	}
	value, err := c.check(ctx, readScript, h)
	if err != nil {
		return 0, err
	}
	return parseValue(value)
}

// write writes the counter if the holder registered last; without a token nothing is checked. Check and write are one script: between two
// commands, another holder could read.
func (c *Counter) write(ctx context.Context, value int64, h holder) error {
	if h.token == 0 {
		return wrapError(ctx, c.master.Set(ctx, Key, value, 0).Err())
	}
	_, err := c.check(ctx, writeScript, h, value)
	return err
}

// check runs a script that checks the holder's token, and returns the value of the counter.
func (c *Counter) check(ctx context.Context, script *redis.Script, h holder, values ...any) (string, error) {
	args := append([]any{h.lock, strconv.FormatUint(h.token, 10), h.name}, values...)
	reply, err := script.Run(ctx, c.master, []string{Key, TokenKey}, args...).StringSlice()
	switch {
	case err != nil:
		return "", wrapError(ctx, err)
	case len(reply) < 2:
		return "", fmt.Errorf("%w: its fencing token is %q, but the last one registered is %q; nothing was changed",
			ErrStale, fmt.Sprint(h.lock, " ", h.token), reply[0])
	}
	return reply[1], nil
}

// Set writes the counter without the lock. A holder with a fencing token that has read before gets [ErrStale] when it writes. A holder
// without one (v1, v2, v4, v8) overwrites the value. A later [Counter.IncrementAtomic] adds one to it.
func (c *Counter) Set(ctx context.Context, value int64) error {
	return wrapError(ctx, setScript.Run(ctx, c.master, []string{Key, TokenKey}, value, rand.Text()).Err())
}

func get(ctx context.Context, from Redis) (int64, error) {
	text, err := from.Get(ctx, Key).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, wrapError(ctx, err)
	}
	return parseValue(text)
}

// parseValue accepts what INCR accepts: a number as Redis writes it. ParseInt alone also accepts "+5" and "007".
func parseValue(text string) (int64, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(value, 10) != text {
		return 0, fmt.Errorf("%w: %.40q", ErrNotNumber, text)
	}
	return value, nil
}

func addOne(value int64) (int64, error) {
	if value == math.MaxInt64 {
		return 0, fmt.Errorf("%w: %d", ErrOverflow, value)
	}
	return value + 1, nil
}

// wrapError converts the error of a command into one of this package.
func wrapError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // not an error of Redis: the caller left, or the lock was lost
		return errors.Join(ctx.Err(), context.Cause(ctx), err)
	case redis.HasErrorPrefix(err, "WRONGTYPE"), redis.HasErrorPrefix(err, "value is not an integer"): // HasErrorPrefix ignores "ERR "
		return fmt.Errorf("%w: %w", ErrNotNumber, err)
	case redis.HasErrorPrefix(err, "increment or decrement would overflow"):
		return fmt.Errorf("%w: %w", ErrOverflow, err)
	case !replies.MayHaveRun(err):
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
