package steps

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/naive"
)

// Memory is a Redis in this process whose time stands still unless it is told to pass, and whose keys can be put back
// to what they were.
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
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DisableIdentity: true, Protocol: 2})
	return &Memory{Redis{client}, server}, nil
}

// Close ends it.
func (m *Memory) Close() error {
	err := m.UniversalClient.Close()
	m.redis.Close()
	return err
}

// Pass lets a day pass.
func (m *Memory) Pass(context.Context) error {
	m.redis.FastForward(24 * time.Hour)
	return nil
}

// snapshot is what every key holds.
type snapshot struct {
	strings map[string]string
	hashes  map[string]map[string]string
	expiry  map[string]time.Duration
}

func (m *Memory) snapshot() (snapshot, error) {
	s := snapshot{make(map[string]string), make(map[string]map[string]string), make(map[string]time.Duration)}
	for _, key := range m.redis.Keys() {
		if ttl := m.redis.TTL(key); ttl > 0 {
			s.expiry[key] = ttl
		}
		switch kind := m.redis.Type(key); kind {
		case "string":
			value, err := m.redis.Get(key)
			if err != nil {
				return s, err
			}
			s.strings[key] = value
		case "hash":
			s.hashes[key] = make(map[string]string)
			fields, err := m.redis.HKeys(key)
			if err != nil {
				return s, err
			}
			for _, field := range fields {
				s.hashes[key][field] = m.redis.HGet(key, field)
			}
		default:
			return s, fmt.Errorf("a key of the type %s: it cannot be put back", kind)
		}
	}
	return s, nil
}

func (m *Memory) restore(s snapshot) error {
	m.redis.FlushAll()
	for key, value := range s.strings {
		if err := m.redis.Set(key, value); err != nil {
			return err
		}
	}
	for key, fields := range s.hashes {
		for field, value := range fields {
			m.redis.HSet(key, field, value)
		}
	}
	for key, ttl := range s.expiry {
		m.redis.SetTTL(key, ttl)
	}
	return nil
}

// String is equal for two snapshots with the same future: whether a key expires counts, and not when.
func (s snapshot) String() string {
	var parts []string
	for _, key := range sortedKeys(s.strings) {
		parts = append(parts, fmt.Sprintf("%s=%s%s", key, s.strings[key], s.mortal(key)))
	}
	for _, key := range sortedKeys(s.hashes) {
		parts = append(parts, fmt.Sprintf("%s=%v%s", key, s.hashes[key], s.mortal(key)))
	}
	return strings.Join(parts, " ")
}

func (s snapshot) mortal(key string) string {
	if s.expiry[key] > 0 {
		return "~"
	}
	return ""
}

// locked reports whether the lock exists.
func (s snapshot) locked() bool { return s.lock() != "" }

// lock is the lock's content; empty: it does not exist.
func (s snapshot) lock() string {
	if fields, ok := s.hashes[naive.Key]; ok {
		return fmt.Sprint(fields)
	}
	if value, ok := s.strings[naive.Key]; ok {
		return "=" + value
	}
	return ""
}
