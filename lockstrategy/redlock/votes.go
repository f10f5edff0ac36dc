package redlock

import (
	"context"
	"fmt"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"

	"locklab/internal/replies"
	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// takeBack releases a try that failed on each node that may have granted it without an answer. redsync releases it, too, but once. Two
// tries that leave the key on two nodes each would keep all others from a majority.
func (q *quorum) takeBack(g session.Grant) {
	for _, v := range q.votes {
		if <-v.asked; replies.MayHaveRun(v.err) {
			g.Owner, g.Unanswered = stray{q, v}, true
			q.lock.keeper.GiveBack(g)
		}
	}
}

// stray is the key of a try that failed, on one node.
type stray struct {
	*quorum
	vote *vote
}

// Release implements [session.Owner].
func (s stray) Release(ctx context.Context) error {
	released, err := s.over(s.vote).UnlockContext(ctx)
	switch {
	case released:
		return nil
	case len(unanswered(err)) > 0:
		return fmt.Errorf("%w: %w", lockstrategy.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %s on one node", lockstrategy.ErrGone, s.key)
}

// vote is one node's part in one try. redsync goes on when a majority has answered, and ends the context of the other requests. They are
// sent all the same, and the release waits until the request for the key has been answered: it must not overtake that.
type vote struct {
	redsyncredis.Pool
	timeout time.Duration
	asked   chan struct{} // closed when the request for the key has ended
	err     error         // then: of that request
}

// Get implements redsync's Pool.
func (v *vote) Get(ctx context.Context) (redsyncredis.Conn, error) { return v.open(ctx) }

// open returns a connection for one request, whose timeout begins now.
func (v *vote) open(ctx context.Context) (ballot, error) {
	request, cancel := context.WithTimeout(replies.SendOnce(context.WithoutCancel(ctx)), v.timeout)
	conn, err := v.Pool.Get(request)
	return ballot{conn, v, ctx, cancel}, err
}

// ballot is redsync's connection to a vote.
type ballot struct {
	redsyncredis.Conn
	vote   *vote
	ctx    context.Context // redsync's
	cancel context.CancelFunc
}

// SetNX asks for the key.
func (b ballot) SetNX(name, value string, expiry time.Duration) (granted bool, err error) {
	granted, err = b.Conn.SetNX(name, value, expiry)
	b.vote.err = err
	close(b.vote.asked)
	return granted, err
}

// Eval releases the key, or extends its lease.
func (b ballot) Eval(script *redsyncredis.Script, keysAndArgs ...any) (any, error) {
	<-b.vote.asked
	request, err := b.vote.open(b.ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = request.Close() }()
	return request.Conn.Eval(script, keysAndArgs...)
}

// Close implements redsync's Conn.
func (b ballot) Close() error {
	b.cancel()
	return b.Conn.Close()
}
