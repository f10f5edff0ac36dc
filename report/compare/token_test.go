package compare

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/order"
)

// A lock issues a token, or none, as docs/compare.md says. Locks that need a real server are tested in package lockstrategy.
func TestTokens(t *testing.T) {
	testenv.Check(t, testenv.Pages)
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
	page, err := os.ReadFile("../../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	_, needs, _ := strings.Cut(string(page), "\n## What each needs and does\n")
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
		row := regexp.MustCompile(`\n\| ` + f.Version + ` [^|]*\|[^|]*\|[^|]*\| ([^|]*) \|`).FindStringSubmatch(needs)
		if row == nil || (lease.FencingToken() > 0) != (row[1] != "**none**") {
			t.Errorf("%s: token %d, and the page says %q", f.Version, lease.FencingToken(), row)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("%s: %v", f.Version, err)
		}
		_ = lock.Close()
	}
}
