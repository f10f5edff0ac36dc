package topology

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// reloadInterval bounds how long the cluster client uses a master that was replaced, when no reply tells it the new one.
const reloadInterval = 2 * time.Second

func (r *Redis) openCluster(ctx context.Context) error {
	r.Master = newCluster(r.cfg, false)
	r.replicas = []redis.UniversalClient{newCluster(r.cfg, true)}
	return until(ctx, r.Ping)
}

func newCluster(cfg Config, replicas bool) *redis.ClusterClient {
	o := options(cfg.Access, cfg.Addrs...).Cluster()
	o.ReadOnly, o.ClusterStateReloadInterval = replicas, reloadInterval
	o.MinRetryBackoff = -1 // it pauses at no redirection: later pauses, and knows why
	client := redis.NewClusterClient(o)
	client.AddHook(later{})
	client.OnNewNode(func(node *redis.Client) { node.AddHook(once{node.Options().Addr}) })
	return client
}

// once keeps the cluster client from sending a command again that may have been executed. The client must be allowed to send
// commands again, because it follows redirections. It would do so after a lost reply, too. So it gets a lost reply as an error of a
// type that it does not know, with the node's address.
type once struct{ addr string }

// lostReply hides its cause from the cluster client, except the end of the caller's context, after which the client does not send
// the command again, and that the command was not sent.
type lostReply struct {
	addr  string
	cause error
}

func (l lostReply) Error() string { return l.addr + ": " + l.cause.Error() }

// Is reports whether the cause is one of the errors that are not hidden.
func (l lostReply) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded || target == replies.ErrNotSent) && errors.Is(l.cause, target)
}

func (once) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o once) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return o.hideLostReply(greeting(cmd, next(ctx, cmd)))
	}
}

// ProcessPipelineHook is for the commands after an ASK redirection, which the client sends in a pipeline.
func (o once) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			cmd.SetErr(o.hideLostReply(cmd.Err()))
		}
		return o.hideLostReply(err)
	}
}

func (o once) hideLostReply(err error) error {
	if replyLost(err) {
		return lostReply{o.addr, err}
	}
	return err
}

// replyLost reports whether a command failed because its connection ended, or was silent. The server may have executed it.
func replyLost(err error) bool {
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}
