// Command rungs is five locks, from SETNX to a fencing token, as programs for app lab try: rungs 1, up to rungs 5. Each one mends one
// defect of the lock before, by one method of one line.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/examples/locks/template-go/lab"
	"locklab/lab/clients/protocol"
)

const (
	release = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
	renew   = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"
	// The token is the server's time in microseconds: a counter would begin again after a restart.
	grant = `if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local now = redis.call('TIME') return now[1] * 1000000 + now[2]`
)

// setnx is rung 1. Defect: a dead holder locks the key for ever.
type setnx struct{ *redis.Client }

func (l setnx) Acquire(ctx context.Context, key, owner string, _ time.Duration) (uint64, error) {
	return one(l.SetNX(ctx, key, owner, 0).Result())
}

func (l setnx) Release(ctx context.Context, key, _ string) (bool, error) {
	n, err := l.Del(ctx, key).Result()
	return n == 1, err
}

func (l setnx) Renew(context.Context, string, string, time.Duration) (bool, error) { return true, nil }

// expiry is rung 2: the key has an expiry. Defect: a late release deletes the next holder's key.
type expiry struct{ setnx }

func (l expiry) Acquire(ctx context.Context, key, owner string, lease time.Duration) (uint64, error) {
	return one(l.SetNX(ctx, key, owner, lease).Result())
}

// owned is rung 3: the release compares the owner. Defect: work longer than the lease has two holders.
type owned struct{ expiry }

func (l owned) Release(ctx context.Context, key, owner string) (bool, error) {
	return l.Eval(ctx, release, []string{key}, owner).Bool()
}

// renewed is rung 4: the holder renews its lease. Defect: a paused holder writes after its successor.
type renewed struct{ owned }

func (l renewed) Renew(ctx context.Context, key, owner string, lease time.Duration) (bool, error) {
	return l.Eval(ctx, renew, []string{key}, owner, lease.Milliseconds()).Bool()
}

// fenced is rung 5: each grant has a larger fencing token. Left: the resource must check it, and the server's clock must not go back.
type fenced struct{ renewed }

func (l fenced) Acquire(ctx context.Context, key, owner string, lease time.Duration) (uint64, error) {
	return l.Eval(ctx, grant, []string{key}, owner, lease.Milliseconds()).Uint64()
}

func one(granted bool, err error) (uint64, error) {
	if !granted {
		return 0, err
	}
	return 1, err
}

var names = []string{"SETNX", "expiry", "owner", "renewal", "token"}

func main() {
	rung := 0
	if len(os.Args) == 2 {
		rung, _ = strconv.Atoi(os.Args[1])
	}
	if rung < 1 || rung > len(names) {
		fmt.Fprintln(os.Stderr, "rungs: give one argument, the number of the rung: 1, 2, 3, 4 or 5")
		os.Exit(64)
	}
	claims := protocol.Claims{Name: fmt.Sprintf("rung %d: %s", rung, names[rung-1]), Tokens: rung > 4}
	claims.Renews, claims.Tells, claims.Extends = rung > 3, rung > 3, rung > 3
	lab.Serve(claims, func(c *redis.Client) lab.Lock {
		owner := owned{expiry{setnx{c}}}
		return []lab.Lock{owner.setnx, owner.expiry, owner, renewed{owner}, fenced{renewed{owner}}}[rung-1]
	})
}
