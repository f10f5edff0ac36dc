package burst

import (
	"strings"
	"testing"

	"locklab/lab"
)

// writes makes a record: "a1 a2 b2" is instance a writing 1 and 2, and b writing 2.
func writes(text string) []Write {
	var all []Write
	for _, w := range strings.Fields(text) {
		var value int64
		for _, digit := range w[1:] {
			value = 10*value + int64(digit-'0')
		}
		all = append(all, Write{Instance: w[:1], Value: value})
	}
	return all
}

func TestPageviewOutcome(t *testing.T) {
	for _, c := range []struct {
		name                 string
		record               Views
		lost, inside, across int
		violations           int
		why                  string // "": the record proves something
	}{
		{name: "every view is there", record: Views{Users: 4, Writes: writes("a1 b2 a3 b4"), Final: 4}},
		{
			name: "one instance wrote a value twice", record: Views{Users: 4, Writes: writes("a1 a1 b2 b3"), Final: 3}, lost: 1, inside: 1,
			violations: 1,
		},
		{name: "both wrote a value", record: Views{Users: 4, Writes: writes("a1 b1 a2 b3"), Final: 3}, lost: 1, across: 1, violations: 1},
		{
			name: "both wrote everything, one the last twice", record: Views{Users: 6, Writes: writes("a1 b1 a2 b2 a2 b3"), Final: 2}, lost: 4,
			inside: 1, across: 2, violations: 1,
		},
		{name: "lost without a value written twice", record: Views{Users: 2, Writes: writes("a1 b2"), Final: 1}, lost: 1, violations: 1},
		{
			name: "a failed request that counted", record: Views{Users: 4, Writes: writes("a1 b2 a4"), Failed: []string{"no answer"}, Final: 4},
			why: "1 requests failed",
		},
		{
			name:   "a failed request that did not count",
			record: Views{Users: 4, Writes: writes("a1 b2 a3"), Failed: []string{"no answer"}, Final: 3}, why: "1 requests failed",
		},
		{
			name: "lost beside a failed request", record: Views{Users: 4, Writes: writes("a1 b2 a3"), Failed: []string{"no answer"}, Final: 2},
			lost: 1, violations: 1, why: "1 requests failed",
		},
		{name: "more than was asked for", record: Views{Users: 4, Writes: writes("a1 b2 a3 b9"), Final: 9}, violations: 1},
		{name: "one instance got more", record: Views{Users: 4, Writes: writes("a1 a2 a3 b4"), Final: 4}, why: "half"},
		{name: "only one instance", record: Views{Users: 2, Writes: writes("a1 a2"), Final: 2}, why: "half"},
		{name: "three instances", record: Views{Users: 3, Writes: writes("a1 b2 c3"), Final: 3}, why: "3 instances"},
		{name: "a stale holder was refused", record: Views{Users: 4, Writes: writes("a1 b2 a3"), Stale: []string{"b"}, Final: 3}},
		{
			name: "a stale holder was refused and counted", record: Views{Users: 4, Writes: writes("a1 b2 a3"), Stale: []string{"b"}, Final: 4},
			violations: 1,
		},
		{
			name: "a stale holder wrote first", record: Views{Users: 4, Writes: writes("a1 b1 a2"), Stale: []string{"b"}, Final: 2}, lost: 1,
			across: 1, violations: 1,
		},
		{
			name: "all refusals are of one instance", record: Views{Users: 4, Writes: writes("a1 b2"), Stale: []string{"b", "b"}, Final: 2},
			why: "half",
		},
		{
			name: "another client may have counted", record: Views{Users: 4, Writes: writes("a1 b2 a3 b4"), Final: 5, Shared: true},
			why: "1 more than the 4 confirmed views",
		},
		{
			name:   "another client may have counted, and a value was written twice",
			record: Views{Users: 4, Writes: writes("a1 b1 a3 b4"), Final: 5, Shared: true}, across: 1, violations: 1, why: "1 more than the 4",
		},
		{
			name:   "another client may have counted, or the failed request",
			record: Views{Users: 4, Writes: writes("a1 b2 a3"), Failed: []string{"no answer"}, Final: 4, Shared: true}, why: "1 requests failed",
		},
		{name: "nobody answered", record: Views{Users: 2, Failed: []string{"x", "y"}}, why: "2 requests failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.record
			if r.Lost() != c.lost || r.Inside() != c.inside || r.Across() != c.across {
				t.Errorf("lost %d, inside %d, across %d; want %d, %d, %d", r.Lost(), r.Inside(), r.Across(), c.lost, c.inside, c.across)
			}
			wantOutcome(t, r.Outcome(), c.violations, c.why)
		})
	}
}

func TestOrderOutcome(t *testing.T) {
	won := func(instance string, driver uint64) Grab { return Grab{Instance: instance, Driver: driver, Won: true} }
	lost := func(instance string) Grab { return Grab{Instance: instance} }
	for _, c := range []struct {
		name       string
		record     Grabs
		violations int
		why        string
	}{
		{"one winner", Grabs{Drivers: 2, Answers: []Grab{won("a", 1), lost("b")}, Recorded: []uint64{1}}, 0, ""},
		{"two winners", Grabs{Drivers: 2, Answers: []Grab{won("a", 1), won("b", 2)}, Recorded: []uint64{1, 2}}, 1, ""},
		{
			"two winners in the data alone",
			Grabs{Drivers: 2, Answers: []Grab{won("a", 1), lost("b")}, Recorded: []uint64{1, 2}},
			1,
			"1 drivers were told",
		},
		{
			"two winners in the answers alone",
			Grabs{Drivers: 2, Answers: []Grab{won("a", 1), won("b", 2)}, Recorded: []uint64{1}},
			0,
			"2 drivers were told",
		},
		{"has no winner", Grabs{Drivers: 2, Answers: []Grab{lost("a"), lost("b")}}, 0, "has no winner"},
		{"one winner and a stale holder", Grabs{Drivers: 2, Answers: []Grab{won("a", 1)}, Stale: []string{"b"}, Recorded: []uint64{1}}, 0, ""},
		{
			"a stale holder is recorded as a winner",
			Grabs{Drivers: 2, Answers: []Grab{won("a", 1)}, Stale: []string{"b"}, Recorded: []uint64{1, 2}},
			1, "1 drivers were told",
		},
		{"only a stale holder", Grabs{Drivers: 2, Answers: []Grab{lost("a")}, Stale: []string{"b"}}, 0, "has no winner"},
		{
			"one winner and a failure",
			Grabs{Drivers: 2, Answers: []Grab{won("a", 1)}, Failed: []string{"no answer"}, Recorded: []uint64{1}},
			0,
			"1 requests failed",
		},
		{"one instance only", Grabs{Drivers: 2, Answers: []Grab{won("a", 1), lost("a")}, Recorded: []uint64{1}}, 0, "half"},
	} {
		t.Run(c.name, func(t *testing.T) { wantOutcome(t, c.record.Outcome(), c.violations, c.why) })
	}
}

func wantOutcome(t *testing.T, o lab.Outcome, violations int, why string) {
	t.Helper()
	if o.Trials != 1 || o.Violations != violations {
		t.Errorf("%d violations in %d trials, want %d in one", o.Violations, o.Trials, violations)
	}
	switch {
	case why == "" && o.Err != nil:
		t.Errorf("it proves nothing: %v", o.Err)
	case why != "" && (o.Err == nil || !strings.Contains(o.Err.Error(), why)):
		t.Errorf("got %v, want an error with %q", o.Err, why)
	}
}
