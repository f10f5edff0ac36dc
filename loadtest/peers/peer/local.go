package peer

import (
	"context"
	"sync"
)

// local is a FIFO queue in one process, with no lock server: what a lock between processes can at
// best come near to. With one waiter it costs next to nothing, so it is the limit's, too.
type local struct {
	mu   sync.Mutex
	keys map[string][]chan struct{} // an entry: the key is held; in it, who waits
}

func newLocal() *local { return &local{keys: map[string][]chan struct{}{}} }

func (l *local) Lock(ctx context.Context, key string) (func() error, error) {
	unlock := func() error { l.next(key); return nil }
	l.mu.Lock()
	queue, held := l.keys[key]
	if !held {
		l.keys[key] = nil
		l.mu.Unlock()
		return unlock, nil
	}
	turn := make(chan struct{}, 1)
	l.keys[key] = append(queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return unlock, nil
	case <-ctx.Done(): // the turn may still come: pass it on
		go func() { <-turn; l.next(key) }()
		return nil, ctx.Err()
	}
}

func (l *local) next(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.keys[key]
	if len(queue) == 0 {
		delete(l.keys, key)
		return
	}
	l.keys[key] = queue[1:]
	queue[0] <- struct{}{}
}

func (l *local) Close() error { return nil }
