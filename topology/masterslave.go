package topology

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// openMasterSlave opens a client for each node and asks for its role: the order of the addresses does not matter. go-redis has
// no client for a master with replicas without sentinels.
func (r *Redis) openMasterSlave(ctx context.Context) error {
	for _, addr := range r.cfg.Addrs {
		client := newClient(addr, r.cfg.Access)
		var role string
		err := until(ctx, func(ctx context.Context) (err error) {
			role, err = roleOf(ctx, client)
			return err
		})
		switch {
		case err == nil && role == "master" && r.Master == nil:
			r.Master = client
			continue
		case err == nil && role == "master":
			err = fmt.Errorf("%s is a second master: name one master and its replicas", addr)
		}
		r.replicas = append(r.replicas, client) // also after an error, so that Close closes it
		if err != nil {
			return err
		}
	}
	if r.Master == nil {
		return errors.New("none of the nodes is a master")
	}
	return nil
}

func roleOf(ctx context.Context, client *redis.Client) (string, error) {
	answer, err := client.Do(ctx, "ROLE").Slice()
	if err != nil || len(answer) == 0 {
		return "", fmt.Errorf("ask for the role: %w", err)
	}
	role, _ := answer[0].(string)
	return role, nil
}
