package peer

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// openRueidislock opens a lock that the server's invalidations of its client-side cache wake up. All settings are its defaults but the
// majority: its two of three keys are on the same server, where they add cost and no safety, so it is 1.
func openRueidislock(addr string, majority int32) (Lock, func() error, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:  majority,
	})
	if err != nil {
		return nil, nil, err
	}
	lock := func(ctx context.Context, key string) (func() error, error) {
		_, release, err := locker.WithContext(ctx, key)
		return func() error { release(); return nil }, err
	}
	return lock, func() error { locker.Close(); return nil }, nil
}
