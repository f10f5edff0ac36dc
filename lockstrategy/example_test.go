package lockstrategy_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/redislock"
)

// Without retries of the client: it would repeat commands whose answer is late.
func Example() {
	server, err := miniredis.Run() // a Redis in this process, for the example
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	defer client.Close()

	redisLock, err := redislock.New(client, lockstrategy.Timing{})
	if err != nil {
		log.Fatal(err)
	}
	defer redisLock.Close()
	lock, err := localqueue.New(redisLock, localqueue.HandOff{}) // callers of this process wait here, and not in Redis
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Close()

	ctx := context.Background()
	lease, err := lock.Acquire(ctx, "lock:order:{7}")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", lease.Context().Err() == nil, "with a fence:", lease.FencingToken() > 0)
	fmt.Println("released:", lease.Release(ctx) == nil)
	fmt.Println("held:", lease.Context().Err() == nil)
	// Output:
	// held: true with a fence: true
	// released: true
	// held: false
}

func ExampleGuard_Do() {
	lock, end := exampleLock()
	defer end()
	guard := lockstrategy.Guard{Strategy: lock, Wait: time.Minute}

	err := guard.Do(context.Background(), "lock:pview", func(ctx context.Context, fence uint64) error {
		fmt.Println("work under ctx, write with the fence:", fence > 0)
		return ctx.Err()
	})
	fmt.Println("error:", err)
	// Output:
	// work under ctx, write with the fence: true
	// error: <nil>
}

func ExampleTryOnce() {
	lock, end := exampleLock()
	defer end()
	ctx := context.Background()
	holder, err := lock.Acquire(ctx, "lock:pview")
	if err != nil {
		log.Fatal(err)
	}
	defer holder.Release(ctx)

	_, err = lock.Acquire(ctx, "lock:pview", lockstrategy.TryOnce())
	fmt.Println(err)
	fmt.Println("another's:", errors.Is(err, lockstrategy.ErrTaken))
	// Output:
	// lock: not acquired: lock:pview: lock: another holds it: a caller of this process has it, or is the next
	// another's: true
}

// A lease that is not renewed ends by itself, and its context says why.
func ExampleLeaseFor() {
	lock, end := exampleLock()
	defer end()
	ctx := context.Background()
	lease, err := lock.Acquire(ctx, "lock:pview", lockstrategy.LeaseFor(100*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}

	<-lease.Context().Done() // work that takes too long
	cause := context.Cause(lease.Context())
	fmt.Println(cause)
	fmt.Println("expired:", errors.Is(cause, lockstrategy.ErrExpired), "and so lost:", errors.Is(cause, lockstrategy.ErrLost))
	fmt.Println("release:", lease.Release(ctx)) // of a lost lease, too
	// Output:
	// lock: lease lost: its time is over
	// expired: true and so lost: true
	// release: lock: lease lost: its time is over
}

// The owner enters again under its lease's context, without a word to the server. It is out when it has
// released as often.
func ExampleLease_Context() {
	lock, end := exampleLock()
	defer end()
	ctx := context.Background()
	outer, err := lock.Acquire(ctx, "lock:pview")
	if err != nil {
		log.Fatal(err)
	}

	inner, err := lock.Acquire(outer.Context(), "lock:pview")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the same fence:", inner.FencingToken() == outer.FencingToken())
	_ = inner.Release(ctx)
	fmt.Println("still held:", outer.Context().Err() == nil)
	_ = outer.Release(ctx)
	fmt.Println("still held:", outer.Context().Err() == nil)
	// Output:
	// the same fence: true
	// still held: true
	// still held: false
}

// exampleLock opens the Redis lock, as Example does. It has its connection and its scripts: the first answer may come late.
func exampleLock() (lock *localqueue.Queue, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	redisLock, err := redislock.New(client, lockstrategy.Timing{})
	if err != nil {
		log.Fatal(err)
	}
	lock, err = localqueue.New(redisLock, localqueue.HandOff{})
	if err != nil {
		log.Fatal(err)
	}
	first, err := lock.Acquire(context.Background(), "lock:first")
	if err != nil {
		log.Fatal(err)
	}
	_ = first.Release(context.Background())
	return lock, func() {
		lock.Close()
		_ = redisLock.Close()
		_ = client.Close()
		server.Close()
	}
}
