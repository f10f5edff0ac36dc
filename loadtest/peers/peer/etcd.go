package peer

import (
	"context"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sync/errgroup"
)

// peerEtcd is etcd's concurrency.Mutex. A session that asks twice is granted twice, so each waiter needs one of
// its own; they are made before the clock starts.
type peerEtcd struct {
	client   *etcd.Client
	sessions chan *concurrency.Session
}

func openEtcd(ctx context.Context, addr string, waiters int) (Lock, error) {
	client, err := etcd.New(etcd.Config{Endpoints: []string{addr}, DialTimeout: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	e := peerEtcd{client, make(chan *concurrency.Session, waiters)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	for range waiters {
		group.Go(func() error {
			lease, err := client.Grant(ctx, int64(lifetime.Seconds()))
			if err != nil {
				return err
			}
			session, err := concurrency.NewSession(client, concurrency.WithLease(lease.ID))
			if err == nil {
				e.sessions <- session
			}
			return err
		})
	}
	return e, group.Wait()
}

func (e peerEtcd) Lock(ctx context.Context, key string) (func() error, error) {
	session := <-e.sessions
	mutex := concurrency.NewMutex(session, key)
	if err := mutex.Lock(ctx); err != nil {
		e.sessions <- session
		return nil, err
	}
	return func() error {
		defer func() { e.sessions <- session }()
		return mutex.Unlock(ctx)
	}, nil
}

// Close gives the sessions back, so that the next run does not pay for their expiry.
func (e peerEtcd) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(64)
	for range len(e.sessions) {
		session := <-e.sessions
		group.Go(func() error {
			session.Orphan()
			_, err := e.client.Revoke(ctx, session.Lease())
			return err
		})
	}
	_ = group.Wait()
	return e.client.Close()
}
