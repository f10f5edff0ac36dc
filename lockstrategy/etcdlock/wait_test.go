package etcdlock_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"locklab/internal/faultproxy"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
)

// Positions are kept for seconds, and waits last for minutes. A process that is stalled for so long loses its position, and tries again.
func TestEtcdAWaiterKeepsItsPosition(t *testing.T) {
	t.Parallel()
	admin, stalls := etcdClient(t, sharedEtcd.Of(t).Addrs()), testenv.WatchStalls(t)
	for range 3 {
		stalls.Longest()
		before, after := waitsBeyondItsPosition(t, admin)
		switch stalled := stalls.Longest(); {
		case after == before:
			return
		case stalled < time.Second:
			t.Fatalf("its position was %d and is %d (0: none)", before, after)
		default:
			t.Logf("its position was %d and is %d, after a stall of %s", before, after, stalled)
		}
	}
	t.Error("it has lost its position three times, each time after a stall")
}

// waitsBeyondItsPosition lets a caller wait for longer than its position is kept. It returns its position at first and at last.
func waitsBeyondItsPosition(t *testing.T, admin *clientv3.Client) (before, after int64) {
	t.Helper()
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	first := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	waiter := inQueue(t, admin, lock, 2)
	position := etcdKeys(t, admin, t.Name())[1]
	full := testlocks.Must(admin.TimeToLive(t.Context(), clientv3.LeaseID(position.Lease)))(t).GrantedTTL
	time.Sleep(time.Duration(full)*time.Second + 3*time.Second) // time is the subject: past it a position that is not renewed is gone
	if kept := etcdKeys(t, admin, t.Name()); len(kept) == 2 {
		after = kept[1].CreateRevision
	}
	testlocks.Released(t, first)
	testlocks.Released(t, <-waiter)
	return position.CreateRevision, after
}

// A waiter looks in any case, 0.8 s after it has come, or later. With notifications waiters need less; a busy machine may delay some.
func TestEtcdAReleaseWakesTheNextWaiter(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, sharedEtcd.Of(t).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	lease := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	var took []time.Duration
	for range 10 {
		waiter := inQueue(t, admin, lock, 2)
		began := time.Now()
		testlocks.Released(t, lease)
		lease = testlocks.Served(t, waiter)
		took = append(took, time.Since(began))
	}
	testlocks.Released(t, lease)
	if slices.Sort(took); took[2] > 500*time.Millisecond {
		t.Errorf("ten hand-overs took %s", took)
	}
}

// etcd tells watchers of the past up to 100 ms late. So a waiter watches from the revision of its position, not from before. When the
// position before its own is deleted, it watches the next one.
func TestEtcdAWaiterWatchesTheFuture(t *testing.T) {
	t.Parallel()
	addrs := sharedEtcd.Of(t).Addrs()
	admin, from := etcdClient(t, addrs), make(chan int64, 1)
	recorded := streams(func(s grpc.ClientStream) grpc.ClientStream { return watching{s, from} })
	lease := testlocks.Must(etcdLock(t, admin, lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
	between := testlocks.Must(admin.Put(t.Context(), etcdQueue(t.Name())+"another", ""))(t).Header.Revision
	waiter := inQueue(t, admin, etcdLock(t, etcdClient(t, addrs, recorded), lockstrategy.Timing{}), 3)
	position := etcdKeys(t, admin, t.Name())[2].CreateRevision
	if first := <-from; first <= position || position <= between {
		t.Errorf("it watches from revision %d, and has its position since %d", first, position)
	}
	testlocks.Must(admin.Delete(t.Context(), etcdQueue(t.Name())+"another"))(t)
	select {
	case <-from:
	case <-time.After(time.Minute):
		t.Fatal("it watches no other position")
	}
	testlocks.Released(t, lease)
	testlocks.Released(t, <-waiter)
}

// A watch from a revision that etcd has compacted says nothing of the key. So the holder looks, long before it would renew.
func TestEtcdAHolderLearnsOfADeletionThatWasCompacted(t *testing.T) {
	t.Parallel()
	addrs := etcdServers(t, 1).Addrs()
	admin, from := etcdClient(t, addrs), make(chan int64)
	held := streams(func(s grpc.ClientStream) grpc.ClientStream { return watching{s, from} })
	lease := testlocks.Must(etcdLock(t, etcdClient(t, addrs, held), lockstrategy.Timing{Expiry: time.Hour}).Acquire(t.Context(), t.Name()))(t)
	deleted := testlocks.Must(admin.Delete(t.Context(), etcdQueue(t.Name()), clientv3.WithPrefix()))(t).Header.Revision
	testlocks.Must(admin.Put(t.Context(), "another", ""))(t)
	testlocks.Must(admin.Compact(t.Context(), deleted+1))(t)
	if first := <-from; first > deleted {
		t.Fatalf("it watches from revision %d, after the deletion at %d: nothing is tested", first, deleted)
	}
	select {
	case <-lease.Context().Done():
	case <-from:
		t.Fatal("it asks for the same revision again")
	case <-time.After(time.Minute):
		t.Fatal("the holder was not told")
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrGone) {
		t.Errorf("the lease ended with %v", cause)
	}
}

// watching tells from which revision a watch begins.
type watching struct {
	grpc.ClientStream
	from chan<- int64
}

func (s watching) SendMsg(m any) error {
	if request, ok := m.(*pb.WatchRequest); ok && request.GetCreateRequest() != nil {
		s.from <- request.GetCreateRequest().StartRevision
	}
	return s.ClientStream.SendMsg(m)
}

// A lease that is used again must have time left for the new holder.
func TestEtcdAnOldLeaseIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, sharedEtcd.Of(t).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{Expiry: 9 * time.Second})
	testlocks.Released(t, testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t))
	time.Sleep(4 * time.Second) // time is the subject: 5 s are left
	asked := time.Now()
	lease := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	if had := lease.Until().Sub(asked); had < 6*time.Second {
		t.Errorf("when a new lease of 9 s was asked for it had %s left", had)
	}
	testlocks.Released(t, lease)
}

