package zklock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// position is one caller's position in the queue of a key: a node, and later its grant.
type position struct {
	lock        *Lock
	key, parent string
	guid        string          // begins the node's name: so the node is found when the answer to its creation is lost
	created     chan struct{}   // closed when it is known whether there is a node
	path        string          // of the node; empty if there is none
	failed      error           // why there is none
	asked       time.Time       // when the node's creation was sent
	number      uint64          // of its grant
	deleted     <-chan zk.Event // closed when the node is gone, or its session
	once        sync.Once       // for the end of its lease
}

// enter creates a node at the end of the key's queue.
func (z *Lock) enter(ctx context.Context, key string) (*position, error) {
	until := time.After(z.client.cfg.Request)
	switch {
	case ctx.Err() != nil:
		return nil, lockstrategy.EndOf(ctx)
	case z.keeper.Life.Err() != nil:
		return nil, lockstrategy.ErrClosed
	}
	if err := z.client.ready(ctx, until); err != nil {
		return nil, err
	}
	p := &position{lock: z, key: key, guid: "_c_" + uuid.NewString() + "-lock-", created: make(chan struct{})}
	p.parent = root + "/" + strings.ReplaceAll(url.PathEscape(key), ".", "%2E") // no node may be called "."
	wire := z.client.current()
	wanted, forget := context.WithCancel(z.client.life)
	defer forget()
	go p.create(wanted)
	select {
	case <-p.created:
		if p.path != "" {
			return p, nil
		}
		return nil, z.client.unavailable(p.failed)
	case <-until:
	}
	wire.hangUp()
	z.keeper.GiveBack(session.Grant{Owner: p})
	return nil, z.client.unavailable(errNoAnswer)
}

// create creates the node. When the answer is lost it looks for the node over the next connection. It also does so for a caller that has
// left: then the node is deleted.
func (p *position) create(wanted context.Context) {
	defer close(p.created)
	conn := p.lock.client.conn
	for again := true; again; {
		p.asked = time.Now()
		p.path, p.failed = conn.Create(p.parent+"/"+p.guid, nil, zk.FlagEphemeral|zk.FlagSequence, everybody)
		if p.failed != nil {
			p.path = ""
		}
		if errors.Is(p.failed, zk.ErrNoNode) {
			p.failed = createParent(conn, p.parent)
			again = p.failed == nil
			continue
		}
		for connectionLost(p.failed) && p.lock.client.ready(p.lock.client.life, nil) == nil {
			p.failed = p.find(conn)
		}
		again = p.failed == nil && p.path == "" && wanted.Err() == nil
	}
}

// find looks for the node by its GUID. This server may be behind the one that has created it, so it catches up first.
func (p *position) find(conn *zk.Conn) error {
	if _, err := conn.Sync(p.parent); err != nil {
		return err
	}
	names, _, err := conn.Children(p.parent)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	for _, name := range names {
		if strings.HasPrefix(name, p.guid) {
			p.path = p.parent + "/" + name
		}
	}
	return err
}

// wait waits until the node is the first in the queue. [lockstrategy.ErrGone]: it is in the queue no more.
func (p *position) wait(ctx context.Context, request lockstrategy.Request) (*lockstrategy.Lease, error) {
	for {
		before, err := ask(ctx, p.lock.client, p.look)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil, fmt.Errorf("%w: %s", lockstrategy.ErrGone, p.key)
		case err != nil:
			return nil, err
		case before == "":
			return p.lease(ctx, request)
		case request.Once:
			return nil, fmt.Errorf("%w: %w", lockstrategy.ErrTaken, lockstrategy.OtherHolder{})
		}
		deleted, err := ask(ctx, p.lock.client, func(c *zk.Conn) (<-chan zk.Event, error) {
			_, _, deleted, err := c.ChildrenW(before)
			return deleted, err
		})
		switch {
		case errors.Is(err, zk.ErrNoNode):
			continue
		case err != nil:
			return nil, err
		}
		select {
		case <-deleted:
		case <-p.deleted:
		case <-p.lock.client.disconnected():
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", lockstrategy.EndOf(ctx), lockstrategy.OtherHolder{})
		case <-p.lock.keeper.Life.Done():
			return nil, lockstrategy.ErrClosed
		}
	}
}

// look returns the node before this one in the queue, or "" if this is the first. A watch on a node's children tells when the node is
// deleted, because it never has any. One on its data would also tell of renewals.
func (p *position) look(c *zk.Conn) (before string, err error) {
	if p.deleted != nil && isClosed(p.deleted) { // the session may have ended, and its node still be there
		return "", zk.ErrNoNode
	}
	var names []string
	var all errgroup.Group
	all.Go(func() (err error) {
		names, _, err = c.Children(p.parent)
		return err
	})
	if p.deleted == nil {
		all.Go(func() error { return p.own(c) })
	}
	if err := all.Wait(); err != nil {
		return "", err
	}
	return p.before(names)
}

// own reads the position's node, and the root, which is as old as the servers' data.
func (p *position) own(c *zk.Conn) error {
	var data *zk.Stat
	var both errgroup.Group
	both.Go(func() (err error) {
		_, data, err = c.Exists(root)
		return err
	})
	_, node, deleted, err := c.ChildrenW(p.path)
	if err := errors.Join(both.Wait(), err); err != nil {
		return err
	}
	p.deleted, p.number = deleted, session.NumberAt(time.UnixMilli(data.Ctime))+uint64(node.Czxid)
	return keptBy(c, node)
}

