// Package etcdlock is a lock on etcd: a queue of keys, ordered by create revision. lease.go has the leases of etcd below it.
package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// Lock is a lock on a cluster of etcd. A call of Acquire is a key of its own below the lock's prefix. The oldest of these keys, by create
// revision, has the lock; every other one waits for the deletion of the key before it. So etcd keeps the queue, and a release
// wakes one process.
//
// There is one holder while a majority of the servers keeps what it has confirmed, and clocks run alike to one per cent. The holder must
// stop when its lease's context ends. There may be two when the cluster is restored from a backup, or when the key is deleted by hand.
// A leader that was paused may revoke leases that its successor has renewed (etcd-io/etcd#15247). A holder may ignore its context. The
// number of a grant is the create revision, which a majority has agreed on, added to the time when the data began ([session.NumberAt], by
// the clock of the first holder). So tokens grow over every failover, and over a loss of all data, but not over the return of an older
// copy.
//
// etcd's leases have whole seconds, and at least one and a half election timeouts. It looks for expired ones twice a second. So the key
// of a dead holder stays for its lease, rounded up to such a second, and about a second more. A new leader gives every lease its whole
// time again. The context of a holder that lives ends by its own clock. A process that dies while it waits stops those behind it for
// positionLease and about a second.
type Lock struct {
	keeper *session.Keeper
	client *clientv3.Client
	timing lockstrategy.Timing

	mu    sync.Mutex
	spare []*serverLease // without a key, and fresh enough for the next contender
}

// New returns a lock on client. Close it before client. The client's connection must notice a server that hangs, and must try again
// soon (package topology opens such a client).
func New(client *clientv3.Client, timing lockstrategy.Timing) (*Lock, error) {
	timing, err := timing.WithDefaults()
	if err != nil {
		return nil, err
	}
	if client == nil {
		return nil, errors.New("lock: etcd needs a client")
	}
	return &Lock{keeper: session.NewKeeper(), client: client, timing: timing}, nil
}

// positionLease is for how long the position of a process that waits is kept without a sign of it. It is longer than an election.
const positionLease = 5 * time.Second

// retryPause is the pause after a request that no server could answer.
const retryPause = 50 * time.Millisecond

// Acquire takes the key, or the last position in its queue. Then it waits for the deletion of the key before its own, and looks whether its
// own is the oldest now. It looks at least every 1.7 s, because a notification may get lost.
func (e *Lock) Acquire(ctx context.Context, key string, options ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	if key == "" {
		return nil, lockstrategy.NotAcquired(key, errors.New("a lock needs a name"))
	}
	request, err := lockstrategy.NewRequest(options...)
	if err != nil {
		return nil, lockstrategy.NotAcquired(key, err)
	}
	prefix := "locklab/" + url.PathEscape(key) + "/" // no slash of a key ends it
	c := &contender{lock: e, key: key, prefix: prefix, request: request, wake: make(chan struct{}, 1), unfollow: func() {}}
	lease, err := e.keeper.Acquire(ctx, key, request, c.wake, c.ask)
	c.unfollow()
	if err != nil {
		c.leave()
	}
	return lease, err
}

// Close ends the repeated releases. Callers that wait, or ask from now on, get [lockstrategy.ErrUnavailable]. Leases that are held stay
// held, and can be released.
func (e *Lock) Close() error {
	e.keeper.Close()
	return nil
}

// Process returns the first part of the names of this lock's owners.
func (e *Lock) Process() string { return e.keeper.Process }

// contender is one call of Acquire, and the owner of its grant. A request without a reply may arrive late, and
// changes nothing then. The leases with which it would create the key are revoked. An advance replaces only the version that it names.
type contender struct {
	lock              *Lock
	key, prefix, name string
	request           lockstrategy.Request
	held              *serverLease // of the key when it has the lock
	position          *serverLease // of the key while it waits, and nil otherwise
	private           bool         // the lease is not renewed, and of no use to others
	revision          int64        // create revision of the key; 0 if it was not created, or is not known
	birth             uint64       // of the servers' data
	modified          int64        // the revision of its latest version that is known
	unknown           bool         // the request that creates the key has no answer
	seen              time.Time    // when the position was last confirmed
	wake              chan struct{}
	unfollow          func()
}

// requestContext bounds one request, whatever becomes of ctx: an answer must not get lost.
func (e *Lock) requestContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), e.timing.Request)
}

// ask asks once whether the key is granted.
func (c *contender) ask(ctx context.Context) (*session.Grant, time.Duration, error) {
	granted, err := c.try(ctx)
	switch {
	case granted:
		return &session.Grant{
			Key: c.key, Number: c.birth + uint64(c.revision), Asked: *c.held.confirmed.Load(), Expiry: c.held.span, Renewed: !c.private, Owner: c,
		}, 0, nil
	case err != nil && c.revision > 0 && time.Since(c.seen) < positionLease:
		return nil, retryPause, err // it has its position still, and soon there is a leader
	case err != nil:
		return nil, 0, err
	}
	return nil, session.Jitter(positionLease / 3), lockstrategy.OtherHolder{}
}

