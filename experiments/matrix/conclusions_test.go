package matrix

import (
	"slices"
	"strings"
	"testing"

	"locklab/experiments"
)

// The conclusions follow from the cells, whatever these are.
func TestConclusions(t *testing.T) {
	const anomaly, paused, token = "orphaned lock", "pause", "pause with fencing token"
	type cell struct {
		strategy, anomaly string
		violations        int
	}
	for _, c := range []struct {
		name  string
		cells []cell
		want  []string
	}{
		{"nothing was tested", nil, []string{
			"No lock was tested.", "No anomaly was tested without a violation.",
			"No lock was violated by a pause, or none was tested with one.",
		}},
		{"every lock is violated", []cell{{"v3", anomaly, 0}, {"v3", paused, 3}, {"v3", token, 0}, {"v4", paused, 3}, {"v4", token, 3}}, []string{
			"No lock is safe from everything: at least one anomaly violates each lock that was tested (2).",
			"v3 had no violation under 2 of 11 anomalies, more than any other lock. Anomalies that violate v3: pause.",
			"A checked fencing token prevents the damage of a pause with v3. Of the locks that a pause violates, these have no token to check: v4.",
		}},
		{"two are not", []cell{{"v2", anomaly, 0}, {"v3", anomaly, 0}, {"v4", paused, 3}}, []string{
			"At least one anomaly violates 1 of the 3 locks that were tested. No violation was seen with v2 and v3.",
			"v2 and v3 had no violation under 1 of 11 anomalies, more than any other lock.",
			"No fencing token helps v4 after a pause.",
		}},
		{"a name has a comma", []cell{{"SET NX PX, DEL", paused, 3}, {"SET NX PX", paused, 3}, {"v4", paused, 3}}, []string{
			"No lock is safe from everything: at least one anomaly violates each lock that was tested (3).",
			"No anomaly was tested without a violation.",
			"No fencing token helps SET NX PX, DEL; SET NX PX and v4 after a pause.",
		}},
		{"the token was not tested", []cell{{"v3", paused, 3}}, []string{
			"No lock is safe from everything: at least one anomaly violates each lock that was tested (1).",
			"No anomaly was tested without a violation.",
			"Whether a token helps v3 was not tested.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []experiments.Experiment
			var saved []experiments.Saved
			for i, cell := range c.cells {
				expect := experiments.Never
				if cell.violations > 0 {
					expect = experiments.Sometimes
				}
				e, s := run("X0"+string(rune('1'+i)), cell.anomaly, cell.strategy, expect, 3, cell.violations)
				all, saved = append(all, e), append(saved, s)
			}
			m := Of(all, saved)
			if got := m.Conclusions(); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			page := m.Page()
			if at := strings.Index(page, "1. "+c.want[0]+"\n2. "+c.want[1]+"\n3. "+c.want[2]); at < 0 || at > strings.Index(page, "| lock |") {
				t.Errorf("the page does not begin with the conclusions:\n%s", page[:min(len(page), 600)])
			}
		})
	}
}
