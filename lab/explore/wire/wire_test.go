package wire

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// silence stands for no reply.
const silence = -3

// pttl answers PTTL with these times, and then with the last one.
type pttl struct {
	left    []int64 // milliseconds, or -2; or silence
	asked   int
	refuses bool // PEXPIRE
}

func (*pttl) DialHook(next redis.DialHook) redis.DialHook { return next }
func (*pttl) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (p *pttl) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		switch cmd := cmd.(type) {
		case *redis.DurationCmd:
			left := p.left[min(p.asked, len(p.left)-1)]
			switch p.asked++; left {
			case silence:
				cmd.SetErr(io.EOF)
			case -2:
				cmd.SetVal(-2)
			default:
				cmd.SetVal(time.Duration(left) * time.Millisecond)
			}
		case *redis.BoolCmd: // PEXPIRE
			if p.refuses {
				cmd.SetErr(io.EOF)
			}
		}
		return cmd.Err()
	}
}

// A server has ended a lease when it says so, and not a moment before. The wait for it ends with its context.
func TestALeaseIsWaitedForUntilItsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		left  []int64
		asked int
		err   error
	}{
		{"there is none", []int64{-2}, 1, nil},
		{"it ends", []int64{60_000, 1, 0, 0, -2}, 5, nil},
		{"its end cannot be set", []int64{1}, 1, io.EOF},
		{"the server goes away before the end", []int64{1, 1, silence}, 3, io.EOF},
		{"the server is away", []int64{silence}, 1, io.EOF},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &pttl{left: c.left, refuses: c.name == "its end cannot be set"}
			client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
			defer client.Close()
			client.AddHook(p)
			if err := (Redis{client}).Pass(t.Context()); !errors.Is(err, c.err) || p.asked != c.asked {
				t.Errorf("%s: %v, after %d questions", c.name, err, p.asked)
			}
			p.left, p.asked, p.refuses = []int64{60_000}, 0, false
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := (Redis{client}).Pass(ctx); !errors.Is(err, context.DeadlineExceeded) || p.asked < 2 {
				t.Errorf("it does not end: %v, after %d questions", err, p.asked)
			}
		})
	}
}
