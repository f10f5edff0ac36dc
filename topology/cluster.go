package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// reload bounds how long the cluster client may believe in a master that was replaced without
// anybody telling it.
const reload = 2 * time.Second

func (r *Redis) openCluster(ctx context.Context) error {
	r.Master = newCluster(r.cfg, false)
	r.replicas = []redis.UniversalClient{newCluster(r.cfg, true)}
	return until(ctx, r.Ping)
}

func newCluster(cfg Config, replicas bool) *redis.ClusterClient {
	o := options("", cfg.Access)
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                      cfg.Addrs,
		ReadOnly:                   replicas,
		Password:                   o.Password,
		Dialer:                     o.Dialer,
		MaxRetries:                 o.MaxRetries,
		DialTimeout:                o.DialTimeout,
		DialerRetries:              o.DialerRetries,
		ReadTimeout:                o.ReadTimeout,
		WriteTimeout:               o.WriteTimeout,
		ContextTimeoutEnabled:      o.ContextTimeoutEnabled,
		PoolSize:                   o.PoolSize,
		PoolTimeout:                o.PoolTimeout,
		MaintNotificationsConfig:   o.MaintNotificationsConfig,
		ClusterStateReloadInterval: reload,
	})
	client.OnNewNode(func(node *redis.Client) { node.AddHook(once{node.Options().Addr}) })
	return client
}

// once keeps the cluster client from sending a command again that may have been executed. It
// follows redirections, for which it must be allowed to repeat, and takes a lost answer for one
// more reason; so the loss is shown to it as an error that it does not know, with the node's name.
type once struct{ addr string }

// lost is an error whose cause the cluster client must not look at, unless it is the end of the
// caller's context, after which it does not repeat either.
type lost struct {
	addr  string
	cause error
}

func (l lost) Error() string { return l.addr + ": " + l.cause.Error() }

// Is finds the context's errors.
func (l lost) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded) && errors.Is(l.cause, target)
}

func (once) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o once) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return o.sealed(next(ctx, cmd)) }
}

// ProcessPipelineHook is for what follows an ASK redirection, which the client sends in a pipeline.
func (o once) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			cmd.SetErr(o.sealed(cmd.Err()))
		}
		return o.sealed(err)
	}
}

func (o once) sealed(err error) error {
	if mayHaveRun(err) {
		return lost{o.addr, err}
	}
	return err
}

// mayHaveRun reports whether err leaves open what the server did. A connection that was never
// made has carried nothing.
func mayHaveRun(err error) bool {
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}
