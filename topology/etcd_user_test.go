package topology_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"locklab/lab/testenv"
	"locklab/topology"
)

// etcdUsers makes servers know two users: root, and app, which has the rights that a lock needs. It returns root's client.
func etcdUsers(t *testing.T, addrs []string) *clientv3.Client {
	t.Helper()
	nobody, ctx := openEtcd(t, topology.EtcdConfig{Addrs: addrs}).Client, testenv.Context(t)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(nobody.UserAdd(ctx, "root", "secret"))
	must(nobody.UserGrantRole(ctx, "root", "root"))
	must(nobody.UserAdd(ctx, "app", "secret"))
	must(nobody.RoleAdd(ctx, "locks"))
	below := clientv3.GetPrefixRangeEnd("locklab/")
	must(nobody.RoleGrantPermission(ctx, "locks", "locklab/", below, clientv3.PermissionType(clientv3.PermReadWrite)))
	must(nobody.UserGrantRole(ctx, "app", "locks"))
	must(nobody.AuthEnable(ctx))
	root, err := clientv3.New(clientv3.Config{Endpoints: addrs, Username: "root", Password: "secret"})
	must(nil, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// The token that a client began with is refused: it has expired, or the users have changed. The client is told of what it watches
// nevertheless, and its requests are answered.
func TestEtcdAfterItsTokenWasRefused(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("secret", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		settings []string
		refuse   func(t *testing.T, addrs []string, root *clientv3.Client)
	}{
		"it has expired": {[]string{"--auth-token-ttl", "2"}, expire},
		"the users have changed": {
			[]string{"--auth-token", "jwt,sign-method=HS256,priv-key=" + key},
			func(t *testing.T, _ []string, root *clientv3.Client) {
				if _, err := root.UserAdd(t.Context(), "another", "secret"); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs := etcd(t, c.settings...).Addrs()
			root := etcdUsers(t, addrs)
			app := openEtcd(t, topology.EtcdConfig{Addrs: addrs, User: "app", Password: "secret"}).Client
			lease, err := app.Grant(testenv.Context(t), 60)
			if err != nil {
				t.Fatal(err)
			}
			before := watch(t, app, "locklab/before")
			c.refuse(t, addrs, root)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			told := func(watched clientv3.WatchChan, key string) {
				t.Helper()
				if _, err := app.Put(ctx, key, "value"); err != nil {
					t.Fatal(err)
				}
				if got := <-watched; len(got.Events) != 1 {
					t.Errorf("of %s it is told %+v", key, got)
				}
			}
			told(before, "locklab/before")
			told(watch(t, app, "locklab/after"), "locklab/after")
			if _, err := app.KeepAliveOnce(ctx, lease.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// watch returns when the server watches the key.
func watch(t *testing.T, client *clientv3.Client, key string) clientv3.WatchChan {
	t.Helper()
	watched := client.Watch(testenv.Context(t), key, clientv3.WithCreatedNotify())
	select {
	case got := <-watched:
		if !got.Created || got.Err() != nil {
			t.Fatalf("the server does not watch %s: %v", key, got.Err())
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the server does not answer whether it watches %s", key)
	}
	return watched
}

// expire returns when each token of app that was not used meanwhile has expired. Time is the subject. A token is used once here: its time
// begins again with each use.
func expire(t *testing.T, addrs []string, root *clientv3.Client) {
	var tokens [10]string
	for i := range tokens {
		reply, err := root.Authenticate(t.Context(), "app", "secret")
		if err != nil {
			t.Fatal(err)
		}
		tokens[i] = reply.Token
	}
	for _, token := range tokens {
		time.Sleep(time.Second)
		client, err := clientv3.New(clientv3.Config{Endpoints: addrs, Token: token, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Get(t.Context(), "locklab/")
		_ = client.Close()
		if err != nil && strings.Contains(err.Error(), "invalid auth token") {
			return
		}
	}
	t.Fatal("no token has expired")
}

// A server takes a tenth of a second for a password. A stream that asked for a token of its own would delay each hand-over by that.
func TestEtcdStreamsShareAToken(t *testing.T) {
	t.Parallel()
	addrs := etcd(t).Addrs()
	etcdUsers(t, addrs)
	var passwords atomic.Int64
	app := openEtcd(t, topology.EtcdConfig{Addrs: addrs, User: "app", Password: "secret", Options: []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(
			ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			if strings.HasSuffix(method, "/Authenticate") {
				passwords.Add(1)
			}
			return invoke(ctx, method, request, reply, conn, options...)
		}),
	}})
	lease, err := app.Grant(testenv.Context(t), 60)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		watch(t, app.Client, "locklab/key")
		if _, err := app.KeepAliveOnce(testenv.Context(t), lease.ID); err != nil {
			t.Fatal(err)
		}
	}
	if n := passwords.Load(); n != 1 {
		t.Errorf("the client has sent its password %d times", n)
	}
}
