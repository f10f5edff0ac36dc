package topology

import "context"

func (r *Redis) openSingle(ctx context.Context) error {
	r.Master = newClient(r.cfg.Addrs[0], r.cfg.Access)
	return until(ctx, r.Ping)
}