// keptBy returns [zk.ErrNoNode] for a node of another session than the connection's: of an earlier one, which nobody keeps alive. Servers
// that lost data may still have it, and delete it later.
func keptBy(c *zk.Conn, node *zk.Stat) error {
	if node.EphemeralOwner != c.SessionID() {
		return zk.ErrNoNode
	}
	return nil
}

// before finds the node before this one among those of the queue.
func (p *position) before(names []string) (before string, err error) {
	own, err := sequence(p.path)
	present, latest := false, int64(-1)
	for _, name := range names {
		n, failed := sequence(name)
		err = errors.Join(err, failed)
		present = present || n == own
		if n < own && n > latest {
			before, latest = p.parent+"/"+name, n
		}
	}
	if err == nil && !present {
		err = zk.ErrNoNode
	}
	return before, err
}

// sequence is the number that ZooKeeper has put at the end of a node's name, after Curator's name for a lock. The one after 2^31-1 is
// negative: it would be the first in the queue.
func sequence(name string) (int64, error) {
	_, number, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], "lock-")
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s is no position of a lock, or the numbers are used up: delete the key's node when nobody uses it: %w", name, err)
	}
	return int64(n), nil
}

// lease is granted to the first in the queue. It is renewed although the request is for one that is not: the session that keeps the node
// would end first. The session of the lease ends it in time.
func (p *position) lease(ctx context.Context, request lockstrategy.Request) (*lockstrategy.Lease, error) {
	g := session.Grant{
		Key: p.key, Number: p.number, Asked: p.asked, Expiry: p.lock.client.sessionTimeout() / 2, Renewed: true, Owner: holding{p},
	}
	if time.Since(p.asked) > g.Expiry/3 {
		g.Asked = time.Now()
		if err := p.Renew(ctx); err != nil {
			return nil, err
		}
	}
	if d := request.Expiry; d != nil && (request.RenewAtMost == nil || *d < *request.RenewAtMost) {
		request.RenewAtMost = d
	}
	if err := p.lock.hold(); err != nil {
		return nil, err
	}
	lease, err := p.lock.keeper.Keep(ctx, request, g)
	if err != nil {
		p.endLease(lockstrategy.ErrUnavailable)
		return nil, err
	}
	context.AfterFunc(lease.Context(), func() {
		if lockstrategy.LossOf(lease.Context()) != nil {
			p.endLease(lockstrategy.ErrUnavailable)
		}
	})
	return lease, nil
}

// endLease ends the lease. A node whose deletion is not confirmed is deleted later, however late that is: the session may live on.
func (p *position) endLease(err error) {
	p.once.Do(func() {
		if errors.Is(err, lockstrategy.ErrUnavailable) {
			p.lock.keeper.GiveBack(session.Grant{Owner: p})
		}
		p.lock.drop(1, false)
	})
}

// holding is a position whose lease ends with its release.
type holding struct{ *position }

// Release implements [session.Owner].
func (h holding) Release(ctx context.Context) error {
	err := h.position.Release(ctx)
	h.endLease(err)
	return err
}

// Renew implements [session.Owner]. It writes to the node, which a majority confirms.
func (p *position) Renew(ctx context.Context) error {
	_, err := ask(ctx, p.lock.client, func(c *zk.Conn) (*zk.Stat, error) {
		node, err := c.Set(p.path, nil, -1)
		if err == nil {
			err = keptBy(c, node)
		}
		return node, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%w: %s: its node was deleted, or its session has ended", lockstrategy.ErrGone, p.key)
	}
	return err
}

// Watch implements [session.Watcher].
func (p *position) Watch(notify func(released bool)) (stop func()) {
	watching, stop := context.WithCancel(context.Background())
	go func() {
		select {
		case <-p.deleted:
			notify(false) // somebody has deleted it, or its session has ended
		case <-watching.Done():
		}
	}()
	return stop
}

// leave deletes the node of a caller that was not granted the key because of err. It does so in the background when the servers do not
// answer; a lock that is closed has none.
func (p *position) leave(ctx context.Context, err error) {
	if !errors.Is(err, lockstrategy.ErrUnavailable) || p.lock.keeper.Life.Err() != nil {
		err = p.Release(ctx)
	}
	if err != nil && !errors.Is(err, lockstrategy.ErrGone) {
		p.lock.keeper.GiveBack(session.Grant{Owner: p})
	}
}

// Release implements [session.Owner]. It deletes the node, if there is one. The servers notify the next in the queue.
func (p *position) Release(ctx context.Context) error {
	select {
	case <-p.created:
	case <-ctx.Done():
		return lockstrategy.EndOf(ctx)
	}
	if p.path == "" {
		return nil
	}
	again := false
	_, err := ask(ctx, p.lock.client, func(c *zk.Conn) (struct{}, error) {
		err := c.Delete(p.path, -1)
		if again && errors.Is(err, zk.ErrNoNode) { // the first answer was lost
			err = nil
		}
		again = true
		return struct{}{}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("%w: %s, when it was released", lockstrategy.ErrGone, p.key)
	}
	return err
}