// The caller's key would stop later callers for as long as its position is kept.
func TestEtcdAWaiterThatLeavesTakesItsKeyAway(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, sharedEtcd.Of(t).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	first := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := lock.Acquire(ctx, t.Name())
		left <- err
	}()
	testenv.Eventually(t, "it waits", func() bool { return len(etcdKeys(t, admin, t.Name())) == 2 })
	position := etcdKeys(t, admin, t.Name())[1]
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("it left with %v", err)
	}
	testenv.Eventually(t, "its key is gone", func() bool { return len(etcdKeys(t, admin, t.Name())) == 1 })
	if lease := testlocks.Must(admin.TimeToLive(t.Context(), clientv3.LeaseID(position.Lease)))(t); lease.TTL < 0 {
		t.Error("its key was gone with its lease, and not before")
	}
	testlocks.Released(t, first)
}

// A lock that is closed has nothing in the background that could delete the key later.
func TestEtcdAWaiterOfAClosedLockTakesItsKeyAway(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, sharedEtcd.Of(t).Addrs())
	first := testlocks.Must(etcdLock(t, admin, lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
	lock, left := etcdLock(t, admin, lockstrategy.Timing{}), make(chan error, 1)
	go func() {
		_, err := lock.Acquire(testenv.Context(t), t.Name())
		left <- err
	}()
	testenv.Eventually(t, "it waits", func() bool { return len(etcdKeys(t, admin, t.Name())) == 2 })
	_ = lock.Close()
	if err := <-left; !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Errorf("it left with %v", err)
	}
	if keys := etcdKeys(t, admin, t.Name()); len(keys) != 1 {
		t.Errorf("the queue is %v", keys)
	}
	testlocks.Released(t, first)
}

// The server is out of reach of the waiter only, and not for as long as its position is kept.
func TestEtcdAWaiterOutlastsALostConnection(t *testing.T) {
	t.Parallel()
	addrs := sharedEtcd.Of(t).Addrs()
	proxy := faultproxy.New(faultproxy.TCP(addrs[0]))
	t.Cleanup(proxy.Close)
	admin := etcdClient(t, addrs)
	failed, away := make(chan error, 100), new(atomic.Bool)
	answered := new(atomic.Int64)
	addr := testlocks.Must(proxy.Listen())(t)
	watched := etcdClient(t, []string{addr}, grpc.WithChainUnaryInterceptor(failures(away, failed), counted(answered)))
	before := answered.Load()
	first := testlocks.Must(etcdLock(t, admin, lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
	// The waiter looks after 1.7 s, in vain. Its position is kept for 5 s, so another look has 3 s for its answer.
	waiter := inQueue(t, admin, etcdLock(t, watched, lockstrategy.Timing{Request: 3 * time.Second}), 2)
	testenv.Eventually(t, "it has two leases, a refusal, and a position", func() bool { return answered.Load() >= before+4 })
	away.Store(true)
	proxy.Cut()
	<-failed // it has looked in vain
	away.Store(false)
	proxy.Mend()
	testlocks.Released(t, first)
	testlocks.Released(t, <-waiter)
}

// failures tells of requests that failed. While the server is away they fail immediately: gRPC would wait for another connection.
func failures(away *atomic.Bool, failed chan<- error) grpc.UnaryClientInterceptor {
	return func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		err := status.Error(codes.Unavailable, "it is away")
		if !away.Load() {
			err = invoke(ctx, method, request, reply, conn, options...)
		}
		if err != nil {
			failed <- err
		}
		return err
	}
}
