package burst

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/versions"
)

// A lost update in v3 is unexpected, and no loss in v1 is inconclusive. A good round after it changes nothing.
func TestResultsAreJudged(t *testing.T) {
	views := func(version string, final int64) Views {
		b := Views{Version: version, Users: 2, Final: final}
		b.Writes = []Write{{Instance: "a", Value: 1}, {Instance: "b", Value: 2}}
		return b
	}
	grabs := func(version string, winners ...uint64) Grabs {
		b := Grabs{Version: version, Drivers: 2, Recorded: winners}
		for driver := uint64(1); driver <= 2; driver++ {
			won := len(winners) >= int(driver)
			b.Answers = append(b.Answers, Grab{Instance: string('a' + rune(driver) - 1), Driver: driver, Won: won})
		}
		return b
	}
	for _, c := range []struct {
		name   string
		expect lab.Expect
		views  Views
		grabs  Grabs
		want   lab.Verdict
		says   string
	}{
		{"v3 holds", lab.Never, views("v3", 2), grabs("v3", 1), lab.AsExpected, ""},
		{
			"v3 loses a view", lab.Never, views("v3", 1), grabs("v3", 1), lab.Unexpected,
			"v3 page views, round 1: final 1 of 2, lost 1",
		},
		{"v3 has two winners", lab.Never, views("v3", 2), grabs("v3", 1, 2), lab.Unexpected, "v3 order, round 1: 2 winners"},
		{"v1 loses", lab.Sometimes, views("v1", 1), grabs("v1", 1, 2), lab.AsExpected, ""},
		{"v1 loses nothing", lab.Sometimes, views("v1", 2), grabs("v1", 1, 2), lab.Inconclusive, "run it again"},
		{"v1 has one winner", lab.Sometimes, views("v1", 1), grabs("v1", 1), lab.Inconclusive, "run it again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			result := &Results{Users: 2, Drivers: 2}
			result.add(1, versions.Version{Name: c.views.Version, LosesUpdates: c.expect == lab.Sometimes}, c.views, c.grabs)
			if result.Verdict != c.want || !strings.Contains(result.Reasons(), c.says) {
				t.Errorf("%s, %q; want %s, %q", result.Verdict, result.Reasons(), c.want, c.says)
			}
			result.add(2, versions.Version{Name: "v3"}, views("v3", 2), grabs("v3", 1))
			if result.Verdict != c.want {
				t.Errorf("after a second round, which is as expected, it is %s", result.Verdict)
			}
		})
	}
}

// A request that was refused as a stale holder's is counted, and is no reason to doubt the rest.
func TestResultsShowStaleHolders(t *testing.T) {
	views := Views{Version: "v3", Users: 2, Final: 1, Writes: []Write{{Instance: "a", Value: 1}}, Stale: []string{"b"}}
	grabs := Grabs{Version: "v3", Drivers: 4, Recorded: []uint64{1}, Stale: []string{"b", "b"}}
	grabs.Answers = []Grab{{Instance: "a", Driver: 1, Won: true}, {Instance: "a", Driver: 2, Winner: 1}}
	result := &Results{Users: 2, Drivers: 4}
	result.add(1, versions.Version{Name: "v3"}, views, grabs)
	if result.Verdict != lab.AsExpected || result.Pageview[0].Stale != 1 || result.Order[0].Stale != 2 {
		t.Errorf("%+v", result)
	}
}

// One run is no measure of what is left to chance: several show how far they lie apart.
func TestResultsShowTheRangeOfTheRounds(t *testing.T) {
	result := &Results{Users: 666, Drivers: 2, Rounds: 3}
	for round, final := range []int64{17, 5, 40} {
		for _, name := range []string{"v1", "v3"} {
			winners := []uint64{1, 2}[:1+round%2]
			if name == "v3" {
				final, winners = 666, winners[:1]
			}
			views := Views{Version: name, Users: 666, Final: final}
			result.add(round+1, versions.Version{Name: name}, views, Grabs{Version: name, Recorded: winners})
		}
	}
	want := []Range{{"v1", 5, 40, 1, 2}, {"v3", 666, 666, 1, 1}}
	if !slices.Equal(result.Ranges, want) {
		t.Errorf("the ranges are %v, want %v", result.Ranges, want)
	}
}
