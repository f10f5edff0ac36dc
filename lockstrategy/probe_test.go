package lockstrategy

import (
	"context"
	"errors"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// The requests of a probe have timeouts of their own. So it begins none when its caller's time is up.
func TestAProbeAsksNothingWhenItsTimeIsUp(t *testing.T) {
	server := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, probe := range map[string]func(context.Context, redis.UniversalClient, string) ([]Refusal, error){
		"redis": ProbeRedis, "a node": ProbeNode,
	} {
		_, err := probe(ctx, inMemory(t, server), "k")
		if sent := server.CommandCount(); !errors.Is(err, context.Canceled) || sent > 0 {
			t.Errorf("%s: it sent %d commands and says %v", name, sent, err)
		}
	}
}
