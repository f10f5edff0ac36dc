package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"

	"locklab/lockstrategy/articlelock"
)

// Memory is a Redis in this process. Its time stands still unless Pass is called, and its keys can be restored. One goroutine uses it.
type Memory struct {
	redis  *miniredis.Miniredis
	client *proto.Client
}

// NewMemory starts one, without a port. The caller must close it.
func NewMemory() (*Memory, error) {
	server := miniredis.NewMiniRedis()
	server.SetTime(time.Unix(1_800_000_000, 0))
	connection, err := server.Dial()
	if err != nil {
		return nil, err
	}
	return &Memory{server, proto.NewClient(connection)}, nil
}

// Close ends it.
func (m *Memory) Close() error {
	err := m.client.Close()
	m.redis.Close()
	return err
}

// Do sends one command.
func (m *Memory) Do(_ context.Context, command ...any) (any, error) {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = fmt.Sprint(word)
	}
	reply, err := m.client.Do(words...)
	if err != nil {
		return nil, err
	}
	return read(reply)
}

// read reads a reply: nil, a string, an int64, a list of these, or an error.
func read(reply string) (any, error) {
	switch {
	case reply == proto.Nil || reply == proto.NilList:
		return nil, nil
	case strings.HasPrefix(reply, "*"):
		elements, err := proto.ReadArray(reply)
		list := make([]any, len(elements))
		for i, element := range elements {
			if err == nil {
				list[i], err = read(element)
			}
		}
		return list, err
	}
	switch value, err := proto.Parse(reply); v := value.(type) {
	case error:
		return nil, v
	case int:
		return int64(v), err
	default:
		return v, err
	}
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
