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
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		value, known := want[row[1]]
		if shown := unit.ReplaceAllString(strings.TrimSuffix(fmt.Sprint(value), "0m0s"), "$1 $2"); !known || shown != row[3] {
			t.Errorf("the page says that %s is %s; the code says %s", row[1], row[3], shown)
		}
		_, name, _ := strings.Cut("."+row[1], ".")
		source, err := os.ReadFile(row[2])
		if err != nil || !regexp.MustCompile(`(?m)^\t?(const )?`+name[strings.LastIndex(name, ".")+1:]+`\s`).Match(source) {
			t.Errorf("%s does not define %s (%v)", row[2], row[1], err)
		}
		delete(want, row[1])
	}
	for name := range want {
		t.Errorf("the page does not name %s", name)
	}
}

// docs/lock.md follows a page view through files and functions that there are.
func TestThePageFollowsAView(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page, err := os.ReadFile("../docs/lock.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### One page view, call by call\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| \[[^\]]+\]\(\.\./([^)]+)\) \|([^|]*)\|`).FindAllStringSubmatch(section, -1)
	if len(rows) != 12 {
		t.Errorf("the table has %d files, want twelve", len(rows))
	}
	for _, row := range rows {
		source, err := os.ReadFile("../" + row[1])
		if err != nil {
			t.Error(err)
		}
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			if !regexp.MustCompile(`(?m)^func (\([^)]+\) )?` + name[1] + `\(`).Match(source) {
				t.Errorf("%s has no function %s", row[1], name[1])
			}
		}
	}
}