func (c *contender) try(ctx context.Context) (granted bool, err error) {
	ctx, cancel := c.lock.requestContext(ctx)
	defer cancel()
	span, renewed := c.request.Lease(c.lock.timing.Expiry)
	c.private = !renewed
	for range 3 { // an idle lease may have been revoked, or the servers have lost their data
		if c.private || !c.held.fresh() {
			defer c.giveUp(c.held) // not before the key has another one: an earlier request may have given it this one
			c.held, err = c.lock.newLease(ctx, span, c.private)
			if err != nil {
				break
			}
		}
		if c.revision == 0 {
			granted, err = c.enter(ctx)
		} else {
			granted, err = c.advance(ctx)
		}
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			break
		}
		c.held = nil
		c.lock.forget()
	}
	if err != nil {
		return false, c.lock.unavailable("acquire", c.key, err)
	}
	return granted, nil
}

// enter takes the key if it has no queue, or else the last position in it. The name is new: whatever has the last one stays as it is.
func (c *contender) enter(ctx context.Context) (granted bool, err error) {
	c.name = c.prefix + c.lock.keeper.NewName()
	granted, _, err = c.create(ctx)
	if granted || err != nil || c.request.Once {
		return granted, err
	}
	c.position, err = c.lock.newLease(ctx, positionLease, false)
	if err != nil {
		return false, err
	}
	granted, before, err := c.create(ctx, clientv3.OpGet(c.prefix, clientv3.WithLastCreate()...),
		clientv3.OpPut(c.name, "", clientv3.WithLease(c.position.id)))
	if err == nil && !granted {
		c.follow(before.Responses[0].GetResponseRange(), before.Header.Revision)
	}
	return granted, err
}

// create creates the key if it has no queue; otherwise it executes the given operation.
func (c *contender) create(ctx context.Context, otherwise ...clientv3.Op) (granted bool, reply *clientv3.TxnResponse, err error) {
	c.unknown = true
	reply, err = c.lock.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(c.prefix).WithPrefix(), "=", 0)).
		Then(clientv3.OpPut(c.name, "", clientv3.WithLease(c.held.id)), clientv3.OpGet(birthKey)).Else(otherwise...).Commit()
	refused := rpctypes.EtcdError{}
	c.unknown = err != nil && (!errors.As(err, &refused) || refused.Code() == codes.Unavailable)
	if err == nil && (reply.Succeeded || len(otherwise) > 0) {
		c.revision, c.modified, c.seen = reply.Header.Revision, reply.Header.Revision, time.Now()
	}
	if err != nil || !reply.Succeeded {
		return false, reply, err
	}
	err = c.born(ctx, reply)
	return err == nil, reply, err
}

// birthKey has the number of the time when the servers' data began. No key of a lock's queue has its name.
const birthKey = "locklab/birth"

// born keeps what birthKey has, by the last response of a transaction. The first holder creates it. After an error the key has its lease
// all the same, and the next request finds that it is the oldest.
func (c *contender) born(ctx context.Context, granted *clientv3.TxnResponse) (err error) {
	found := granted.Responses[len(granted.Responses)-1].GetResponseRange().Kvs
	if len(found) == 0 {
		get := clientv3.OpGet(birthKey)
		granted, err = c.lock.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(birthKey), "=", 0)).
			Then(clientv3.OpPut(birthKey, fmt.Sprint(session.NumberAt(time.Now()))), get).Else(get).Commit()
		if err != nil {
			return err
		}
		found = granted.Responses[len(granted.Responses)-1].GetResponseRange().Kvs
	}
	c.birth, err = strconv.ParseUint(string(found[0].Value), 10, 56)
	return err
}

// advance gives the key the holder's lease if it is the oldest now.
func (c *contender) advance(ctx context.Context) (granted bool, err error) {
	if asked := time.Now(); c.position != nil && !c.position.fresh() {
		if term, err := c.lock.extend(ctx, c.position); err == nil && term > 0 { // the transaction says why it failed
			c.position.confirmed.Store(&asked)
		}
	}
	reply, err := c.lock.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(c.name), "=", c.modified),
		clientv3.Compare(clientv3.CreateRevision(c.prefix).WithPrefix(), ">", c.revision-1)).
		Then(clientv3.OpPut(c.name, "", clientv3.WithLease(c.held.id)), clientv3.OpGet(birthKey)).
		Else(clientv3.OpGet(c.name), clientv3.OpGet(c.prefix, append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(c.revision-1))...)).
		Commit()
	if err != nil {
		return false, err
	}
	c.seen = time.Now()
	if reply.Succeeded {
		c.lock.keep(c.position)
		c.position = nil
		err = c.born(ctx, reply)
		return err == nil, err
	}
	own, before := reply.Responses[0].GetResponseRange().Kvs, reply.Responses[1].GetResponseRange()
	switch {
	case len(own) == 0 || own[0].CreateRevision != c.revision: // the position is lost
		c.revision, c.position = 0, nil
		return c.enter(ctx)
	case len(before.Kvs) == 0: // a request without a reply has given it a lease, and nobody knows which
		c.modified = own[0].ModRevision
		return c.advance(ctx)
	}
	c.follow(before, reply.Header.Revision)
	return false, nil
}

