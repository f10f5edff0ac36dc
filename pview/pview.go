// Package pview counts page views (A4): one number in Redis that two instances increment.
//
// [Counter.Increment] reads the number, adds one and writes it back, in two round trips that are not atomic. Two increments that run
// simultaneously lose an update. The gap is deliberate: the lab tries locks around it. [Counter.IncrementAtomic] is one INCR, which
// needs no lock.
//
// A holder with a fencing token registers it at the read, with a random name. Only the holder that has registered last can write; the
// others are refused ([ErrStale]). A read is refused, too, if the registered token is of the same lock and not older. So whatever happens
// to the locks, no update of two holders with tokens is lost, even if a split brain grants one token twice. A check at the write alone
// has a gap (experiment L22). [Counter.Set] takes the registration over, so that no holder in flight overwrites it.
//
// What is NOT guaranteed: a request without an answer may have been counted. A read or a write without a token is never refused, and
// may overwrite the update of a holder with one. A Redis that loses its last writes in a failover loses their tokens too.
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

// Names on the wire. Other programs use them to count and to share the lock.
const (
	Key      = "pview"         // the counter, a decimal number
	TokenKey = "{pview}:fence" // the last registration: lock, fencing token and the holder's name; in the counter's slot of a cluster
	LockKey  = "lock:pview"    // the key to lock around an increment
)

// The scripts that check fencing tokens.
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

// ErrUnavailable says that Redis gave no usable answer. Whether the view was counted is unknown, unless it is an [ErrNotWritten].
var ErrUnavailable = errors.New("pview: redis unavailable")

// ErrNotWritten is an [ErrUnavailable] after which nothing was written: the command was not sent, or the server has refused it.
var ErrNotWritten = fmt.Errorf("%w, and nothing was written", ErrUnavailable)

// ErrStale says that a read or a write was refused and changed nothing: another holder has read, or the counter was set.
var ErrStale = errors.New("pview: stale holder")

// Errors of a value that Redis's INCR refuses, too. Nothing was written.
var (
	// ErrNotNumber says that the counter's key holds no decimal number from -2^63 to 2^63-1. A plus sign, a space or a leading zero
	// makes it none.
	ErrNotNumber = errors.New("pview: the counter is not a number")
	// ErrOverflow says that the counter is 2^63-1, the largest number. Set a smaller one.
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
	Held   time.Duration // from the grant until the work was done
	Token  uint64        // fencing token of the lease; 0: none was issued
}

// Redis is what a counter needs of a client of go-redis.
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

// NewCounter returns a counter that reads and writes at master. replica returns the server for reads that may be old.
func NewCounter(master Redis, replica func() redis.UniversalClient) *Counter {
	return &Counter{master: master, replica: replica}
}

// Increment reads the counter, adds one and writes it, inside lock. name is the lock's, without a space: fencing tokens are compared
// with those of the same lock only.
func (c *Counter) Increment(ctx context.Context, name string, lock Locker) (View, error) {
	var view View
	asked := time.Now()
	err := lock.Do(ctx, LockKey, func(ctx context.Context, token uint64) error {
		granted := time.Now()
		defer func() { view.Held = time.Since(granted) }()
		view.Waited, view.Token = granted.Sub(asked), token

		by := holder{name, token, rand.Text()}
		value, err := c.read(ctx, by)
		if err == nil {
			value, err = next(value)
		}
		if err != nil {
			return err
		}
		view.Value = value
		return c.write(ctx, view.Value, by)
	})
	return view, err
}

// IncrementAtomic adds one in one command, which needs no lock.
func (c *Counter) IncrementAtomic(ctx context.Context) (View, error) {
	value, err := c.master.Incr(ctx, Key).Result()
	if err = answered(ctx, err); refusal(err) {
		err = c.withValue(ctx, err)
	}
	return View{Value: value}, err
}

// withValue is the refusal of the value that the counter has. refused is what INCR said, which names no value. It stays if the value has
// changed meanwhile.
func (c *Counter) withValue(ctx context.Context, refused error) error {
	value, err := c.Get(ctx)
	if err == nil {
		_, err = next(value)
	}
	if refusal(err) {
		return err
	}
	return refused
}

