package peer

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// The token is the server's time in µs. After a jump of the clock to the past it continues from the last one. A reply of 0 means that
// another owner holds the lock.
var (
	acquire3 = redis.NewScript(`
if redis.call("EXISTS", KEYS[1]) == 1 and redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then return 0 end
local now = redis.call("TIME")
local token = now[1] * 1000000 + now[2]
local last = tonumber(redis.call("SET", KEYS[2], string.format("%.0f", token), "GET") or 0)
if last >= token then
	token = last + 1
	redis.call("SET", KEYS[2], string.format("%.0f", token))
end
redis.call("HSET", KEYS[1], ARGV[1], 1)
redis.call("PEXPIRE", KEYS[1], ARGV[2])
return token`)
	release3 = redis.NewScript(`
local held = redis.call("HDEL", KEYS[1], ARGV[1])
redis.call("PUBLISH", KEYS[2], "")
return held`)
)

// script3 is a prototype that shows what small scripts cost. It has a hash with the owner, as RLock has it, a token by the server's time,
// and one message at the release. It has no session: it neither renews nor listens, and a waiter polls every 10 ms.
func script3(client *redis.Client) Lock {
	return func(ctx context.Context, key string) (func() error, error) {
		owner := strconv.FormatUint(rand.Uint64(), 36)
		err := poll(ctx, func() (bool, error) {
			token, err := acquire3.Run(ctx, client, []string{key, key + ":token"}, owner, lifetime.Milliseconds()).Int64()
			return token > 0, err
		})
		return func() error {
			held, err := release3.Run(ctx, client, []string{key, key + ":channel"}, owner).Bool()
			if err == nil && !held {
				err = errors.New("script3: the lock was lost")
			}
			return err
		}, err
	}
}