// follow watches the preceding key from revision, at which that key was there. etcd notifies a watch from an older revision up to 100 ms
// late.
func (c *contender) follow(before *pb.RangeResponse, revision int64) {
	c.unfollow()
	c.unfollow = c.lock.onDelete(string(before.Kvs[0].Key), revision, func() { session.Wake(c.wake) })
}

// onDelete calls f once when a key is deleted after a revision, or may have been. A server without a leader ends the watch, and another
// one is asked.
func (e *Lock) onDelete(key string, revision int64, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(context.Background()))
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			for r := range e.client.Watch(ctx, key, clientv3.WithRev(revision+1), clientv3.WithFilterPut()) {
				if len(r.Events) > 0 || r.CompactRevision > 0 {
					f()
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(retryPause): // a server without a leader ends each watch immediately
			}
		}
	}()
	return cancel
}

// Watch implements [session.Watcher].
func (c *contender) Watch(notify func(released bool)) (stop func()) {
	return c.lock.onDelete(c.name, c.revision, func() { notify(false) })
}

// Renew implements [session.Owner]. It extends the lease, and reads the key: it may have been deleted by hand. A leader that was paused
// may extend leases after others have elected the next one. Such an extension does not count: the read, which a majority confirms, has
// another term.
func (c *contender) Renew(ctx context.Context) error {
	ctx, cancel := c.lock.requestContext(ctx)
	defer cancel()
	var term uint64
	asked := time.Now()
	if !c.private {
		var err error
		term, err = c.lock.extend(ctx, c.held)
		if err != nil {
			return c.lock.unavailable("renew", c.key, err)
		}
	}
	reply, err := c.lock.client.Get(ctx, c.name)
	switch {
	case err != nil:
		return c.lock.unavailable("renew", c.key, err)
	case len(reply.Kvs) == 0 || reply.Kvs[0].CreateRevision != c.revision:
		return fmt.Errorf("%w: %s", lockstrategy.ErrGone, c.key)
	case !c.private && term != reply.Header.RaftTerm:
		return c.lock.unavailable("renew", c.key, errors.New("another leader was elected meanwhile"))
	}
	if !c.private {
		c.held.confirmed.Store(&asked)
	}
	return nil
}

// Release implements [session.Owner]. It deletes the key that was created at the contender's revision, and no other. Without a revision it
// ends the leases with which the key may have been created, or may be created yet.
func (c *contender) Release(ctx context.Context) error {
	ctx, cancel := c.lock.requestContext(ctx)
	defer cancel()
	if c.revision == 0 {
		return errors.Join(c.lock.revoke(ctx, c.held), c.lock.revoke(ctx, c.position))
	}
	reply, err := c.lock.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(c.name), "=", c.revision)).
		Then(clientv3.OpDelete(c.name)).Commit()
	switch {
	case err != nil:
		return c.lock.unavailable("release", c.key, err)
	case !reply.Succeeded:
		return fmt.Errorf("%w: %s, when it was released", lockstrategy.ErrGone, c.key)
	}
	c.lock.keep(c.position)
	c.giveUp(c.held)
	return nil
}

// leave deletes the key in the queue, and releases a grant that may exist.
func (c *contender) leave() {
	if c.revision > 0 || c.unknown {
		c.lock.keeper.GiveBack(session.Grant{Key: c.key, Expiry: c.lock.timing.Expiry, Owner: c})
		if c.lock.keeper.Life.Err() != nil { // a lock that is closed has begun nothing
			_ = c.Release(context.Background())
		}
		return
	}
	c.giveUp(c.held)
}

// giveUp keeps a lease for the next contender. A private one is revoked in the background: it may be long.
func (c *contender) giveUp(l *serverLease) {
	if c.private && l != nil {
		c.lock.keeper.InBackground(func() { _ = c.lock.revoke(c.lock.keeper.Life, l) })
		return
	}
	c.lock.keep(l)
}

// unavailable wraps the error of a request. It adds advice for known causes.
func (e *Lock) unavailable(what, key string, err error) error {
	advice := ""
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		advice = fmt.Sprintf(" (no answer in %s)", e.timing.Request)
	case errors.Is(err, rpctypes.ErrNoSpace):
		advice = " (its quota is used up: compact and defragment it, then `etcdctl alarm disarm`)"
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrInvalidAuthToken):
		advice = " (the user needs to read and write below locklab/)"
	}
	servers := strings.Join(e.client.Endpoints(), ",")
	return fmt.Errorf("%w: %s %s: etcd at %s: %w%s", lockstrategy.ErrUnavailable, what, key, servers, err, advice)
}
