package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/replies"
)

// server is one Redis, or one cluster. After a request that was not answered in time it is pinged, and new acquires wait until it answers.
// A server that hangs keeps every request. When it goes on, it executes all of them, for callers that have left. Renewals and releases are
// still sent: leases that are held need them.
type server struct {
	client   redis.UniversalClient
	timeout  time.Duration // of one answer
	sessions *Sessions     // whose background pings
	hangs    atomic.Pointer[hang]
}

// script is a script of the Redis lock, or another request of it without a source. name and source are for errors.
type script struct {
	*redis.Script
	name, source string
}

func newScript(name, source string) script { return script{redis.NewScript(source), name, source} }

// run executes a script once, whatever becomes of ctx.
func (s *server) run(ctx context.Context, lua script, keys []string, args ...any) (reply []int64, err error) {
	err = s.ask(ctx, func(ctx context.Context) (err error) {
		reply, err = lua.Run(ctx, s.client, keys, args...).Int64Slice()
		return err
	})
	if err != nil {
		return nil, unavailable(lua, keys[0], err)
	}
	return reply, nil
}

// hang is the time for which a server gives no answer.
type hang struct{ over chan struct{} } // closed at its end

var errHanging = errors.New("it has not answered the last requests in time")

// ask sends a request once, whatever becomes of ctx: an answer must not get lost.
func (s *server) ask(ctx context.Context, send func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(replies.SendOnce(context.WithoutCancel(ctx)), s.timeout)
	defer cancel()
	err := send(ctx)
	if timedOut(err) && s.pingable() {
		if h := (&hang{make(chan struct{})}); s.hangs.CompareAndSwap(nil, h) {
			s.sessions.inBackground(func() { s.ping(h) })
		}
	}
	return err
}

// pingable reports whether one ping covers all keys. In a cluster it does not.
func (s *server) pingable() bool {
	_, cluster := s.client.(*redis.ClusterClient)
	return !cluster
}

// hanging reports whether the server is pinged, and has not answered yet. After Close nothing pings it.
func (s *server) hanging() bool { return s.hangs.Load() != nil && s.sessions.ctx.Err() == nil }

// answers waits until the server does not hang, or ctx ends.
func (s *server) answers(ctx context.Context) error {
	h := s.hangs.Load()
	if h == nil {
		return nil
	}
	select {
	case <-h.over:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// late is the compensating release of an acquire without an answer. A server that hangs may execute that acquire when it goes on, so
// the release is sent then, however late.
func (s *server) late(g Grant) Grant {
	if !s.pingable() {
		return g
	}
	return Grant{Key: g.Key, Release: func(ctx context.Context) (listeners int, err error) {
		if err := s.answers(ctx); err != nil {
			return 0, fmt.Errorf("%w: %s: %w", ErrUnavailable, s, err)
		}
		return g.Release(ctx)
	}}
}

// ready is answers with a limit: the time for one request.
func (s *server) ready(ctx context.Context) error {
	if !s.hanging() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errHanging)
	defer cancel()
	if err := s.answers(ctx); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

// ping asks a server that hangs until it answers, or cannot be reached. It pauses, because a client may repeat its last timeout without
// asking (TestRedLockPingsWithPauses).
func (s *server) ping(h *hang) {
	defer close(h.over)
	defer s.hangs.Store(nil)
	for {
		ctx, cancel := context.WithTimeout(s.sessions.ctx, s.timeout)
		err := s.client.Ping(ctx).Err()
		cancel()
		if !timedOut(err) {
			return
		}
		select {
		case <-s.sessions.ctx.Done():
			return
		case <-time.After(s.timeout / 4):
		}
	}
}

func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// String is the server's address.
func (s *server) String() string {
	if single, ok := s.client.(*redis.Client); ok {
		return single.Options().Addr
	}
	return fmt.Sprint(s.client)
}

// unavailable wraps the error of a script. A refusal is explained, and gets the name of the command.
func unavailable(lua script, key string, err error) error {
	if redis.HasErrorPrefix(err, "WRONGTYPE") {
		return fmt.Errorf("%w: %s: %s is no lock of this kind, but perhaps another library's, or its token counter %s is no number: "+
			"delete what is wrong: %w", ErrUnavailable, lua.name, key, grantKey(key), err)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, lua.name, named(lua.source, replies.Explain(err)))
}

// mayHaveRun is [replies.MayHaveRun]. An acquire that waited for a server that hangs was not sent.
func mayHaveRun(err error) bool { return replies.MayHaveRun(err) && !errors.Is(err, errHanging) }

var (
	scriptLine = regexp.MustCompile(`user_script: ?(\d+)`)
	scriptCall = regexp.MustCompile(`redis\.p?call\(['"](\w+)`)
)

// named puts the command before the error of a script: Redis often says only on which line it stands.
func named(source string, err error) error {
	if err == nil {
		return nil
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
	return fmt.Errorf("%s: %w", strings.Join(commands, " or "), err)
}
