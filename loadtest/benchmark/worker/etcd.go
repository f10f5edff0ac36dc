package worker

import (
	"context"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sync/errgroup"
)

// openEtcd opens etcd's concurrency.Mutex. A session that asks twice is granted twice, so each waiter needs a session of its own. They are
// made before the clock starts.
func openEtcd(addr string, waiters int) (Lock, func() error, error) {
	client, err := etcd.New(etcd.Config{Endpoints: []string{addr}, DialTimeout: 5 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	sessions := make(chan *concurrency.Session, waiters)
	var group errgroup.Group
	group.SetLimit(64)
	for range waiters {
		group.Go(func() error {
			session, err := concurrency.NewSession(client, concurrency.WithTTL(int(lifetime.Seconds())))
			if err == nil {
				sessions <- session
			}
			return err
		})
	}
	lock := func(ctx context.Context, key string) (func() error, error) {
		session := <-sessions
		mutex := concurrency.NewMutex(session, key)
		if err := mutex.Lock(ctx); err != nil {
			sessions <- session
			return nil, err
		}
		return func() error {
			defer func() { sessions <- session }()
			return mutex.Unlock(ctx)
		}, nil
	}
	return lock, func() error { return closeEtcd(client, sessions) }, group.Wait()
}

// closeEtcd revokes the sessions, so that the next run does not pay for their expiry.
func closeEtcd(client *etcd.Client, sessions chan *concurrency.Session) error {
	var group errgroup.Group
	group.SetLimit(64)
	for range len(sessions) {
		session := <-sessions
		group.Go(session.Close)
	}
	_ = group.Wait()
	return client.Close()
}
