package zklock

import (
	"strings"
	"testing"
)

// The names are those of this package, of Curator's InterProcessMutex and of Go's zk.Lock.
func TestSequence(t *testing.T) {
	const guid = "_c_31e9f9b2-9f3f-4d1c-8c36-8b8e3a2a6f0d-"
	for name, want := range map[string]int64{
		guid + "lock-0000000000":                              0,
		guid + "lock-0000000012":                              12,
		guid + "lock-2147483647":                              2147483647,
		"/locklab/lock:pview/" + guid + "lock-0000000012":     12,
		"/locklab/a-lock-7/" + guid + "lock-0000000012":       12, // the key ends as a position does
		"lock-0000000012":                                     12, // Curator's without protection
		"_c_31e9f9b29f3f4d1c8c368b8e3a2a6f0d-lock-0000000012": 12, // zk.Lock's
	} {
		if n, err := sequence(name); err != nil || n != want {
			t.Errorf("%s: %d (%v), want %d", name, n, err, want)
		}
	}
	for _, name := range []string{
		guid + "lock--2147483648", guid + "lock--2147483647", guid + "lock--000000001", // after the last one
		"lock--2147483647",
		guid + "lock-",
		guid + "lease-0000000012",      // of Curator's semaphore
		guid + "__WRIT__0000000012",    // of Curator's read-write lock
		guid + "0000000012",            // of no lock
		"/locklab/a-lock-7/0000000012", // the key is no position
	} {
		n, err := sequence(name)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "delete the key's node when nobody uses it") {
			t.Errorf("%s: %d (%v), want an error that says what to do", name, n, err)
		}
	}
}
