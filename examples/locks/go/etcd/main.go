// Command etcd is go.etcd.io/etcd/client/v3/concurrency as a program for app lab try. Each acquire has a session of its own, as in the
// package's examples: a session that locks twice is granted twice. The TTL of a session is 3 s, and not 60 s: a client that has lost its
// connection waits for a second or more before it connects again, so one second cannot be renewed in time. The fencing token is the revision
// of etcd at the grant. With the argument done the holder is told when the session is done.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"locklab/lab/clients/protocol"
)

const ttl = 3 // seconds

func main() {
	claims := protocol.Claims{
		Name: "etcd concurrency", Store: protocol.Etcd, LeaseMS: ttl * 1000, Renews: true, Tokens: true, Messages: true, Silent: true,
	}
	dialTimeout := 5 * time.Second
	if len(os.Args) > 1 && os.Args[1] == "done" {
		// A session without any answer is done a second after this timeout, whatever its TTL.
		claims.Tells, dialTimeout = true, time.Second
	}
	err := protocol.Serve(os.Stdin, os.Stdout, claims, func(start protocol.Request) (protocol.Lock, error) {
		client, err := etcd.New(etcd.Config{Endpoints: start.Servers, DialTimeout: dialTimeout})
		return func(ctx context.Context, r protocol.Request) (protocol.Held, error) {
			return acquire(ctx, client, r, claims.Tells)
		}, err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func acquire(ctx context.Context, client *etcd.Client, r protocol.Request, tells bool) (protocol.Held, error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		return protocol.Held{}, err
	}
	mutex := concurrency.NewMutex(session, r.Key)
	lock := mutex.Lock
	if r.WaitMS == 0 {
		lock = mutex.TryLock
	}
	if err := lock(ctx); err != nil {
		_ = session.Close()
		if errors.Is(err, concurrency.ErrLocked) || ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", protocol.ErrRefused, err)
		}
		return protocol.Held{}, err
	}
	lost, released := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(lost)
		select {
		case <-session.Done():
			if tells {
				lost <- "the session is done"
			}
		case <-released:
		}
	}()
	return protocol.Held{Token: uint64(mutex.Header().Revision), Lost: lost, Release: func(ctx context.Context) error {
		if err := mutex.Unlock(ctx); err != nil {
			return err
		}
		close(released)
		_ = session.Close() // without it the session ends with its TTL
		return nil
	}}, nil
}
