package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Etcd is an open cluster of etcd.
type Etcd struct{ *clientv3.Client }

// OpenEtcd opens a client for a cluster, of which addrs names some servers as host:port. It waits until a server answers or ctx ends. The
// error names what could not be reached, or what is no address. etcd must not require a user.
func OpenEtcd(ctx context.Context, addrs []string, options ...grpc.DialOption) (e *Etcd, err error) {
	for _, addr := range addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil || strings.Contains(addr, "/") {
			return nil, fmt.Errorf("%q is no address of an etcd server: it is host:port, as 127.0.0.1:2379", addr)
		}
	}
	err = until(ctx, func(ctx context.Context) (err error) {
		if e == nil {
			if e, err = newEtcd(addrs, options); err != nil {
				return err
			}
		}
		return e.Ping(ctx)
	})
	if err != nil {
		err = fmt.Errorf("etcd (%s): %w", strings.Join(addrs, ","), err)
	}
	if err != nil && e != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, err
}

// Backend is a *clientv3.Client.
func (e *Etcd) Backend() any { return e.Client }

// String names the servers.
func (e *Etcd) String() string { return "etcd " + strings.Join(e.Endpoints(), ",") }

// etcdSilence is after how long a connection that says nothing is pinged. gRPC allows no less.
const etcdSilence = 10 * time.Second

// newEtcd opens a client. A connection that was lost is opened again within half a second: gRPC's own pauses grow to two minutes.
func newEtcd(addrs []string, options []grpc.DialOption) (*Etcd, error) {
	soon := grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 500 * time.Millisecond},
		MinConnectTimeout: dialTimeout,
	})
	client, err := clientv3.New(clientv3.Config{
		Endpoints: addrs, Logger: zap.NewNop(),
		DialTimeout: replyTimeout, DialKeepAliveTime: etcdSilence, DialKeepAliveTimeout: replyTimeout,
		DialOptions: append([]grpc.DialOption{soon}, options...),
	})
	if err != nil {
		return nil, err
	}
	return &Etcd{client}, nil
}

// Ping reads linearizably: a majority of the servers takes part.
func (e *Etcd) Ping(ctx context.Context) error {
	if _, err := e.Get(ctx, "locklab/", clientv3.WithCountOnly()); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(e.Endpoints(), ","), err)
	}
	return nil
}