func refusal(err error) bool { return errors.Is(err, ErrNotNumber) || errors.Is(err, ErrOverflow) }

// Get reads the counter. A counter that does not exist is 0.
func (c *Counter) Get(ctx context.Context) (int64, error) { return get(ctx, c.master) }

// GetStale reads the counter from a replica, where the topology has any. The value may be old.
func (c *Counter) GetStale(ctx context.Context) (int64, error) { return get(ctx, c.replica()) }

// holder is a reader of the counter, for the scripts. It has the name of its lock, its fencing token, and a name that no other holder has.
type holder struct {
	lock  string
	token uint64
	name  string
}

// read reads the counter for a holder and registers its fencing token. Without a token it reads only.
func (c *Counter) read(ctx context.Context, by holder) (int64, error) {
	if by.token == 0 {
		return get(ctx, c.master)
	}
	value, err := c.check(ctx, readScript, by)
	if err != nil {
		return 0, err
	}
	return number(value)
}

// write writes the counter for a holder. One script checks the fencing token and writes: a separate check could pass before another
// holder's read and act after it. Without a token nothing is checked.
func (c *Counter) write(ctx context.Context, value int64, by holder) error {
	if by.token == 0 {
		return answered(ctx, c.master.Set(ctx, Key, value, 0).Err())
	}
	_, err := c.check(ctx, writeScript, by, value)
	return err
}

// check runs a script that returns the registered fencing token, and the counter unless it has refused the holder.
func (c *Counter) check(ctx context.Context, script *redis.Script, by holder, values ...any) (string, error) {
	args := append([]any{by.lock, strconv.FormatUint(by.token, 10), by.name}, values...)
	reply, err := script.Run(ctx, c.master, []string{Key, TokenKey}, args...).StringSlice()
	switch {
	case err != nil:
		return "", answered(ctx, err)
	case len(reply) < 2:
		return "", fmt.Errorf("%w: its fencing token is %q, and the registered one of the last reader is %q; nothing was changed",
			ErrStale, fmt.Sprint(by.lock, " ", by.token), reply[0])
	}
	return reply[1], nil
}

// Set writes the counter without the lock. A holder with a fencing token that has read before cannot write any more: it gets
// [ErrStale]. A holder without one (v1, v2, v4, v8) overwrites the value with what it has read, plus one. An IncrementAtomic that
// comes later adds to it.
func (c *Counter) Set(ctx context.Context, value int64) error {
	return answered(ctx, setScript.Run(ctx, c.master, []string{Key, TokenKey}, value, rand.Text()).Err())
}

func get(ctx context.Context, from Redis) (int64, error) {
	text, err := from.Get(ctx, Key).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, answered(ctx, err)
	}
	return number(text)
}

// number accepts what INCR accepts: a number as Redis writes it. ParseInt alone also takes "+5" and "007".
func number(text string) (int64, error) {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(value, 10) != text {
		return 0, fmt.Errorf("%w: %.40q", ErrNotNumber, text)
	}
	return value, nil
}

// next is the number after value.
func next(value int64) (int64, error) {
	if value == math.MaxInt64 {
		return 0, fmt.Errorf("%w: %d", ErrOverflow, value)
	}
	return value + 1, nil
}

// answered turns a command's error into one of this package's.
func answered(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // no error of Redis: the caller left, or the lock was lost
		return errors.Join(ctx.Err(), context.Cause(ctx), err)
	case redis.HasErrorPrefix(err, "WRONGTYPE"), redis.HasErrorPrefix(err, "value is not an integer"): // go-redis cuts "ERR " off
		return fmt.Errorf("%w: %w", ErrNotNumber, err)
	case redis.HasErrorPrefix(err, "increment or decrement would overflow"):
		return fmt.Errorf("%w: %w", ErrOverflow, err)
	case !replies.MayHaveRun(err):
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
