package preflight

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lockstrategy"
)

// sound is a server in which no rule but the one for lonely servers finds anything.
var sound = map[string]string{
	saidVersion: "7.0.15", saidMode: "standalone", saidRole: "master", saidReplicas: "0", saidMemory: "0", saidPolicy: "noeviction",
	saidAOF: saidYes, saidFsync: "always", saidSave: "", saidInSync: "0",
}

// but is sound with some answers changed; nil: nothing was told.
func but(changes ...string) Facts {
	said := maps.Clone(sound)
	for pair := range slices.Chunk(changes, 2) {
		said[pair[0]] = pair[1]
	}
	return Facts{Node: "a:1", Said: said, RoundTrip: time.Millisecond}
}

func off(f Facts, offset, trip time.Duration) Facts {
	f.ClockOffset, f.RoundTrip = offset, trip
	return f
}

func TestWhatWeakensALock(t *testing.T) {
	const lonely = "no replica"
	for name, c := range map[string]struct {
		facts   Facts
		redis   []string // parts of What, in order
		redlock []string
	}{
		"noeviction without a limit": {but(), []string{lonely}, nil},
		"noeviction with a limit":    {but(saidMemory, "104857600"), []string{lonely}, nil},
		"allkeys without a limit":    {but(saidPolicy, "allkeys-lru"), []string{lonely}, nil},
		"allkeys with a limit": {
			but(saidMemory, "104857600", saidPolicy, "allkeys-lru"),
			[]string{"104857600 bytes with maxmemory-policy allkeys-lru", lonely},
			[]string{"allkeys-lru"},
		},
		"volatile with a limit": {
			but(saidMemory, "1", saidPolicy, "volatile-ttl"), []string{"volatile-ttl", lonely}, []string{"volatile-ttl"},
		},
		"a policy, the limit untold": {but(saidMemory, "", saidPolicy, "allkeys-lru"), []string{lonely}, nil},
		"nothing was told":           {Facts{Node: "a:1", Said: map[string]string{}}, nil, nil},
		"nothing was answered":       {Facts{Node: "a:1"}, nil, nil},
		"replicas":                   {but(saidReplicas, "2"), []string{"replicas: 2", "min-replicas-to-write is 0"}, []string{"replicas: 2"}},
		"replicas that must keep up": {but(saidReplicas, "2", saidInSync, "1"), []string{"replicas: 2"}, []string{"replicas: 2"}},
		"it is a replica":            {but(saidRole, "slave"), []string{"it is a replica"}, []string{"it is a replica"}},
		"nothing on disk":            {but(saidAOF, saidNo), []string{lonely, "nothing on disk"}, []string{"nothing on disk"}},
		"snapshots": {
			but(saidAOF, saidNo, saidSave, "3600 1"),
			[]string{lonely, "snapshots only (appendonly no, save 3600 1)"},
			[]string{"snapshots only"},
		},
		"everysec": {
			but(saidFsync, "everysec"), []string{lonely, "everysec: a crash may lose a second"}, []string{"everysec: a crash may lose a second"},
		},
		"never synced": {
			but(saidFsync, saidNo), []string{lonely, "appendfsync is no: a crash may lose the writes"}, []string{"appendfsync is no"},
		},
		"synced, how was not told":     {but(saidFsync, ""), []string{lonely}, nil},
		"Redis 4":                      {but(saidVersion, "4.0.14"), []string{"Redis 4.0.14: its SET", lonely}, nil},
		"Redis 6.0":                    {but(saidVersion, "6.0.16"), []string{"Redis 6.0.16: its SET", lonely}, nil},
		"Redis 6.2":                    {but(saidVersion, "6.2.0"), []string{lonely}, nil},
		"Redis 10":                     {but(saidVersion, "10.0.0"), []string{lonely}, nil},
		"a cluster with sharding":      {but(saidMode, "cluster"), []string{lonely}, nil},
		"a cluster without sharding":   {but(saidMode, "cluster", saidVersion, "6.2.14"), []string{lonely, "no sharded channels"}, nil},
		"a cluster, version untold":    {but(saidMode, "cluster", saidVersion, ""), []string{lonely}, nil},
		"a clock ahead":                {off(but(), 5*time.Second, time.Millisecond), []string{lonely, "5s ahead of"}, []string{"5s ahead of"}},
		"a clock behind":               {off(but(), -5*time.Second, time.Millisecond), []string{lonely, "5s behind"}, []string{"5s behind"}},
		"a clock near enough":          {off(but(), 2*time.Second, time.Millisecond), []string{lonely}, nil},
		"a clock behind a slow answer": {off(but(), 2500*time.Millisecond, time.Second), []string{lonely}, nil},
		"a clock that was not told":    {off(but(), time.Hour, 0), []string{lonely}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for lock, want := range map[string][]string{single: c.redis, quorum: c.redlock} {
				found := weaknesses(lock, []Facts{c.facts})
				if len(found) != len(want) {
					t.Fatalf("%s: found %+v, want %q", lock, found, want)
				}
				for i, w := range found {
					if !strings.Contains(w.What, want[i]) || !slices.Equal(w.Where, []string{"a:1"}) {
						t.Errorf("%s: %q at %v, want %q", lock, w.What, w.Where, want[i])
					}
				}
			}
		})
	}
}

// Each weakness says what it does and what helps, in one sentence each.
func TestRulesAreSentences(t *testing.T) {
	for i, r := range rules {
		for _, text := range []string{r.why, r.remedy} {
			if text == "" || strings.Contains(text, ". ") || strings.HasSuffix(text, ".") {
				t.Errorf("rule %d: %q is no sentence to stand in a line", i, text)
			}
		}
		if i > 0 && r.grave && !rules[i-1].grave {
			t.Errorf("rule %d is grave and comes late", i)
		}
	}
}

func TestWhatServersShareIsSaidOnce(t *testing.T) {
	a, b, c := but(saidAOF, saidNo), but(saidAOF, saidNo), but(saidFsync, "everysec")
	a.Node, b.Node, c.Node = "a:1", "b:2", "c:3"
	found := weaknesses(quorum, []Facts{a, b, c})
	if len(found) != 2 || !slices.Equal(found[0].Where, []string{"a:1", "b:2"}) || !slices.Equal(found[1].Where, []string{"c:3"}) {
		t.Errorf("found %+v", found)
	}
}

// What refuses locks is named before what weakens them, and what is grave before the rest.
func TestGraveWeaknessesComeFirst(t *testing.T) {
	a, b := but(), but()
	a.Node, b.Node = "127.0.0.1:1", "localhost:1"
	a.run, b.run = "one", "one"
	a.refusals = []lockstrategy.Refusal{{Step: lockstrategy.Publish, Err: errors.New("NOPERM")}}
	found := weaknesses(quorum, []Facts{a, b})
	if len(found) != 2 || !found[0].Grave || found[1].Grave {
		t.Errorf("found %+v", found)
	}
}

func TestANodeThatIsNamedTwiceIsGrave(t *testing.T) {
	a, b, c := but(), but(), but()
	a.Node, b.Node, c.Node = "127.0.0.1:1", "b:2", "localhost:1"
	a.run, b.run, c.run = "one", "two", "one"
	found := weaknesses(quorum, []Facts{a, b, c})
	if len(found) != 1 || !found[0].Grave || !slices.Equal(found[0].Where, []string{"127.0.0.1:1", "localhost:1"}) {
		t.Errorf("found %+v", found)
	}
	c.run, a.run = "", "" // a server that does not tell may be any
	if found := weaknesses(quorum, []Facts{a, b, c}); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}
