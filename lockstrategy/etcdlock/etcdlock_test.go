package etcdlock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/etcdlock"
	"locklab/lockstrategy/locktest"
	"locklab/topology"
)

func TestEtcdConforms(t *testing.T) {
	t.Parallel()
	servers := sharedEtcd.Of(t)
	for name, queued := range testlocks.AloneAndQueued {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testlocks.OnServer(t, queued)
			locktest.Run(t, etcdBackend(etcdClient(t, servers.Addrs()), queued, servers.Addrs()))
		})
	}
}

var sharedEtcd = testenv.Shared[*servers.Etcd]{
	Need:  testenv.Etcd,
	Start: func(ctx context.Context, s *servers.Stack) (*servers.Etcd, error) { return s.Etcd(ctx, 1) },
}

// etcdServers starts a cluster that ends with the test, for one that compacts it, breaks it, or counts all that it stores.
func etcdServers(t testing.TB, n int) *servers.Etcd {
	t.Helper()
	testenv.Needs(t, testenv.Etcd)
	return testlocks.Must(testenv.Stack(t).Etcd(testenv.Context(t), n))(t)
}

func etcdClient(t testing.TB, addrs []string, options ...grpc.DialOption) *clientv3.Client {
	t.Helper()
	opened := testlocks.Must(topology.OpenEtcd(testenv.Context(t), addrs, options...))(t)
	t.Cleanup(func() { _ = opened.Close() }) // a client that crashed is closed already
	return opened.Client
}

// etcdQueue is the prefix of the keys of a lock.
func etcdQueue(key string) string { return "locklab/" + url.PathEscape(key) + "/" }

