package worker

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// openRueidislock opens a lock that is notified by the server's invalidations of its client-side cache. All settings but the majority are
// its defaults. Two of three keys on the same server would add cost and no safety, so the majority is 1.
func openRueidislock(addr string) (Lock, func() error, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:  1,
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
