package lockstrategy

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"locklab/internal/testenv"
	"locklab/lockstrategy/pubsub"
)

// docs/lock.md names the constants with the values that the code has.
func TestThePageShowsTheConstants(t *testing.T) {
	testenv.Check(t, testenv.Pages)
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
		"DefaultLease": timing.Expiry, "Backends.Request": timing.Request, "DefaultNodeTimeout": DefaultNodeTimeout,
		"shortestLease": shortestLease, "longestLease": longestLease,
		"HandOff.Count": cohort.bounds.Count, "HandOff.Time": cohort.bounds.Time, "debtKept": debtKept, "tokenBits": tokenBits,
		"startDelay": startDelay, "probeAfter": probeAfter, "longestProbe": longestProbe, "pollInterval": pollInterval,
		"longestWait":  longestWait,
		"databasePoll": databasePoll, "memcachedPoll": memcachedPoll, "positionLease": positionLease, "firstGreeting": firstGreeting,
		"IdleTimeout": pubsub.IdleTimeout, "Silence": pubsub.Silence,
	}
	_, table, _ := strings.Cut(string(page), "\n## Constants\n")
	unit := regexp.MustCompile(`^([0-9.]+)([a-z]+)$`)
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `[^`]+` \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		value, known := want[row[1]]
		if shown := unit.ReplaceAllString(strings.TrimSuffix(fmt.Sprint(value), "0m0s"), "$1 $2"); !known || shown != row[2] {
			t.Errorf("the page says that %s is %s; the code says %s", row[1], row[2], shown)
		}
		delete(want, row[1])
	}
	for name := range want {
		t.Errorf("the page does not name %s", name)
	}
}
