// Command template-go is your lock, as a program for app lab try. This one is SETNX and DEL: mend it. Package lab waits and renews.
package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/examples/locks/template-go/lab"
	"locklab/lab/clients/protocol"
)

type lock struct{ *redis.Client }

// Acquire tries once. It returns the fencing token, or 1, and 0 when another client holds the key.
func (l lock) Acquire(ctx context.Context, key, owner string, _ time.Duration) (uint64, error) {
	granted, err := l.SetNX(ctx, key, owner, 0).Result()
	if !granted {
		return 0, err
	}
	return 1, nil
}

// Release reports false when the lock was not held.
func (l lock) Release(ctx context.Context, key, _ string) (bool, error) {
	n, err := l.Del(ctx, key).Result()
	return n == 1, err
}

// Renew sets the expiry to a lease from now. It reports false when the lock is not held. This one does nothing yet.
func (l lock) Renew(context.Context, string, string, time.Duration) (bool, error) { return true, nil }

func main() {
	// Claims: Renews calls Renew in time, and Extends when the lab requests it. Tells tells the lab when a renewal has reported false.
	// Tokens sends what Acquire has returned.
	lab.Serve(protocol.Claims{Name: "my lock in go"}, func(c *redis.Client) lab.Lock { return lock{c} })
}
