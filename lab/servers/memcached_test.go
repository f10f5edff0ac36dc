//go:build unix

package servers_test

import (
	"context"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

func startMemcached(t *testing.T, settings ...string) *servers.Memcached {
	t.Helper()
	testenv.Needs(t, testenv.Memcached)
	m, err := testenv.Stack(t).Memcached(testenv.Context(t), settings...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func set(t *testing.T, addr string) {
	t.Helper()
	client := memcache.New(addr)
	defer client.Close()
	if err := client.Set(&memcache.Item{Key: "key", Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
}

func TestMemcachedRestartIsEmpty(t *testing.T) {
	t.Parallel()
	m := startMemcached(t)
	set(t, m.Addr)
	addr, before := m.Addr, m.PID()
	proof, err := m.Restart(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(proof)
	stats, err := m.Stats(t.Context())
	if err != nil || stats["curr_items"] != "0" || m.Addr != addr || m.PID() == before || alive(before) {
		t.Errorf("%s items, %v, at %s", stats["curr_items"], err, m.Addr)
	}
}

func TestMemcachedFull(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		evicts   bool
	}{"evicts": {[]string{"-m", "2"}, true}, "refuses": {[]string{"-m", "2", "-M"}, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startMemcached(t, c.settings...)
			set(t, m.Addr)
			full, err := m.Fill(t.Context(), 1, func(ctx context.Context) (bool, error) {
				stats, err := m.Stats(ctx)
				return stats["evictions"] != "0", err
			})
			if err != nil || full.Evicted > 0 != c.evicts || full.Refused == nil != c.evicts {
				t.Errorf("%+v, %v", full, err)
			}
		})
	}
}
