// Package lab lets a lock of three methods be tried: it waits, renews and tells as the claims say. Package protocol has the dialogue.
package lab

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/clients/protocol"
)

// Lock is what is tried. Each method sends one command or one script.
type Lock interface {
	Acquire(ctx context.Context, key, owner string, lease time.Duration) (token uint64, err error) // once; 0: another client holds the key
	Release(ctx context.Context, key, owner string) (held bool, err error)
	Renew(ctx context.Context, key, owner string, lease time.Duration) (held bool, err error)
}

// poll is the time from one try of a waiter to the next.
const poll = 20 * time.Millisecond

// Serve serves the lock as a program for app lab try. Its store is one server of Redis.
func Serve(claims protocol.Claims, open func(*redis.Client) Lock) {
	claims.Store = protocol.Redis
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		// One command is sent once: a repeated SETNX would find the key of the first one.
		lock := open(redis.NewClient(&redis.Options{Addr: start.Servers[0], MaxRetries: -1, ReadTimeout: start.Lease() / 4}))
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
			g := grant{Lock: lock, claims: claims, key: r.Key, owner: rand.Text(), lease: r.Lease()}
			return g.acquire(ctx, r.WaitMS > 0)
		}, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type grant struct {
	Lock
	claims     protocol.Claims
	key, owner string
	lease      time.Duration
	good       time.Time // the server set the expiry at that time, or later
}

// acquire tries until ctx ends, or once.
func (g grant) acquire(ctx context.Context, waits bool) (protocol.Held, error) {
	for {
		g.good = time.Now()
		switch token, err := g.Acquire(ctx, g.key, g.owner, g.lease); {
		case err != nil:
			return protocol.Held{}, err
		case token > 0:
			return g.held(token), nil
		case !waits:
			return protocol.Held{}, protocol.ErrRefused
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return protocol.Held{}, ctx.Err()
		}
	}
}

func (g grant) held(token uint64) protocol.Held {
	ctx, released := context.WithCancel(context.Background())
	lost := make(chan string, 1)
	go func() {
		defer close(lost)
		if g.claims.Renews {
			g.renew(ctx, lost)
		}
	}()
	h := protocol.Held{Lost: lost, Release: func(ctx context.Context) error {
		released()
		return answered(g.Release(ctx, g.key, g.owner))
	}, Extend: func(ctx context.Context) error { return answered(g.Renew(ctx, g.key, g.owner, g.lease)) }}
	if g.claims.Tokens {
		h.Token = token
	}
	return h
}

// renew renews until the release, or until the lock is lost. An error is no loss before the lease is over.
func (g grant) renew(ctx context.Context, lost chan<- string) {
	tick := time.NewTicker(g.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked, reason := time.Now(), "a renewal found another owner, or none"
		switch held, err := g.Renew(ctx, g.key, g.owner, g.lease); {
		case held:
			g.good = asked
			continue
		case err != nil && time.Since(g.good) < g.lease:
			fmt.Fprintln(os.Stderr, "a renewal failed:", err)
			continue
		case err != nil:
			reason = "no renewal has succeeded for a whole lease: " + err.Error()
		}
		if g.claims.Tells && ctx.Err() == nil {
			lost <- reason
		}
		return
	}
}

func answered(held bool, err error) error {
	if err == nil && !held {
		err = protocol.ErrNotHeld
	}
	return err
}
