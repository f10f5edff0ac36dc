// Command ours is the lab's own lock, v3 or v4, as a program for app lab try. Every setting is the lab's default.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"locklab/experiments/try/protocol"
	"locklab/lockstrategy"
	"locklab/topology"
)

func main() {
	strategy, name := lockstrategy.NameRedis, "locklab v3"
	if len(os.Args) > 1 && os.Args[1] == "v4" {
		strategy, name = lockstrategy.NameRedLock, "locklab v4"
	}
	claims := protocol.Claims{Name: name, Store: strategy, Renews: true, Tokens: strategy == lockstrategy.NameRedis, Tells: true}
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) { return open(strategy, start) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(strategy string, start protocol.Request) (protocol.Lock, error) {
	servers, err := topology.Connect(context.Background(), strategy, topology.Config{Kind: topology.Single, Addrs: start.Servers})
	if err != nil {
		return nil, err
	}
	b := lockstrategy.Backends{Expiry: start.Lease()}
	b.Use(servers.Backend())
	lock, err := lockstrategy.Open(strategy, b)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
		wait := lockstrategy.TryOnce()
		if r.WaitMS > 0 {
			wait = lockstrategy.WaitAtMost(r.Wait())
		}
		lease, err := lock.Acquire(context.WithoutCancel(ctx), r.Key, wait)
		if errors.Is(err, lockstrategy.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
			return protocol.Held{}, fmt.Errorf("%w: %w", protocol.ErrRefused, err)
		}
		if err != nil {
			return protocol.Held{}, err
		}
		lost := make(chan string, 1)
		go func() {
			defer close(lost)
			<-lease.Context().Done()
			if why := context.Cause(lease.Context()); errors.Is(why, lockstrategy.ErrLost) {
				lost <- why.Error()
			}
		}()
		return protocol.Held{Token: lease.FencingToken(), Lost: lost, Release: func(ctx context.Context) error {
			err := lease.Release(ctx)
			if errors.Is(err, lockstrategy.ErrLost) {
				err = fmt.Errorf("%w: %w", protocol.ErrNotHeld, err)
			}
			return err
		}}, nil
	}, nil
}
