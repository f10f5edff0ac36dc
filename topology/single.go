package topology

import (
	"context"

	"github.com/redis/go-redis/v9"
)

func (r *Redis) openSingle(ctx context.Context) error {
	r.Master = redis.NewClient(options(r.cfg.Addrs[0], r.cfg.Password))
	return until(ctx, r.Ping)
}
