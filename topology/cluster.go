package topology

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// reloadInterval bounds how long the cluster client uses a master that was replaced, when no reply tells it the new one.
const reloadInterval = 2 * time.Second

func (r *Redis) openCluster(ctx context.Context) error {
	m := &members{named: r.cfg.Addrs}
	r.Master = newCluster(r.cfg, m, false)
	r.replicas = []redis.UniversalClient{newCluster(r.cfg, m, true)}
	return until(ctx, r.Ping)
}

func newCluster(cfg Config, m *members, replicas bool) *redis.ClusterClient {
	o := options(cfg.Access, cfg.Addrs...).Cluster()
	o.ReadOnly, o.ClusterStateReloadInterval = replicas, reloadInterval
	o.MinRetryBackoff = -1 // it pauses at no redirection: later pauses, and knows why
	o.NewClient = func(o *redis.Options) *redis.Client {
		n := clusterNode{o.Addr, m}
		o.OnConnect = n.check
		node := redis.NewClient(o)
		node.AddHook(n)
		return node
	}
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, ":") { // as of a redirection in a pipeline, which no hook sees
			return nil, fmt.Errorf("%w: %q leads to this machine, which nobody has named", replies.ErrNotSent, addr)
		}
		return dial(ctx, network, addr)
	}
	client := redis.NewClusterClient(o)
	client.AddHook(later{})
	return client
}

// clusterNode is the server of a cluster at an address. It keeps the cluster client from sending a command again that may have been
// executed. The client must be allowed to send commands again, because it follows redirections. It would do so after a lost reply, too. So
// it gets a lost reply as an error of a type that it does not know, with the node's address.
//
// A server may leave out its host in a redirection and in its view of the cluster. The client would dial this machine. It means the host
// that was asked.
type clusterNode struct {
	addr    string
	members *members
}

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

// DialHook implements [redis.Hook].
func (clusterNode) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (n clusterNode) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slots, is := cmd.(*redis.ClusterSlotsCmd); is {
			return n.view(ctx, slots, next)
		}
		return n.convert(greeting(cmd, next(ctx, cmd)))
	}
}

// ProcessPipelineHook is for the commands after an ASK redirection, which the client sends in a pipeline.
func (n clusterNode) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := greeting(cmds[0], next(ctx, cmds))
		for _, cmd := range cmds {
			cmd.SetErr(n.convert(cmd.Err()))
		}
		return n.convert(err)
	}
}

// convert hides a lost reply, and adds a host to a redirection that has none. A redirection to a server without a name ("?") is a reason to
// try again, when the client has another view.
func (n clusterNode) convert(err error) error {
	if replyLost(err) {
		return lostReply{n.addr, err}
	}
	addr, redirected := redis.IsMovedError(err)
	if !redirected {
		addr, redirected = redis.IsAskError(err)
	}
	colon := max(0, strings.LastIndexByte(addr, ':')) // an IPv6 address has more
	switch host := addr[:colon]; {
	case redirected && host == "":
		return reply(strings.TrimSuffix(err.Error(), addr) + n.addressOf("", addr[colon+1:]))
	case redirected && host == "?":
		return reply("TRYAGAIN This server has no name: " + err.Error())
	}
	return err
}

// addressOf is a server of which this one has told the host and port.
func (n clusterNode) addressOf(host, port string) string {
	if host == "" {
		host, _, _ = net.SplitHostPort(n.addr)
	}
	return net.JoinHostPort(host, port)
}

// reply is an error as a server replies it.
type reply string

func (r reply) Error() string { return string(r) }

// RedisError implements [redis.Error].
func (reply) RedisError() {}

// replyLost reports whether a command failed because its connection ended, or was silent. The server may have executed it.
func replyLost(err error) bool {
	if op := new(net.OpError); errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}
