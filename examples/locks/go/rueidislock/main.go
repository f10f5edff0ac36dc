// Command rueidislock is github.com/redis/rueidis/rueidislock as a program for app lab try. KeyMajority is 1 and NoLoopTracking is set, as
// its README has them for one server. With the argument defaults neither is set. With best a grant is two of three keys, the default,
// NoLoopTracking is set, TryNextAfter is 1 s, and one request of the process waits at a time. KeyValidity is the lab's lease, and not 5 s.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"locklab/lab/clients/protocol"
)

func main() {
	way := strings.Join(os.Args[1:], " ")
	options := map[string]rueidislock.LockerOption{
		"": {KeyMajority: 1, NoLoopTracking: true}, "best": {NoLoopTracking: true, TryNextAfter: time.Second},
	}[way] // else the defaults
	claims := protocol.Claims{
		Name: strings.TrimSpace("rueidislock " + way), Store: protocol.Redis, Renews: true, Tells: true, Messages: true,
		Silent: true, // what ends a lock returns nothing
	}
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		options.ClientOption, options.KeyValidity = rueidis.ClientOption{InitAddress: start.Servers}, start.Lease()
		locker, err := rueidislock.NewLocker(options)
		turn := make(chan struct{}, 1)
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
			if way == "best" && r.WaitMS > 0 {
				select {
				case turn <- struct{}{}:
					defer func() { <-turn }()
				case <-ctx.Done(): // acquire refuses it
				}
			}
			return acquire(ctx, locker, r)
		}, err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func acquire(ctx context.Context, locker rueidislock.Locker, r protocol.Request) (protocol.Held, error) {
	lock := locker.WithContext
	if r.WaitMS == 0 {
		lock = locker.TryWithContext
	}
	// The wait is bounded by ctx, and the lock must outlive the wait: it ends with the context that it was acquired with.
	waits, abandon := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, abandon)
	held, release, err := lock(waits, r.Key)
	switch {
	case err == nil && !stop():
		release()
		return protocol.Held{}, protocol.ErrRefused
	case errors.Is(err, rueidislock.ErrNotLocked), ctx.Err() != nil && err != nil:
		err = fmt.Errorf("%w: %w", protocol.ErrRefused, err)
	}
	if err != nil {
		abandon()
		return protocol.Held{}, err
	}
	lost := make(chan string, 1)
	forget := context.AfterFunc(held, func() { lost <- context.Cause(held).Error() })
	return protocol.Held{Lost: lost, Release: func(context.Context) error {
		defer abandon()
		if !forget() {
			return protocol.ErrNotHeld
		}
		close(lost)
		release()
		return nil
	}}, nil
}
