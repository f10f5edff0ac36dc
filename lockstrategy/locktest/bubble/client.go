package bubble

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Dial opens a client of a Redis in memory for a synctest bubble: it has no timer or goroutine that outlives one.
func Dial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Client {
	return redis.NewClient(&redis.Options{
		Dialer: dial, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, // as package topology has it
		Protocol: 2, DisableIdentity: true, ConnMaxIdleTime: -1, PoolSize: 100, // no waiting for a connection
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone, // no request for its address
		},
	})
}
