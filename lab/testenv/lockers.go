package testenv

import (
	"context"
	"sync"
)

// LockerFunc is a lock for tests of what runs under one: the scenarios, the shop and the cache.
type LockerFunc func(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error

// Do calls f.
func (f LockerFunc) Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error {
	return f(ctx, key, fn)
}

// NoLock grants every call immediately, without a fencing token.
var NoLock = Granted(0)

// Granted grants every call with this fencing token, as a lock does whose leases have all expired.
func Granted(token uint64) LockerFunc {
	return func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		return fn(ctx, token)
	}
}

// Mutex is a lock of this process, one for all keys, which counts its grants.
func Mutex() LockerFunc {
	var mu sync.Mutex
	var token uint64
	return func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		mu.Lock()
		defer mu.Unlock()
		token++
		return fn(ctx, token)
	}
}
