// Command template-go is your lock, as a program for app lab try. This one is SETNX and DEL: mend it, or put yours in its place.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments/agent/protocol"
)

func main() {
	claims := protocol.Claims{Name: "my lock in go", Store: protocol.Redis}
	if err := protocol.Serve(os.Stdin, os.Stdout, claims, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// open connects to the servers of the lab.
func open(start protocol.Request) (protocol.Lock, error) {
	client := redis.NewClient(&redis.Options{Addr: start.Servers[0]})
	return func(ctx context.Context, r protocol.Request) (protocol.Held, error) { return acquire(ctx, client, r) }, nil
}

// acquire tries until the wait of the request is over, which is the end of ctx.
func acquire(ctx context.Context, client *redis.Client, r protocol.Request) (protocol.Held, error) {
	for {
		granted, err := client.SetNX(ctx, r.Key, "locked", 0).Result()
		switch {
		case err != nil:
			return protocol.Held{}, err
		case granted:
			return protocol.Held{Release: func(ctx context.Context) error { return client.Del(ctx, r.Key).Err() }}, nil
		case r.WaitMS == 0:
			return protocol.Held{}, protocol.ErrRefused
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return protocol.Held{}, ctx.Err()
		}
	}
}
