package preflight_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy/preflight"
)

// A managed Redis refuses some of the questions. What INFO tells is told all the same.
func TestPreflightSaysWhatItMayNotAsk(t *testing.T) {
	node := server(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	admin := client(t, node.Addr)
	for _, c := range []struct {
		denied     []any
		weaknesses []string
		unknown    []string // What: a part of Why
	}{
		{
			[]any{"-config"},
			[]string{"volatile-lru", "no replica", "no file of its writes"},
			[]string{"appendfsync, save, min-replicas-to-write: CONFIG GET could not be asked: NOPERM"},
		},
		{
			[]any{"-config", "-info", "-time"},
			[]string{"it refuses to acquire: TIME: "},
			[]string{
				"redis_version, redis_mode, role, connected_slaves, maxmemory, maxmemory_policy: INFO could not be asked: NOPERM",
				"appendonly, appendfsync, save, min-replicas-to-write: CONFIG GET could not be asked: NOPERM",
				"clock: TIME could not be asked: NOPERM",
			},
		},
	} {
		rights := append([]any{"ACL", "SETUSER", "guest", "reset", "on", "nopass", "~*", "&*", "+@all"}, c.denied...)
		if err := admin.Do(t.Context(), rights...).Err(); err != nil {
			t.Fatal(err)
		}
		guest := redis.NewClient(&redis.Options{Addr: node.Addr, Username: "guest", Password: "any"})
		report := asked(t, guest)
		_ = guest.Close()
		wantWeaknesses(t, report, c.weaknesses...)
		wantUnknown(t, report, c.unknown...)
	}
}

func TestPreflightWhereCommandsAreRenamed(t *testing.T) {
	report := asked(t, client(t, server(t, "--rename-command", "CONFIG", "", "--rename-command", "TIME", "").Addr))
	wantWeaknesses(t, report, "it refuses to acquire: TIME: ", "no replica", "no file of its writes")
	wantUnknown(t, report,
		"appendfsync, save, min-replicas-to-write: CONFIG GET could not be asked: ERR unknown command",
		"clock: TIME could not be asked: ERR unknown command")
}

func TestPreflightOfMiniredis(t *testing.T) {
	report := asked(t, client(t, testenv.Redis(t, false).Addr))
	wantWeaknesses(t, report)
	wantUnknown(t, report,
		"redis_version, redis_mode, role, connected_slaves, maxmemory, maxmemory_policy: INFO does not tell it",
		"appendonly, appendfsync, save, min-replicas-to-write: CONFIG GET could not be asked: ERR unknown command")
	if report.Servers[0].RoundTrip <= 0 {
		t.Error("miniredis has a clock")
	}
}

func wantUnknown(t *testing.T, report preflight.Report, want ...string) {
	t.Helper()
	var unknown []string
	for _, u := range report.Unknown {
		unknown = append(unknown, u.What+": "+u.Why)
	}
	if !slices.EqualFunc(unknown, want, strings.HasPrefix) {
		t.Errorf("unknown %q, want %q", unknown, want)
	}
}
