package worker

import (
	"context"
	"sync"
)

// local is a FIFO queue in one process, with no lock server: the best that a lock between processes can come near to. With one waiter it
// costs next to nothing, so the row limit uses it, too.
func local() Lock {
	var keys sync.Map // key: a channel with room for the holder. Go lets blocked senders in by their order.
	return func(ctx context.Context, key string) (func() error, error) {
		value, _ := keys.LoadOrStore(key, make(chan struct{}, 1))
		holder := value.(chan struct{})
		select {
		case holder <- struct{}{}:
			return func() error { <-holder; return nil }, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
