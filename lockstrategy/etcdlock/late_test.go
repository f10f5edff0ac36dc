package etcdlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
)

// advances calls around for the requests that give a waiter's key the lease of a holder.
func advances(around func(request *pb.TxnRequest, reply *pb.TxnResponse, send func() error) error) grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		send := func() error { return invoke(ctx, method, request, reply, conn, options...) }
		if txn, ok := request.(*pb.TxnRequest); ok && len(txn.Compare) == 2 {
			return around(txn, reply.(*pb.TxnResponse), send)
		}
		return send()
	})
}

func leaseOf(txn *pb.TxnRequest) int64 { return txn.Success[0].GetRequestPut().Lease }

var errUnanswered = status.Error(codes.Unavailable, "the reply was lost")

// A request may be executed although the servers say that it took too long. Its key is deleted, long before its lease would end.
func TestEtcdARequestThatTookTooLongLeavesNoKey(t *testing.T) {
	t.Parallel()
	addrs := sharedEtcd.Of(t).Addrs()
	admin, late := etcdClient(t, addrs), new(atomic.Bool)
	client := etcdClient(t, addrs, grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		err := invoke(ctx, method, request, reply, conn, options...)
		if _, txn := request.(*pb.TxnRequest); txn && err == nil && late.CompareAndSwap(false, true) {
			return rpctypes.ErrGRPCTimeout
		}
		return err
	}))
	_, err := etcdLock(t, client, lockstrategy.Timing{Expiry: time.Hour}).Acquire(t.Context(), t.Name())
	if !errors.Is(err, lockstrategy.ErrUnavailable) || !late.Load() {
		t.Errorf("got %v", err)
	}
	testenv.Eventually(t, "the key is gone", func() bool { return len(etcdKeys(t, admin, t.Name())) == 0 })
}

// A request that arrives after its waiter has become the holder must not give the key the older lease: nobody renews that one.
func TestEtcdALateAdvanceChangesNothing(t *testing.T) {
	t.Parallel()
	addrs := sharedEtcd.Of(t).Addrs()
	admin := etcdClient(t, addrs)
	var late *pb.TxnRequest
	client := etcdClient(t, addrs, advances(func(request *pb.TxnRequest, _ *pb.TxnResponse, send func() error) error {
		if late == nil {
			late = request
			if _, err := admin.KeepAlive(t.Context(), clientv3.LeaseID(leaseOf(late))); err != nil {
				t.Error(err)
			}
		}
		if leaseOf(request) == leaseOf(late) {
			return errUnanswered
		}
		return send()
	}))
	first := testlocks.Must(etcdLock(t, admin, lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
	waiter := inQueue(t, admin, etcdLock(t, client, lockstrategy.Timing{Expiry: 4 * time.Second}), 2)
	testlocks.Released(t, first)
	lease := testlocks.Served(t, waiter)
	granted := etcdKeys(t, admin, t.Name())[0].Lease
	testlocks.Must(pb.NewKVClient(admin.ActiveConnection()).Txn(t.Context(), late))(t)
	if keys := etcdKeys(t, admin, t.Name()); len(keys) != 1 || keys[0].Lease != granted {
		t.Errorf("it was granted with lease %x, and has %v", granted, keys)
	}
	testlocks.Released(t, lease)
}

// The next request of a waiter finds that the last one was executed, also with another lease.
func TestEtcdAnAdvanceWithoutAReplyIsFound(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]lockstrategy.Option{
		"the same lease": nil,
		"another lease":  {lockstrategy.LeaseFor(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs := sharedEtcd.Of(t).Addrs()
			admin := etcdClient(t, addrs)
			lost := int64(0) // the lease of the request whose reply is lost
			client := etcdClient(t, addrs, advances(func(request *pb.TxnRequest, reply *pb.TxnResponse, send func() error) error {
				err := send()
				if lost != 0 || !reply.Succeeded {
					return err
				}
				lost = leaseOf(request)
				return errUnanswered
			}))
			first := testlocks.Must(etcdLock(t, admin, lockstrategy.Timing{}).Acquire(t.Context(), t.Name()))(t)
			waiter := inQueue(t, admin, etcdLock(t, client, lockstrategy.Timing{}), 2, options...)
			position := etcdKeys(t, admin, t.Name())[1]
			testlocks.Released(t, first)
			lease := testlocks.Served(t, waiter)
			keys := etcdKeys(t, admin, t.Name())
			if lost == 0 {
				t.Fatal("no reply was lost: nothing is tested")
			}
			if len(keys) != 1 || keys[0].CreateRevision != position.CreateRevision {
				t.Fatalf("its position was %v, and the queue is %v", position, keys)
			}
			if same := keys[0].Lease == lost; same != (options == nil) {
				t.Errorf("its key has lease %x, and the lost request had %x", keys[0].Lease, lost)
			}
			testlocks.Released(t, lease)
		})
	}
}

// A waiter whose key was replaced by hand goes to the end of the queue, and leaves that key alone.
func TestEtcdAWaiterWhoseKeyWasReplacedTakesAnotherPosition(t *testing.T) {
	t.Parallel()
	admin := etcdClient(t, sharedEtcd.Of(t).Addrs())
	lock := etcdLock(t, admin, lockstrategy.Timing{})
	first := testlocks.Must(lock.Acquire(t.Context(), t.Name()))(t)
	waiter := inQueue(t, admin, lock, 2)
	name := string(etcdKeys(t, admin, t.Name())[1].Key)
	testlocks.Must(admin.Delete(t.Context(), name))(t)
	testlocks.Must(admin.Put(t.Context(), name, "by hand"))(t)
	testlocks.Released(t, first)
	testenv.Eventually(t, "it is in the queue", func() bool { return len(etcdKeys(t, admin, t.Name())) == 2 || len(waiter) > 0 })
	if kept := string(etcdKeys(t, admin, t.Name())[0].Value); kept != "by hand" || len(waiter) > 0 {
		t.Fatalf("the first in the queue is %q; the waiter was granted the key: %t", kept, len(waiter) > 0)
	}
	testlocks.Must(admin.Delete(t.Context(), name))(t)
	testlocks.Released(t, <-waiter)
}
