package preflight

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// but is a sound server with some answers changed.
func but(changes ...string) *server {
	said := map[string]string{
		"maxmemory": "0", "maxmemory_policy": "noeviction", "aof_enabled": "1", "appendfsync": "always", "connected_slaves": "0",
	}
	for pair := range slices.Chunk(changes, 2) {
		said[pair[0]] = pair[1]
	}
	return &server{node: "a:1", said: said}
}

func TestWhatLosesALock(t *testing.T) {
	for name, c := range map[string]struct {
		server *server
		want   string // a part of What; empty: nothing is found
	}{
		"a sound server":             {but(), ""},
		"noeviction with a limit":    {but("maxmemory", "104857600"), ""},
		"allkeys without a limit":    {but("maxmemory_policy", "allkeys-lru"), ""},
		"allkeys with a limit":       {but("maxmemory", "104857600", "maxmemory_policy", "allkeys-lru"), "bytes with maxmemory-policy allkeys"},
		"volatile with a limit":      {but("maxmemory", "1", "maxmemory_policy", "volatile-ttl"), "volatile-ttl"},
		"a policy, the limit untold": {but("maxmemory", "", "maxmemory_policy", "allkeys-lru"), ""},
		"a limit, the policy untold": {but("maxmemory", "1", "maxmemory_policy", ""), ""},
		"nothing was told":           {&server{node: "a:1", said: map[string]string{}}, ""},
		"replicas":                   {but("connected_slaves", "10"), "it has replicas: 10"},
		"nothing is written":         {but("aof_enabled", "0"), "appendonly is no"},
		"everysec":                   {but("appendfsync", "everysec"), "appendfsync is everysec"},
		"never synced":               {but("appendfsync", "no"), "appendfsync is no"},
		"how it syncs is untold":     {but("appendfsync", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var r Report
			r.settings(c.server)
			var found []string
			for _, w := range r.Weaknesses {
				found = append(found, w.What)
			}
			if all := strings.Join(found, ", "); !strings.Contains(all, c.want) || len(found) != min(1, len(c.want)) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

func TestWhatServersShareIsSaidOnce(t *testing.T) {
	b := but("aof_enabled", "0")
	b.node = "b:2"
	var r Report
	for _, s := range []*server{but("aof_enabled", "0"), b, but("appendfsync", "everysec")} {
		r.settings(s)
	}
	found := r.Weaknesses
	if len(found) != 2 || !slices.Equal(found[0].Where, []string{"a:1", "b:2"}) || !slices.Equal(found[1].Where, []string{"a:1"}) {
		t.Errorf("found %+v", found)
	}
}

// A cluster of one master has no keys elsewhere. A server that does not tell what it is may be any.
func TestWhatIsNoMistake(t *testing.T) {
	for _, servers := range [][]*server{{but("cluster_size", "1")}, {but(), but()}, {but("run_id", "one"), but("run_id", "two")}} {
		var r Report
		if r.mistakes(servers); len(r.Weaknesses) > 0 {
			t.Errorf("%v: found %+v", slices.Collect(maps.Keys(servers[0].said)), r.Weaknesses)
		}
	}
}
