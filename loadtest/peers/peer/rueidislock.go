package peer

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// peerRueidislock is woken by the server's invalidations of its client-side cache. Everything is its default but the
// majority: its two of three keys lie on the same server, where they add cost and no safety, so 1.
type peerRueidislock struct{ rueidislock.Locker }

func openRueidislock(addr string, majority int32) (Lock, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:  majority,
	})
	return peerRueidislock{l}, err
}

func (r peerRueidislock) Lock(ctx context.Context, key string) (func() error, error) {
	_, release, err := r.WithContext(ctx, key)
	if err != nil {
		return nil, err
	}
	return func() error { release(); return nil }, nil
}

func (r peerRueidislock) Close() error {
	r.Locker.Close()
	return nil
}
