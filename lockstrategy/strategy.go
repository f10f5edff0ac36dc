package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// DefaultLease is the lifetime of a lease that is not renewed, as in Redisson (A2).
const DefaultLease = 30 * time.Second

// Strategy is a way to lock.
type Strategy interface {
	// Acquire blocks until the caller holds key or ctx ends; then the error wraps [ErrNotAcquired]
	// and ctx's own. It never returns nil and nil. The lease outlives ctx: it ends by
	// [Lease.Release] or by loss, and every lease must be released, a lost one too.
	Acquire(ctx context.Context, key string) (*Lease, error)
}

// Names of the strategies, as [Open] takes them.
const (
	NameNone    = "none"    // no lock: v1
	NameProcess = "process" // a mutex in the process: v2
	NameRedis   = "redis"   // one Redis: v3
	NameRedLock = "redlock" // five independent nodes: v4
)

// Backends is what strategies are built on. A strategy needs only its own part.
type Backends struct {
	Redis   RedisClient             // for NameRedis
	Nodes   []redis.UniversalClient // for NameRedLock
	Lease   time.Duration           // 0: DefaultLease
	Request time.Duration           // longest wait for one answer of a server; 0: two seconds, or a third of a shorter lease
}

// Opened is a strategy ready for use, and what it holds open.
type Opened struct {
	Strategy
	Gate  *Gate        // nil: this strategy has no queue
	Close func() error // ends its goroutines and connections; not the clients it was given
}

// Open builds the strategy called name, with a gate in front where there is a queue. It connects
// to nothing; an error names a setting that cannot work.
func Open(name string, b Backends) (*Opened, error) {
	nothing := func() error { return nil }
	switch name {
	case NameNone:
		return &Opened{Strategy: None{}, Close: nothing}, nil
	case NameProcess:
		return gated(None{}, nothing), nil
	case NameRedis:
		s, err := NewRedis(b.Redis, RedisConfig{Lease: b.Lease, Request: b.Request})
		if err != nil {
			return nil, err
		}
		return gated(s, s.Close), nil
	case NameRedLock:
		s, err := NewRedLock(b.Nodes, RedLockConfig{Lease: b.Lease, Request: b.Request})
		if err != nil {
			return nil, err
		}
		return gated(s, nothing), nil
	}
	return nil, fmt.Errorf("lock: no strategy %q: there are %s, %s, %s, %s", name, NameNone, NameProcess, NameRedis, NameRedLock)
}

func gated(s Strategy, closer func() error) *Opened {
	g := NewGate(s)
	return &Opened{Strategy: g, Gate: g, Close: closer}
}

// None grants every key to everybody at once. Alone it is no lock (v1); behind a [Gate] it is a
// mutex in the process (v2), which another process does not see.
type None struct{}

// Acquire grants key, unless ctx has ended.
func (None) Acquire(ctx context.Context, key string) (*Lease, error) {
	if ctx.Err() != nil {
		return nil, notAcquired(key, ended(ctx))
	}
	return hold(ctx, term{}), nil
}

// notAcquired joins the domain's error with its cause, so that errors.Is finds both.
func notAcquired(key string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrNotAcquired, key, cause)
}

// ended says why ctx ended: its cause, and in any case its own error.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// timing applies the defaults and checks the relations lease > 2 × renewal > request.
func timing(lease, request time.Duration) (time.Duration, time.Duration, error) {
	if lease == 0 {
		lease = DefaultLease
	}
	if request == 0 {
		request = min(2*time.Second, lease/3)
	}
	if renewal := lease / 3; lease < 10*time.Millisecond || request <= 0 || 2*renewal <= request {
		return 0, 0, fmt.Errorf("lock: lease %s, request timeout %s: the lease must be at least 10ms and over one and a half times the request timeout", lease, request)
	}
	return lease, request, nil
}
