package explore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
	"locklab/lockstrategy/redislock/script"
)

// Server is the Redis behind a lock, and its clock.
type Server interface {
	Do(ctx context.Context, command ...any) (reply any, err error)
	// Pass lets time pass until the expiry of every key is over.
	Pass(ctx context.Context) error
}

// World is a server, and the clients of a lock on it.
type World struct {
	Lock    articlelock.Lock
	Clients []*Client

	server Server
	record func(history.Event)
}

// New returns a world with a client for each letter of names. record receives what happens, and may be nil.
func New(lock articlelock.Lock, server Server, lease time.Duration, names string, record func(history.Event)) *World {
	w := &World{Lock: lock, server: server, record: record}
	if w.record == nil {
		w.record = discard
	}
	for i, name := range strings.Split(names, "") {
		value := "attempt-" + name
		if lock.Shared {
			value = "driver"
		}
		c := articlelock.Client{Name: name, Value: value, Lease: lease, Clock: time.Duration(i) * lock.Skew}
		w.Clients = append(w.Clients, &Client{Client: c, lock: lock})
	}
	return w
}

func discard(history.Event) {}

// Move does one move. The error says when it is not possible: a client that has ended cannot move.
func (w *World) Move(ctx context.Context, m Move) error {
	if m.Client == "" {
		return w.pass(ctx)
	}
	c := w.client(m.Client)
	if c == nil {
		return fmt.Errorf("there is no client %s", m.Client)
	}
	how, over := c.Ended()
	switch {
	case over:
		return fmt.Errorf("%s cannot move: it is %s", m.Client, how)
	case m.Die:
		c.die()
		w.record(event(c, history.Die, ""))
		return nil
	case m.Lose && c.phase != acquiring:
		return fmt.Errorf("%s cannot lose this reply: only the reply to an acquire can be lost", m.Client)
	case m.Lose:
		return w.lose(ctx, c)
	}
	return w.step(ctx, c)
}

// pass lets time pass until every expiry is over. The note has the lock's key if the lock was held under an expiry.
func (w *World) pass(ctx context.Context) error {
	passes := history.Event{Timeline: "time", Kind: history.Note, Text: "passes, until every expiry is over"}
	switch ends, _, err := w.lockLeft(ctx); {
	case err != nil:
		return err
	case ends:
		passes.Name, passes.Key = history.LeaseEnds, articlelock.Key
	}
	w.record(passes)
	w.clocks()
	return w.server.Pass(ctx)
}

// clocks sets the clocks of the clients to a time at which every lease has ended by every clock.
func (w *World) clocks() {
	var latest time.Duration
	for _, c := range w.Clients {
		latest = max(latest, c.Clock+c.Lease)
	}
	for _, c := range w.Clients {
		c.Clock += latest
	}
}

