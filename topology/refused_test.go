package topology

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// The error of a command that is refused for longer than it may wait says why. One that is marked to be sent once does not wait.
func TestACommandThatIsRefusedForLongSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moving, sent := errors.New("TRYAGAIN Multiple keys request during rehashing of slot"), 0
		send := later{}.ProcessHook(func(context.Context, redis.Cmder) error { sent++; return moving })
		for _, c := range []struct {
			ctx         context.Context
			limit, most time.Duration
			says        string
		}{
			{t.Context(), time.Hour, laterAtMost, "refused for 4.98s: a slot of the cluster is moving: TRYAGAIN"},
			{t.Context(), time.Second, time.Second, "refused for 980ms: a slot of the cluster is moving: TRYAGAIN"},
			{replies.SendOnce(t.Context()), time.Hour, 0, "TRYAGAIN"},
		} {
			ctx, cancel := context.WithTimeout(c.ctx, c.limit)
			began := time.Now()
			sent = 0
			err := send(ctx, redis.NewCmd(ctx, "get", "key"))
			cancel()
			took := time.Since(began)
			if !errors.Is(err, moving) || !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("it says %v, want %q", err, c.says)
			}
			if took > c.most || took < c.most-2*laterPause || sent < int(took/laterPause) {
				t.Errorf("it was sent %d times within %s, want %s", sent, took, c.most)
			}
		}
	})
}
