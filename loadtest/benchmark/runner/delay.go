package runner

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab/report/benchfile"
)

// emulated is the round trip that the proxy aims at.
const emulated = time.Millisecond

// openDelay starts a proxy before the first server and sets its delay so that a PING takes about the emulated round trip.
func (b *Bench) openDelay(ctx context.Context) error {
	p, err := b.stack.Proxy("delay", b.redis[0].Addr)
	if err != nil {
		return err
	}
	p.Label = nil // it would search each request for a replica's port
	b.delayed = p.Addr
	delay := emulated // of one direction: a timer of Go may be late, and so it is late once in a round trip
	for range 4 {
		p.Delay(faultproxy.Latency(delay, 0))
		if b.Emulated, err = roundTrip(ctx, p.Addr); err != nil {
			return err
		}
		delay -= time.Duration(b.Emulated*1e3) - emulated
	}
	return nil
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
	return benchfile.Quantile(took, 0.5), nil
}
