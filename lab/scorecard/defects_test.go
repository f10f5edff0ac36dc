package scorecard_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// parts are those of a lock that a defect replaces.
type parts struct {
	keyOf    func(key string) string // as the server knows it
	renewals time.Duration           // in a lease
	renewal  func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (renewed int, err error)
	free     func(ctx context.Context, c redis.Cmdable, key, owner string) (freed int, err error)
}

func soundParts() parts {
	return parts{keyOf: func(key string) string { return key }, renewals: 12, renewal: runs(renewScript), free: freeOwn}
}

func runs(script *redis.Script) func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (int, error) {
	return func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (int, error) {
		return script.Run(ctx, c, []string{key}, owner, lease).Int()
	}
}

func freeOwn(ctx context.Context, c redis.Cmdable, key, owner string) (int, error) {
	return freeScript.Run(ctx, c, []string{key}, owner).Int()
}

// defects are those of one part each.
var defects = map[string]func(*mutantLock){
	"hashes":                     func(m *mutantLock) { m.keyOf = hashed },
	"hashes and does not say so": func(m *mutantLock) { m.keyOf = hashed },
	"lower case":                 func(m *mutantLock) { m.keyOf = strings.ToLower },
	"short keys":                 func(m *mutantLock) { m.keyOf = func(key string) string { return key[:min(len(key), 64)] } },
	"one key":                    func(m *mutantLock) { m.keyOf = func(string) string { return "lock:counter" } },

	"no renewal":        func(m *mutantLock) { m.renewal = runs(lookScript) },
	"hasty":             func(m *mutantLock) { m.renewal = runs(lookScript) },
	"renewal dies late": func(m *mutantLock) { m.renewals = 3 },
	"wrong unit": func(m *mutantLock) {
		m.renewal = func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (int, error) {
			return renewScript.Run(ctx, c, []string{key}, owner, 1000*lease).Int()
		}
	},
	"renews any owner": func(m *mutantLock) {
		m.renewal = func(ctx context.Context, c redis.Cmdable, key, _ string, lease int64) (int, error) {
			_, err := c.PExpire(ctx, key, time.Duration(lease)*time.Millisecond).Result()
			return 1, err
		}
	},
	"renews by SET": func(m *mutantLock) {
		m.renewal = func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (int, error) {
			return 1, c.Set(ctx, key, owner, time.Duration(lease)*time.Millisecond).Err()
		}
	},
	"waiters first": func(m *mutantLock) { // they block the connection that it has
		renewal := m.renewal
		m.renewal = func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (int, error) {
			if m.waiting.Load() > 0 {
				return 1, nil
			}
			return renewal(ctx, c, key, owner, lease)
		}
	},
	"ten renewals": func(m *mutantLock) {
		const workers = 10
		var renewing atomic.Int64
		renewal := m.renewal
		m.renewal = func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (int, error) {
			defer renewing.Add(-1)
			if renewing.Add(1) > workers {
				<-ctx.Done()
			}
			time.Sleep(time.Duration(lease/4) * time.Millisecond) // a worker has one key
			return renewal(ctx, c, key, owner, lease)
		}
	},
	"one loss ends all renewals": func(m *mutantLock) {
		var ended atomic.Bool
		renewal := m.renewal
		m.renewal = func(ctx context.Context, c redis.Cmdable, key, owner string, lease int64) (int, error) {
			if ended.Load() {
				return 1, nil
			}
			renewed, err := renewal(ctx, c, key, owner, lease)
			if err == nil && renewed == 0 {
				ended.Store(true)
			}
			return renewed, err
		}
	},

	"releases by prefix": func(m *mutantLock) {
		m.free = func(ctx context.Context, c redis.Cmdable, key, owner string) (int, error) {
			freed, err := freeOwn(ctx, c, key, owner)
			if freed == 1 {
				keys, _ := c.Keys(ctx, key+"*").Result()
				c.Del(ctx, append(keys, "none")...)
			}
			return freed, err
		}
	},
	"cleans up": func(m *mutantLock) { m.FlushAll(context.Background()) }, // when it starts
	"one pool": func(m *mutantLock) { // of ten connections: a release needs one, too
		m.free = func(ctx context.Context, c redis.Cmdable, key, owner string) (int, error) {
			for m.waiting.Load() > 10 {
				time.Sleep(5 * time.Millisecond)
			}
			return freeOwn(ctx, c, key, owner)
		}
	},
	"two steps": func(m *mutantLock) {
		m.free = func(ctx context.Context, c redis.Cmdable, key, owner string) (int, error) {
			holder, err := c.Get(ctx, key).Result()
			if errors.Is(err, redis.Nil) || err == nil && holder != owner {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			freed, err := c.Del(ctx, key).Result()
			return int(freed), err
		}
	},
}
