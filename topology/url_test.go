package topology_test

import (
	"strings"
	"testing"

	"locklab/topology"
)

// Addresses and URLs that cannot work are refused with a reason. It has no part of a URL, because a password may seem to be another part.
func TestURLsThatCannotWork(t *testing.T) {
	t.Parallel()
	const noURL = "no HOST:PORT and no URL of Redis"
	for addrs, c := range map[string]struct {
		kinds string // empty: any kind
		says  string // empty: nothing is wrong
	}{
		"a:1,redis://b:2,redis://c,redis://[::1]:3":    {},
		"rediss://u:hush@a:1,rediss://u:hush@b:1/0":    {},
		"redis://u:hush@a:1,redis://v:hush@b:1":        {"master-slave sentinel cluster", "address 2 of 2 differs from the first in its user"},
		"redis://:hush@a:1,b:1":                        {"master-slave sentinel cluster", "user or password"},
		"redis://:hush@a:1,rediss://b:1,redis://b:1/7": {"independent", ""}, // RedLock's nodes are independent of each other
		"rediss://a:1,redis://b:1":                     {"master-slave sentinel cluster", "TLS"},
		"rediss://a:1,rediss://b:1?skip_verify=true":   {"master-slave sentinel cluster", "skip_verify"},
		"redis://a:1/3":                                {"single master-slave", ""},
		"redis://a:1/2,redis://b:1/3":                  {"master-slave", "database"},
		"rediss://a:1/3":                               {"sentinel cluster", "address 1 of 1 has /3, but"},
		"rediss://a:1?max_retries=3":                   {"", "with no other setting than ?skip_verify=true"},
		"rediss://a:1?db=3":                            {"", "with no other setting than ?skip_verify=true"},
		"redis://a:1?skip_verify=true":                 {"", noURL},
		"redis://hush@a:1":                             {"", "has a user and no password"},
		"redis://u:hush#hush@a:1":                      {"", noURL},
		"redis://u:12#hush@a:1":                        {"", noURL},
		"redis://u:12/hush@a:1":                        {"", noURL},
		"redis://u:12?hush@a:1":                        {"", noURL},
		"redis://u:12,hush@a:1":                        {"", noURL}, // the comma ends an item of the list
		"redis://u:%hush@a:1":                          {"", noURL},
		"redis://u:[hush@a:1":                          {"", noURL},
		"redis://u:hush@a:hush":                        {"", noURL},
		"redis://:hush:1":                              {"", noURL}, // without a host
		"redis://u:hush:1":                             {"", noURL},
		"redis://a:1/hush":                             {"", noURL},
		"redis://a:1/-1":                               {"", noURL},
		"u:hush@a:1":                                   {"", noURL},
		"http://u:hush@a:1":                            {"", noURL},
		"unix://u:hush@/tmp/hush":                      {"", noURL},
	} {
		kinds := strings.Split(c.kinds, " ")
		if c.kinds == "" {
			kinds = []string{"single", "master-slave", "sentinel", "cluster", "independent"}
		}
		for _, kind := range kinds {
			got, err := topology.Config{Kind: topology.Kind(strings.TrimPrefix(kind, "independent")), Addrs: strings.Split(addrs, ",")}.HostPorts()
			switch {
			case c.says == "" && (err != nil || strings.ContainsAny(strings.Join(got, ""), "/@?")):
				t.Errorf("%s of %q: %v, %v", addrs, kind, got, err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s of %q: got %v, want %s", addrs, kind, err, c.says)
			case err != nil && (strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "12")):
				t.Errorf("%s of %q: the error has a part of the password: %v", addrs, kind, err)
			}
		}
	}
}
