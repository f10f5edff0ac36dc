package lockstrategy

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"locklab/lockstrategy/pubsub"
)

// docs/lock.md names the constants with the values that the code has.
func TestThePageShowsTheConstants(t *testing.T) {
	page, err := os.ReadFile("../docs/lock.md")
	if err != nil {
		t.Fatal(err)
	}
	cohort, err := NewCohort(nil, HandOff{})
	if err != nil {
		t.Fatal(err)
	}
	timing, err := Timing{}.checked()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"DefaultLease": timing.Lease, "Backends.Request": timing.Request, "shortestLease": shortestLease,
		"HandOff.Count": cohort.bounds.Count, "HandOff.Time": cohort.bounds.Time, "yieldWindow": yieldWindow, "perCaller": perCaller,
		"startDelay": startDelay, "probeAfter": probeAfter, "longestProbe": longestProbe, "pollInterval": pollInterval,
		"databasePoll": databasePoll, "memcachedPoll": memcachedPoll, "positionLease": positionLease, "firstGreeting": firstGreeting,
		"IdleTimeout": pubsub.IdleTimeout, "silence": 3 * time.Second, // not exported: see below
	}
	_, table, _ := strings.Cut(string(page), "\n## Constants\n")
	unit := regexp.MustCompile(`^([0-9.]+)([a-z]+)$`)
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		value, known := want[row[1]]
		if shown := unit.ReplaceAllString(fmt.Sprint(value), "$1 $2"); !known || shown != row[3] {
			t.Errorf("the page says that %s is %s; the code says %s", row[1], row[3], shown)
		}
		delete(want, row[1])
		name := row[1][strings.LastIndex(row[1], ".")+1:]
		if code, err := os.ReadFile(row[2]); err != nil || !regexp.MustCompile(`\b`+name+`\b`).Match(code) {
			t.Errorf("%s is not in %s: %v", name, row[2], err)
		}
	}
	for name := range want {
		t.Errorf("the page does not name %s", name)
	}
	if code, err := os.ReadFile("pubsub/connection.go"); err != nil || !strings.Contains(string(code), "silence = 3 * time.Second") {
		t.Errorf("silence is not 3 s: %v", err)
	}
}