func (w *World) client(name string) *Client {
	for _, c := range w.Clients {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Can reports whether m is possible: time can always pass, and a client can move until it has ended.
func (w *World) Can(m Move) bool {
	if c := w.client(m.Client); c != nil {
		return c.phase != ended && (!m.Lose || c.phase == acquiring)
	}
	return m.Client == ""
}

// step lets a client do its next step, and records the command and what it means.
func (w *World) step(ctx context.Context, c *Client) error {
	before, step := c.phase, c.next()
	reply, err := w.send(ctx, c, step)
	if err != nil {
		return err
	}
	words := shown
	if step.Words != nil {
		words = step.Words
	}
	w.record(event(c, history.Command, fmt.Sprintf("%s → %s", step.Name, words(reply))))
	found := c.Found
	if err := c.replied(step, reply); err != nil {
		return err
	}
	switch {
	case found == c.Found || before != releasing:
	case c.Found == c.Value:
		w.record(event(c, history.Note, "compares: it is its own"))
	default:
		w.record(event(c, history.Note, "compares: it is not its own"))
	}
	switch {
	case before == acquiring && c.how == refused:
		w.record(event(c, history.Refuse, ""))
	case before == acquiring && c.phase != acquiring:
		granted := event(c, history.Grant, "")
		granted.Token = script.Token(reply)
		w.record(granted)
	case before == reading:
		w.value(c, history.Read, c.read)
	case before == writing:
		w.value(c, history.Write, c.wrote)
	case before == releasing && c.phase == ended:
		end := event(c, history.Released, "")
		if c.notHeld {
			end.Text = "not held"
		}
		w.record(end)
	}
	return nil
}

// ReplyLoser is a server that can really lose a reply. Where the server is none, the client only ignores it.
type ReplyLoser interface {
	// LoseReply loses the reply to the next command: Do fails, and the server has executed it.
	LoseReply()
}

// lose lets the server execute a client's next step without a reply.
func (w *World) lose(ctx context.Context, c *Client) error {
	step := c.next()
	loser, really := w.server.(ReplyLoser)
	if really {
		loser.LoseReply()
	}
	reply, err := w.send(ctx, c, step)
	switch {
	case really && err == nil:
		return fmt.Errorf("%s: %s: the reply was to be lost, and arrived: %s", c.Name, step.Name, shown(reply))
	case !really && err != nil:
		return err
	}
	w.record(event(c, history.Command, step.Name+" → the reply is lost"))
	w.record(event(c, history.Refuse, history.Unavailable))
	c.lostReply()
	return nil
}

func (w *World) send(ctx context.Context, c *Client, step articlelock.Step) (any, error) {
	switch {
	case c.at > 0:
	case c.phase == acquiring:
		w.record(event(c, history.Request, ""))
	case c.phase == releasing:
		w.record(event(c, history.Release, ""))
	}
	reply, err := w.server.Do(ctx, step.Command(&c.Client)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", c.Name, step.Name, err)
	}
	return reply, nil
}

func event(c *Client, kind history.Kind, text string) history.Event {
	return history.Event{Timeline: c.Name, Owner: c.Name, Key: articlelock.Key, Kind: kind, Text: text}
}

func (w *World) value(c *Client, kind history.Kind, value int64) {
	w.record(history.Event{Timeline: c.Name, Owner: c.Name, Key: Counter, Kind: kind, Value: value})
}

// End records what the counter contains, and the lock if it is left: the server stores it, and no living client holds it.
func (w *World) End(ctx context.Context) error {
	reply, err := w.server.Do(ctx, "GET", Counter)
	if err != nil {
		return err
	}
	var n int64
	if text, ok := reply.(string); ok {
		if _, err := fmt.Sscan(text, &n); err != nil {
			return fmt.Errorf("the counter contains %q", text)
		}
	}
	w.record(history.Event{Timeline: "redis", Kind: history.Final, Key: Counter, Value: n})
	left, err := w.left(ctx)
	if left != "" {
		w.record(left.Mark().On(history.Event{Timeline: "redis", Kind: history.Left, Key: articlelock.Key}))
	}
	return err
}

func (w *World) left(ctx context.Context) (Violation, error) {
	for _, c := range w.Clients {
		if c.phase != ended {
			return "", nil
		}
	}
	switch ends, stays, err := w.lockLeft(ctx); {
	case err != nil:
		return "", err
	case ends:
		return LeftUntilExpiry, nil
	case stays:
		return OrphanedLock, nil
	}
	return "", nil
}

// lockLeft reports whether the lock's key is there and will end by itself, or is there and will stay.
func (w *World) lockLeft(ctx context.Context) (ends, stays bool, err error) {
	reply, err := w.server.Do(ctx, "PTTL", articlelock.Key)
	if err != nil {
		return false, false, err
	}
	left, _ := reply.(int64)
	ends = left > 0 || left == -1 && w.Lock.ClientTime
	return ends, left == -1 && !ends, nil
}

// shown is a reply as redis-cli shows it.
func shown(reply any) string {
	switch r := reply.(type) {
	case nil:
		return "(nil)"
	case string:
		return r
	}
	return fmt.Sprint(reply)
}
