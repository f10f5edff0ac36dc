package peer

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/redis/go-redis/v9"
)

var compareAndDelete = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// naive is what many write first: SET NX PX every 10 ms, and the owner deletes the key.
func naive(client *redis.Client) Lock {
	return func(ctx context.Context, key string) (func() error, error) {
		owner := strconv.FormatUint(rand.Uint64(), 36)
		err := poll(ctx, func() (bool, error) {
			err := client.SetArgs(ctx, key, owner, redis.SetArgs{Mode: "NX", TTL: lifetime}).Err()
			if errors.Is(err, redis.Nil) {
				return false, nil
			}
			return err == nil, err
		})
		return func() error { return compareAndDelete.Run(ctx, client, []string{key}, owner).Err() }, err
	}
}
