package topology

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"locklab/internal/reach"
	"locklab/internal/replies"
)

// Limits of every client.
const (
	// A burst dials all connections of its pool simultaneously. On a machine with two busy processors the race detector made that take more
	// than a second. The deadline of the caller's context ends a dial earlier; a closed port is refused immediately.
	dialTimeout  = 3 * time.Second
	replyTimeout = 2 * time.Second
	poolTimeout  = 5 * time.Second // for a free connection of the pool
	poolSize     = 64              // connections per server, so that the requests of a burst really overlap

	noRetries = -1 // go-redis: do not send a command again
)

// options are the settings of every client, in the form from which go-redis makes those of each kind.
func options(access Access, addrs ...string) *redis.UniversalOptions {
	o := &redis.UniversalOptions{
		Addrs:                 addrs,
		Username:              access.User,
		Password:              access.Password,
		SentinelUsername:      access.sentinelUser,
		SentinelPassword:      access.sentinelPassword,
		DB:                    access.database,
		MaxRetries:            noRetries,
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		ReadTimeout:           replyTimeout,
		WriteTimeout:          replyTimeout,
		ContextTimeoutEnabled: true,
		PoolSize:              poolSize,
		PoolTimeout:           poolTimeout,
		// The endpoint's type is set because go-redis would look up the server's name to find it.
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone,
		},
	}
	dial := redis.NewDialer(o.Simple())
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, access.Map.Resolve(addr))
		if err != nil || access.tls == nil {
			return conn, err
		}
		return encrypt(ctx, conn, access.tls, addr)
	}
	return o
}

// newClient opens a client of one server. Its errors contain the address.
func newClient(addr string, access Access) *redis.Client {
	client := redis.NewClient(options(access, addr).Simple())
	client.AddHook(named{addr})
	return client
}

// named puts a name before the errors of a client: go-redis does not say which server's reply was late.
type named struct{ name string }

func (named) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n named) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := greeting(cmd, next(ctx, cmd))
		var reply redis.Error // an error that the server replied is no error of the connection
		if err == nil || errors.As(err, &reply) {
			return err
		}
		return fmt.Errorf("%s: %w", n.name, err)
	}
}

func (named) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return greeting(cmds[0], next(ctx, cmds)) }
}

// greetings are the commands that go-redis sends first on each connection.
var greetings = []string{"hello", "auth", "select", "readonly"}

// greeting marks an error of a greeting: without a reply, go-redis sends nothing else. A server that refuses connections gives its reason
// as the reply.
func greeting(first redis.Cmder, err error) error {
	switch {
	case !slices.Contains(greetings, first.Name()):
		return err
	case redis.IsMaxClientsError(err) || redis.HasErrorPrefix(err, "DENIED"):
		return fmt.Errorf("%w: %s", replies.ErrNotSent, err.Error()) // with a redis.Error, go-redis would go on
	case replies.MayHaveRun(err):
		return fmt.Errorf("%w: %w", replies.ErrNotSent, err)
	}
	return err
}

// until repeats try until it succeeds, ctx ends, or the server refuses for good. The error is that of [reach.Until].
func until(ctx context.Context, try func(context.Context) error) error {
	return reach.Until(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, replyTimeout)
		defer cancel()
		return try(attempt)
	}, func(err error) error {
		if reason := refusedFor(err); reason != "" {
			return fmt.Errorf("%s: %w", reason, err)
		}
		return nil
	})
}

// refusedFor returns why a server will refuse a client again, or "" if it may not.
func refusedFor(err error) string {
	var certificate *tls.CertificateVerificationError
	switch {
	case refused(err) && strings.Contains(err.Error(), "all sentinels"):
		return "the password of the sentinels is wrong or missing; it belongs in their URLs"
	case refused(err):
		return "the password is wrong or missing"
	case redis.HasErrorPrefix(err, "NOPERM"):
		return "the user lacks a permission"
	case errors.As(err, &certificate):
		return "the certificate is not accepted"
	}
	return ""
}

// refused reports whether a server refused the password: it will do so again.
func refused(err error) bool {
	return redis.HasErrorPrefix(err, "WRONGPASS") || redis.HasErrorPrefix(err, "NOAUTH") || errors.Is(err, rpctypes.ErrUserEmpty) ||
		redis.HasErrorPrefix(err, "AUTH <password> called without") // the user "default" is off, and no other is named
}