func etcdBackend(admin *clientv3.Client, queued bool, addrs []string) locktest.Backend {
	entries := func(t *testing.T, key string) (all []string) {
		for _, kv := range testlocks.Must(admin.Get(t.Context(), etcdQueue(key), clientv3.WithPrefix()))(t).Kvs {
			all = append(all, string(kv.Key))
		}
		return all
	}
	return locktest.Backend{
		Wired: true, Fenced: true, Queued: queued, Watches: true,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			var near []string
			if s.Wire != nil {
				s.Wire.Control = faultproxy.HTTP2Control
			}
			for _, addr := range addrs {
				near = append(near, testlocks.Behind(t, s.Wire, addr))
			}
			sent, bound := new(atomic.Int64), testlocks.Patient(s.Lease)
			if s.Wire != nil { // a request lasts so long while the wire hangs, and gRPC needs some of it to connect again
				bound = min(bound, 5*time.Second)
			}
			c := etcdClient(t, near, grpc.WithChainUnaryInterceptor(counted(sent)))
			e := testlocks.Must(etcdlock.New(c, lockstrategy.Timing{Expiry: s.Lease, Request: bound}))(t)
			client := testlocks.Opened(t, queued, e, e.Close, s.HandOff)
			client.Crash = func() { _ = c.Close() }
			client.Sent = func() int { return int(sent.Load()) }
			return client
		},
		Server: &locktest.Server{
			Entries: entries,
			Forget: func(t *testing.T, key string) {
				testlocks.Must(admin.Delete(t.Context(), etcdQueue(key), clientv3.WithPrefix()))(t)
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

// etcdLock opens a lock that ends with the test. By default a request may take long: the machine is busy with other tests.
func etcdLock(t testing.TB, client *clientv3.Client, cfg lockstrategy.Timing) *etcdlock.Lock {
	t.Helper()
	cfg.Request = cmp.Or(cfg.Request, min(5*time.Second, testlocks.Patient(cfg.Expiry)))
	e := testlocks.Must(etcdlock.New(client, cfg))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// etcdKeys are the keys of a lock's queue, the oldest first.
func etcdKeys(t testing.TB, admin *clientv3.Client, key string) []*mvccpb.KeyValue {
	t.Helper()
	byAge := clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend)
	return testlocks.Must(admin.Get(t.Context(), etcdQueue(key), clientv3.WithPrefix(), byAge))(t).Kvs
}

// inQueue acquires in the background, and returns when n keys are in the queue.
func inQueue(
	t testing.TB, admin *clientv3.Client, lock lockstrategy.Strategy, n int, options ...lockstrategy.Option,
) <-chan *lockstrategy.Lease {
	t.Helper()
	granted := testlocks.InBackground(t, lock, t.Name(), options...)
	testenv.Eventually(t, "it waits in the queue", func() bool { return len(etcdKeys(t, admin, t.Name())) == n })
	return granted
}

func TestEtcdServesProcessesInTheOrderOfTheirArrival(t *testing.T) {
	t.Parallel()
	addrs := sharedEtcd.Of(t).Addrs()
	admin := etcdClient(t, addrs)
	first := testlocks.Must(etcdLock(t, admin, lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
	var waiters []<-chan *lockstrategy.Lease
	for i := range 4 {
		lock := etcdLock(t, etcdClient(t, addrs), lockstrategy.Timing{})
		waiters = append(waiters, inQueue(t, admin, lock, i+2))
	}
	time.Sleep(3 * time.Second) // time is the subject: each waiter looks every one or two seconds, and has no reason to go first
	testlocks.Released(t, first)
	last := first.FencingToken()
	for i, waiter := range waiters {
		lease := testlocks.Served(t, waiter)
		for _, behind := range waiters[i+1:] {
			if len(behind) > 0 {
				t.Fatalf("one that came later than the %d. was served as well", i+1)
			}
		}
		if lease.FencingToken() <= last {
			t.Errorf("token %d was followed by %d", last, lease.FencingToken())
		}
		last = lease.FencingToken()
		testlocks.Released(t, lease)
	}
}

// A waiter that was stopped for longer than its position is kept comes back to a queue without it.
func TestEtcdAWaiterWhosePositionIsLostTakesAnother(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, sharedEtcd.Of(t).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	first := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	waiter := inQueue(t, admin, lock, 2)
	position := etcdKeys(t, admin, t.Name())[1]
	testlocks.Must(admin.Revoke(t.Context(), clientv3.LeaseID(position.Lease)))(t)
	testenv.Eventually(t, "it has another position", func() bool { return len(etcdKeys(t, admin, t.Name())) == 2 })
	testlocks.Released(t, first)
	testlocks.Released(t, <-waiter)
}

func TestEtcdAnIdleLeaseThatWasRevokedIsReplaced(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, etcdServers(t, 1).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	for range 2 {
		testlocks.Released(t, testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t))
		for _, idle := range testlocks.Must(admin.Leases(t.Context()))(t).Leases {
			testlocks.Must(admin.Revoke(t.Context(), idle.ID))(t)
		}
	}
}

// A lock that asks for a lease each time needs twice the requests. A caller that is refused leaves its lease for the next one, too.
func TestEtcdALeaseIsUsedAgain(t *testing.T) {
	t.Parallel()
	addrs := sharedEtcd.Of(t).Addrs()
	sent := new(atomic.Int64)
	lock := etcdLock(t, etcdClient(t, addrs, grpc.WithChainUnaryInterceptor(counted(sent))), lockstrategy.Timing{})
	testlocks.Released(t, testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t))
	before := sent.Load()
	for range 10 {
		testlocks.Released(t, testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t))
	}
	if requests := sent.Load() - before; requests != 20 {
		t.Errorf("10 locks took %d requests, want one to acquire and one to release each", requests)
	}
	held := testlocks.Must(etcdLock(t, etcdClient(t, addrs), lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
	before = sent.Load()
	for range 10 {
		if _, err := lock.Acquire(t.Context(), t.Name(), lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
			t.Error(err)
		}
	}
	if requests := sent.Load() - before; requests != 10 {
		t.Errorf("10 refusals took %d requests, want one each", requests)
	}
	testlocks.Released(t, held)
}

// etcd's leases have whole seconds. The holder's own clock does not.
func TestEtcdALeaseShorterThanASecondEndsInTime(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, etcdServers(t, 1).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	const short = 800 * time.Millisecond
	asked := time.Now()
	lease := testlocks.Must(lock.Acquire(t.Context(), t.Name(), lockstrategy.LeaseFor(short)))(t)
	if end := lease.Until(); end.After(time.Now().Add(short)) {
		t.Errorf("it is relied on until %s after it was asked for", end.Sub(asked))
	}
	<-lease.Context().Done()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrExpired) {
		t.Errorf("it ended with %v", cause)
	}
	testenv.Eventually(t, "the key is free", func() bool { return len(etcdKeys(t, admin, t.Name())) == 0 })
	first := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	long := inQueue(t, admin, lock, 2, lockstrategy.LeaseFor(time.Hour)) // at each try it asks for a lease, which must not stay
	testlocks.Released(t, first)
	testlocks.Released(t, <-long)
	testenv.Eventually(t, "no lease of an hour stays", func() bool {
		return !slices.ContainsFunc(testlocks.Must(admin.Leases(t.Context()))(t).Leases, func(l clientv3.LeaseStatus) bool {
			left, err := admin.TimeToLive(t.Context(), l.ID)
			return err == nil && left.TTL > 60
		})
	})
}

// The key of a lease that ends between two seconds stays until the later one: the holder relies on it so long.
func TestEtcdAKeyOutlivesItsLease(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, sharedEtcd.Of(t).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	lease := testlocks.Must(lock.Acquire(t.Context(), t.Name(), lockstrategy.LeaseFor(9500*time.Millisecond)))(t)
	key := etcdKeys(t, admin, t.Name())[0]
	if kept := testlocks.Must(admin.TimeToLive(t.Context(), clientv3.LeaseID(key.Lease)))(t).GrantedTTL; kept != 10 {
		t.Errorf("a lease of 9.5 s, and a key of %d s, want 10", kept)
	}
	testlocks.Released(t, lease)
}

// A release deletes the key that was granted, and none that somebody has put in its place.
func TestEtcdAReleaseDeletesItsOwnKey(t *testing.T) {
	t.Parallel()
	servers := sharedEtcd.Of(t)
	admin := etcdClient(t, servers.Addrs())
	lease := testlocks.Must(etcdLock(t, etcdClient(t, servers.Addrs()), lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
	name := string(etcdKeys(t, admin, t.Name())[0].Key)
	testlocks.Must(admin.Delete(t.Context(), name))(t)
	testlocks.Must(admin.Put(t.Context(), name, ""))(t)
	if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
		t.Errorf("its key was deleted, and the release says %v", err)
	}
	if left := etcdKeys(t, admin, t.Name()); len(left) != 1 {
		t.Errorf("there is %v: it has deleted another's key", left)
	}
}

// A leader that was paused answers from before its successor's time. Its successor does not know the extension.
func TestEtcdALeaderOfAnotherTermExtendsNothing(t *testing.T) {
	t.Parallel()
	addrs := sharedEtcd.Of(t).Addrs()
	stale := streams(func(s grpc.ClientStream) grpc.ClientStream { return termBefore{s} })
	lock := etcdLock(t, etcdClient(t, addrs, stale), lockstrategy.Timing{Expiry: 9 * time.Second}) // a machine that stalls asks in time
	lease := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	select {
	case <-lease.Context().Done():
	case <-time.After(time.Minute):
		t.Fatal("the lease was renewed")
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrUnreachable) {
		t.Errorf("the lease ended with %v", cause)
	}
}

// streams puts something around each stream of a client.
func streams(around func(grpc.ClientStream) grpc.ClientStream) grpc.DialOption {
	return grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		stream, err := open(ctx, desc, conn, method, options...)
		return around(stream), err
	})
}

// termBefore is a stream of replies from a leader of the term before.
type termBefore struct{ grpc.ClientStream }

func (s termBefore) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if reply, ok := m.(*pb.LeaseKeepAliveResponse); ok && err == nil {
		reply.Header.RaftTerm--
	}
	return err
}

// again asks again when a majority has not answered. A request to etcd times out after seven seconds, and on a busy machine an election
// may take longer.
type again struct{ lockstrategy.Strategy }

func (a again) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	for {
		lease, err := a.Strategy.Acquire(ctx, key, options...)
		if !errors.Is(err, lockstrategy.ErrUnavailable) || ctx.Err() != nil {
			return lease, err
		}
	}
}

func TestEtcdALockOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	servers := etcdServers(t, 3)
	admin := etcdClient(t, servers.Addrs())
	timing := lockstrategy.Timing{Request: testlocks.Patient(0)} // an election is a part of it
	holder := etcdLock(t, etcdClient(t, servers.Addrs()), timing)
	lease := testlocks.Must(holder.Acquire(t.Context(), t.Name()))(t)
	waiter := inQueue(t, admin, again{etcdLock(t, etcdClient(t, servers.Addrs()), timing)}, 2)
	leader := testlocks.Must(servers.Leader(t.Context()))(t)
	leader.Kill()
	next := testlocks.Must(servers.Leader(testenv.Context(t)))(t)
	if next == leader {
		t.Fatal("the leader that was killed leads")
	}
	if lease.Context().Err() != nil || len(waiter) > 0 {
		t.Fatalf("the lease ended with %v; the waiter has the lock: %t", context.Cause(lease.Context()), len(waiter) > 0)
	}
	_ = lease.Release(t.Context()) // without a reply it is repeated
	after := testlocks.Served(t, waiter)
	if after.FencingToken() <= lease.FencingToken() {
		t.Errorf("token %d was followed by %d", lease.FencingToken(), after.FencingToken())
	}
	if err := after.Release(t.Context()); err != nil && !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := leader.Restart(testenv.Context(t)); err != nil {
		t.Fatal(err)
	}
}

// A server that is full grants nothing, says so, and lets go what is held.
func TestEtcdAFullServer(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.Etcd)
	servers := testlocks.Must(testenv.Stack(t).Etcd(testenv.Context(t), 1, "--quota-backend-bytes", "4194304"))(t)
	admin := etcdClient(t, servers.Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{Expiry: 15 * time.Second}) // the server may be full slowly
	lease := testlocks.Must(lock.Acquire(t.Context(), "held"))(t)
	for i := 0; ; i++ {
		_, err := admin.Put(t.Context(), fmt.Sprint("filler", i), strings.Repeat("x", 1<<20))
		if errors.Is(err, rpctypes.ErrNoSpace) {
			break
		}
		if err != nil || i > 100 {
			t.Fatalf("it is not full: %v", err)
		}
	}
	_, err := lock.Acquire(t.Context(), t.Name())
	if !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), "etcdctl alarm disarm") ||
		!strings.Contains(err.Error(), servers.Addrs()[0]) {
		t.Errorf("a full server: %v", err)
	}
	before := lease.Until()
	testenv.Eventually(t, "what is held is renewed", func() bool { return lease.Until().After(before) })
	testlocks.Released(t, lease)
	if left := etcdKeys(t, admin, "held"); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}
