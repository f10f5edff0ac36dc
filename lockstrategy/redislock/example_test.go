package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock"
)

// The holder is told, and its context ends: with ErrForced when it was notified. A holder that does not listen yet gets ErrGone.
func ExampleLock_ForceUnlock() {
	server, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	defer client.Close()
	lock, err := redislock.New(client, lockstrategy.Timing{})
	if err != nil {
		log.Fatal(err)
	}
	defer lock.Close()
	ctx := context.Background()
	lease, err := lock.Acquire(ctx, "lock:pview")
	if err != nil {
		log.Fatal(err)
	}

	state, err := lock.Inspect(ctx, "lock:pview")
	fmt.Println("held:", state.Held, "by this process:", state.Mine, err)
	had, err := lock.ForceUnlock(ctx, "lock:pview")
	fmt.Println("somebody had it:", had, err)
	<-lease.Context().Done()
	fmt.Println("lost:", errors.Is(context.Cause(lease.Context()), lockstrategy.ErrLost))
	fmt.Println("its release says so:", errors.Is(lease.Release(ctx), lockstrategy.ErrLost))
	// Output:
	// held: true by this process: true <nil>
	// somebody had it: true <nil>
	// lost: true
	// its release says so: true
}
