package kit

import (
	"context"
	"strings"
	"sync"

	"locklab/experiments/worker"

	"github.com/redis/go-redis/v9"
)

// meeting is a point that several clients pass together.
type meeting struct {
	ctx     context.Context
	mu      sync.Mutex
	missing int
	all     chan struct{} // closed when all are there
}

func (m *meeting) attend() error {
	m.mu.Lock()
	if m.missing--; m.missing == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return nil
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

// attendance is a hook of one client. Its first script waits for the meeting.
type attendance struct {
	worker.EachCommand
	*meeting
	once sync.Once
}

// ProcessHook implements [redis.Hook].
func (a *attendance) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) (err error) {
		if strings.HasPrefix(strings.ToLower(cmd.Name()), "eval") {
			a.once.Do(func() { err = a.attend() })
		}
		if err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}
