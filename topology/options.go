package topology

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Bounds of every client.
const (
	dial   = time.Second
	answer = 2 * time.Second
	queue  = 5 * time.Second // for a free connection of the pool
	pool   = 64              // connections per server, so that a burst's requests really overlap

	never = -1 // go-redis's word for: do not send a command again
)

// options are those of one server; the openers copy them into what go-redis wants for theirs.
func options(addr string, access Access) *redis.Options {
	o := &redis.Options{
		Addr:                     addr,
		Password:                 access.Password,
		MaxRetries:               never,
		DialTimeout:              dial,
		DialerRetries:            1,
		ReadTimeout:              answer,
		WriteTimeout:             answer,
		ContextTimeoutEnabled:    true,
		PoolSize:                 pool,
		PoolTimeout:              queue,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	o.Dialer = access.Map.before(redis.NewDialer(o))
	return o
}

// newClient opens a client whose errors name it.
func newClient(addr string, access Access) *redis.Client {
	client := redis.NewClient(options(addr, access))
	client.AddHook(named{addr})
	return client
}

// named puts a name before the errors of a client: go-redis does not say whose answer was late.
type named struct{ name string }

func (named) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n named) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		var reply redis.Error // an error that the server answered is no fault of the connection
		if err == nil || errors.As(err, &reply) {
			return err
		}
		return fmt.Errorf("%s: %w", n.name, err)
	}
}

func (named) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func ping(ctx context.Context, client redis.UniversalClient) error {
	return client.Ping(ctx).Err()
}

// until repeats try until it succeeds, ctx ends, or the server refuses us. The error is the last
// that says more than that time is up.
func until(ctx context.Context, try func(context.Context) error) error {
	var last error
	for {
		attempt, cancel := context.WithTimeout(ctx, answer)
		err := try(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if refused(err) {
			return fmt.Errorf("the password is wrong or missing: %w", err)
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		pause := time.NewTimer(50 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("not reached in time: %w", last)
		case <-pause.C:
		}
	}
}

// refused reports whether a server answered what it will answer again: a wrong password, above all.
func refused(err error) bool {
	for _, prefix := range []string{"WRONGPASS", "NOAUTH"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
