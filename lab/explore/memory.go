package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/articlelock"
)

// Memory is a Redis in this process. Its time stands still unless Pass is called, and its keys can be restored.
type Memory struct {
	Redis
	redis *miniredis.Miniredis
}

// NewMemory starts one. The caller must close it.
func NewMemory() (*Memory, error) {
	server, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	server.SetTime(time.Unix(1_800_000_000, 0))
	pipe := func(context.Context, string, string) (net.Conn, error) { // half the time that a connection over TCP takes
		client, peer := net.Pipe()
		server.Server().ServeConn(peer)
		return client, nil
	}
	client := redis.NewClient(&redis.Options{ // without time limits: a server in this process answers, however busy the machine is
		Dialer: pipe, MaxRetries: -1, DisableIdentity: true, Protocol: 2, ReadTimeout: -1, WriteTimeout: -1,
	})
	return &Memory{Redis{client}, server}, nil
}

// Close ends it.
func (m *Memory) Close() error {
	err := m.Client.Close()
	m.redis.Close()
	return err
}

// Pass lets a day pass.
func (m *Memory) Pass(context.Context) error {
	m.redis.FastForward(24 * time.Hour)
	return nil
}

// snapshot is what every key contains.
type snapshot map[string]content

// content is that of a key: a string or a hash.
type content struct {
	text    string
	hash    map[string]string
	expires time.Duration // 0: never
}

func (m *Memory) snapshot() (snapshot, error) {
	s := make(snapshot)
	for _, key := range m.redis.Keys() {
		c := content{expires: m.redis.TTL(key)}
		switch kind := m.redis.Type(key); kind {
		case "string":
			c.text, _ = m.redis.Get(key) // its only errors are a missing key and another type
		case "hash":
			c.hash = make(map[string]string)
			fields, _ := m.redis.HKeys(key)
			for _, field := range fields {
				c.hash[field] = m.redis.HGet(key, field)
			}
		default:
			return s, fmt.Errorf("a key of the type %s: it cannot be put back", kind)
		}
		s[key] = c
	}
	return s, nil
}

func (m *Memory) restore(s snapshot) {
	m.redis.FlushAll()
	for key, c := range s {
		if c.hash == nil {
			_ = m.redis.Set(key, c.text) // its only error is a key of another type
		}
		for field, value := range c.hash {
			m.redis.HSet(key, field, value)
		}
		if c.expires > 0 {
			m.redis.SetTTL(key, c.expires)
		}
	}
}

// String is equal for two snapshots with the same future: whether a key expires counts, and not when.
func (s snapshot) String() string {
	var b strings.Builder
	for _, key := range sortedKeys(s) {
		fmt.Fprint(&b, key, "=", s[key].text, s[key].hash, s[key].expires > 0, " ")
	}
	return b.String()
}

// expires reports whether time can end a key.
func (s snapshot) expires() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(s)), func(c content) bool { return c.expires > 0 })
}

// lock is the lock's content; empty: it does not exist.
func (s snapshot) lock() string {
	c, exists := s[articlelock.Key]
	if !exists {
		return ""
	}
	return fmt.Sprint("=", c.text, c.hash)
}

// Redis is a [Server] that go-redis reaches.
type Redis struct{ Client redis.UniversalClient }

// Do sends one command.
func (r Redis) Do(ctx context.Context, command ...any) (any, error) {
	reply, err := r.Client.Do(ctx, command...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

// Pass lets the lock's expiry come, if it has one, and waits until the server has ended it. A lease may be long, so no step before is late.
func (r Redis) Pass(ctx context.Context) error {
	left, err := r.Client.PTTL(ctx, articlelock.Key).Result()
	if err != nil || left < 0 { // it is gone, or has no expiry
		return err
	}
	if err := r.Client.PExpire(ctx, articlelock.Key, time.Millisecond).Err(); err != nil {
		return err
	}
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		if left, err = r.Client.PTTL(ctx, articlelock.Key).Result(); err != nil || left < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
