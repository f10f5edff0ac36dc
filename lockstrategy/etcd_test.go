package lockstrategy_test

import (
	"context"
	"net/url"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/stack"
	"locklab/stack/faultproxy"
	"locklab/topology"
)

func TestEtcdConforms(t *testing.T) {
	t.Parallel()
	servers := etcdServers(t, 1)
	for name, cohort := range withAndWithoutCohort {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, etcdBackend(etcdClient(t, servers.Addrs()), cohort, servers.Addrs()))
		})
	}
}

// etcdServers starts a cluster that ends with the test.
func etcdServers(t testing.TB, n int) *stack.Etcd {
	t.Helper()
	testenv.Needs(t, testenv.Etcd)
	return must(testenv.Stack(t).Etcd(testenv.Context(t), n))(t)
}

func etcdClient(t testing.TB, addrs []string, options ...grpc.DialOption) *clientv3.Client {
	t.Helper()
	opened := must(topology.OpenEtcd(testenv.Context(t), topology.EtcdConfig{Addrs: addrs, Options: options}))(t)
	t.Cleanup(func() { _ = opened.Close() }) // a client that crashed is closed already
	return opened.Client
}

// etcdQueue is the prefix of the keys of a lock.
func etcdQueue(key string) string { return "locklab/" + url.PathEscape(key) + "/" }

func etcdBackend(admin *clientv3.Client, cohort bool, addrs []string) locktest.Backend {
	entries := func(t *testing.T, key string) (all []string) {
		for _, kv := range must(admin.Get(t.Context(), etcdQueue(key), clientv3.WithPrefix()))(t).Kvs {
			all = append(all, string(kv.Key))
		}
		return all
	}
	return locktest.Backend{
		Wired: true, Fenced: true, Cohort: cohort,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			var near []string
			if s.Wire != nil {
				s.Wire.Control = faultproxy.HTTP2Control
			}
			for _, addr := range addrs {
				near = append(near, behind(t, s.Wire, addr))
			}
			sent := new(atomic.Int64)
			c := etcdClient(t, near, grpc.WithChainUnaryInterceptor(counted(sent)))
			e := must(lockstrategy.NewEtcd(c, lockstrategy.EtcdConfig{Lease: s.Lease, Request: request(s)}))(t)
			return locktest.Client{
				Opened: behindCohort(t, cohort, e, e.Close, s.HandOff),
				Crash:  func() { _ = c.Close() },
				Sent:   func() int { return int(sent.Load()) },
			}
		},
		Server: &locktest.Server{
			Entries: entries,
			Forget: func(t *testing.T, key string) {
				must(admin.Delete(t.Context(), etcdQueue(key), clientv3.WithPrefix()))(t)
			},
			ForgetToken: func(*testing.T, string) {}, // it is the cluster's revision
			Listening:   func(t *testing.T, key string) int { return max(0, len(entries(t, key))-1) },
		},
	}
}

// counted counts the requests that a server has answered.
func counted(sent *atomic.Int64) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		err := invoke(ctx, method, request, reply, conn, options...)
		if err == nil {
			sent.Add(1)
		}
		return err
	}
}
