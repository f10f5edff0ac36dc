package compare

import (
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy"
	"locklab/order"
)

// A lock issues a token, or none, as its facts say. Those that need a real server are tested in package lockstrategy.
func TestTokens(t *testing.T) {
	var clients []redis.UniversalClient
	for range 5 {
		c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
		t.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
	}
	store, err := order.OpenStore(t.Context(), order.Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "locks.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	backends := lockstrategy.Backends{Redis: clients[0], Nodes: clients, Database: store.DB()}
	names := map[string]string{"v3": lockstrategy.NameRedis, "v4": lockstrategy.NameRedLock, "v5": lockstrategy.NameDatabase}
	for _, f := range facts {
		if names[f.Version] == "" {
			continue
		}
		lock, err := lockstrategy.Open(names[f.Version], backends)
		if err != nil {
			t.Fatal(err)
		}
		lease, err := lock.Acquire(t.Context(), "key-"+f.Version)
		if err != nil {
			t.Fatalf("%s: %v", f.Version, err)
		}
		if issues := lease.FencingToken() > 0; issues != (f.Token != "") {
			t.Errorf("%s: token %d, and the facts say %q", f.Version, lease.FencingToken(), f.Token)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("%s: %v", f.Version, err)
		}
		_ = lock.Close()
	}
}
