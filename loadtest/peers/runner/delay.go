package runner

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/loadtest/peers/stats"
	"locklab/stack/faultproxy"
)

// emulated is the round trip that the proxy aims at.
const emulated = time.Millisecond

// delayProxy is a proxy that delays what clients send.
type delayProxy struct {
	*faultproxy.Proxy
	addr string
}

// openDelay starts a proxy to target and sets its delay so that a PING takes about the emulated round trip. It returns what a PING really
// takes, in µs.
func openDelay(ctx context.Context, target string) (*delayProxy, float64, error) {
	p := &delayProxy{Proxy: faultproxy.New(faultproxy.TCP(target))}
	var err error
	if p.addr, err = p.Listen(); err != nil {
		return nil, 0, err
	}
	delay := emulated // of one direction: a timer of Go may be late, and so it is late once in a round trip
	var us float64
	for range 4 {
		p.Delay(faultproxy.Latency(delay, 0))
		if us, err = roundTrip(ctx, p.addr); err != nil {
			break
		}
		delay -= time.Duration(us*1e3) - emulated
	}
	return p, us, err
}

// roundTrip is the median time of a PING, in µs.
func roundTrip(ctx context.Context, addr string) (float64, error) {
	c := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, PoolSize: 1})
	defer c.Close()
	var took []float64
	for range 500 {
		asked := time.Now()
		if err := c.Ping(ctx).Err(); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(asked).Nanoseconds())/1e3)
	}
	return stats.Quantile(took, 0.5), nil
}
