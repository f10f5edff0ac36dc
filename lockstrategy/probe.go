package lockstrategy

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A probe waits for an answer much shorter than a lock does: a server that hangs is not what it looks for.
const (
	probeRequest = 500 * time.Millisecond
	probeLease   = 3 * probeRequest // what a server keeps of a probe whose release it refused
)

// Refusal is what a server that answers does not do for a lock.
type Refusal struct {
	Step Step
	Err  error // the server's reply, after the command that it refused where that is known
}

// Step is a part of the work of a lock.
type Step string

// The steps of a probe. Without the first three there is no lock. Without the last two its waiters poll.
const (
	Acquire   Step = "acquire"
	Renew     Step = "renew"
	Release   Step = "release"
	Publish   Step = "publish"
	Subscribe Step = "subscribe"
)

// ProbeRedis acquires key on client as [Redis] does, asks for it as another owner, renews and releases it. Then it publishes and
// subscribes on its channel. So each command of the scripts is executed. It returns what was refused; the error is that of a server that
// did not answer in time. A key that another probe holds is as good as one that is granted: the server grants.
func ProbeRedis(ctx context.Context, client redis.UniversalClient, key string) ([]Refusal, error) {
	r, err := NewRedis(client, Timing{Lease: probeLease, Request: probeRequest})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	holder, other := owner{Redis: r, key: key, name: r.process + ":1"}, owner{Redis: r, key: key, name: r.process + ":2"}
	var p probe
	granted := false
	p.step(ctx, Acquire, func() error {
		grant, _, err := holder.acquire(ctx, Request{Tokens: 1})
		granted = grant.Token > 0
		return err
	})
	if granted {
		p.step(ctx, Acquire, func() error { _, _, err := other.acquire(ctx, Request{Tokens: 1}); return err })
		p.step(ctx, Renew, func() error { return holder.renew(ctx) })
		p.step(ctx, Release, func() error { _, err := holder.release(ctx); return err })
	}
	p.notifies(ctx, client, r.hub.Publish(), channelOf(key))
	return p.refused, p.silent
}

// ProbeNode does on one node of a quorum what [RedLock] does on each.
func ProbeNode(ctx context.Context, client redis.UniversalClient, key string) ([]Refusal, error) {
	r, err := NewRedLock([]redis.UniversalClient{client}, Timing{Lease: probeLease, Request: probeRequest})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	holder, other := r.newQuorum(key, probeLease).mutex, r.newQuorum(key, probeLease).mutex
	var p probe
	granted := false
	p.step(ctx, Acquire, func() error {
		err := holder.TryLock()
		granted = err == nil
		return answerOf(err)
	})
	if granted {
		p.step(ctx, Acquire, func() error { return answerOf(other.TryLock()) })
		p.step(ctx, Renew, func() error { _, err := holder.ExtendContext(ctx); return answerOf(err) })
		p.step(ctx, Release, func() error { _, err := holder.UnlockContext(ctx); return answerOf(err) })
	}
	p.notifies(ctx, client, r.hubs[0].Publish(), redlockChannel(key))
	return p.refused, p.silent
}

// answerOf is the error of the only node; nil: it answered, whatever it said about the key.
func answerOf(err error) error {
	if node := silent(err); len(node) > 0 {
		return node[0].Err
	}
	return nil
}

// probe collects what a server refuses.
type probe struct {
	refused []Refusal
	silent  error // it gave no answer, or the time is up; nothing else is asked
}

func (p *probe) step(ctx context.Context, step Step, do func() error) {
	if p.silent = cmp.Or(p.silent, ctx.Err()); p.silent != nil {
		return
	}
	var reply redis.Error
	var named commandError
	switch err := do(); {
	case err == nil, errors.Is(err, ErrGone): // somebody has deleted the key
	case errors.As(err, &named):
		p.refused = append(p.refused, Refusal{step, named})
	case errors.As(err, &reply):
		p.refused = append(p.refused, Refusal{step, reply})
	default:
		p.silent = err
	}
}

// notifies publishes and subscribes, with the commands for sharded channels if publish is one of them.
func (p *probe) notifies(ctx context.Context, client redis.UniversalClient, publish, channel string) {
	ctx, cancel := context.WithTimeout(ctx, probeRequest)
	defer cancel()
	p.step(ctx, Publish, func() error { return client.Do(ctx, publish, channel, "0").Err() })
	p.step(ctx, Subscribe, func() error {
		subscribe := client.Subscribe
		if publish == "spublish" {
			subscribe = client.SSubscribe
		}
		s := subscribe(ctx, channel)
		defer s.Close()
		_, err := s.ReceiveTimeout(ctx, probeRequest)
		return err
	})
}

// commandError names the command of a script that a server refused.
type commandError struct {
	command string
	error
}

func (e commandError) Error() string { return e.command + ": " + e.error.Error() }

func (e commandError) Unwrap() error { return e.error }

var (
	scriptLine = regexp.MustCompile(`user_script: ?(\d+)`)
	scriptCall = regexp.MustCompile(`redis\.p?call\(['"](\w+)`)
)

// named puts the command before the error of a script: Redis often says only on which line it stands.
func named(source string, err error) error {
	if err == nil || source == "" {
		return err
	}
	at := scriptLine.FindStringSubmatch(err.Error())
	if at == nil {
		return err
	}
	line, _ := strconv.Atoi(at[1])
	lines := strings.Split(source, "\n")
	if line < 1 || line > len(lines) {
		return err
	}
	var commands []string
	for _, call := range scriptCall.FindAllStringSubmatch(lines[line-1], -1) {
		commands = append(commands, strings.ToUpper(call[1]))
	}
	if len(commands) == 0 {
		return err
	}
	return commandError{strings.Join(commands, " or "), err}
}
