package topologies

import (
	"fmt"
	"slices"
	"strings"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/loadtool"
)

// Conclusions are what the bursts and the outages say together.
func (r *Result) Conclusions() []string { return []string{r.kept(), r.lost(), r.recovered()} }

// kept says which versions lost nothing, and where one did that must not.
func (r *Result) kept() string {
	var clean, failed []string
	for _, version := range r.versions(experiments.Never) {
		bad := ""
		for _, t := range r.Topologies {
			for _, row := range t.Rows {
				if row.Claim.Name == version && bad == "" && !row.asExpected() {
					bad = fmt.Sprintf("%s did not, over %s.", version, t.Name)
				}
			}
		}
		if bad == "" {
			clean = append(clean, version)
		} else {
			failed = append(failed, bad)
		}
	}
	if len(clean) > 0 {
		all := fmt.Sprintf("%s kept every page view and gave each order one winner. The topologies were %s; the tools were %s.",
			list(clean), r.where(), list(r.Tools))
		return strings.Join(append([]string{all}, failed...), " ")
	}
	return strings.Join(append([]string{"No version was shown to keep every page view and to give each order one winner."}, failed...), " ")
}

// lost says between which counters the versions ended that are there to lose.
func (r *Result) lost() string {
	var parts []string
	for _, version := range r.versions(experiments.Sometimes) {
		var finals []int64
		for _, cell := range r.cells(loadtool.Pageview, version) {
			if cell.Record.Pageview != nil {
				finals = append(finals, cell.Final())
			}
		}
		if len(finals) > 0 {
			parts = append(parts, fmt.Sprintf("%s ended between %d and %d", version, slices.Min(finals), slices.Max(finals)))
		}
	}
	if len(parts) == 0 {
		return "No version that may lose page views was run."
	}
	return fmt.Sprintf("Of %d page views, %s: one run of them says little.", r.Users, list(parts))
}

// recovered says where a lock works again by itself after its master's death, and where confirmed views were lost.
func (r *Result) recovered() string {
	var back, stay, losses []string
	for _, t := range r.Topologies {
		if t.Outage.BackAfter > 0 {
			back = append(back, fmt.Sprintf("%s after %.1f s", t.Name, t.Outage.BackAfter.Seconds()))
		} else {
			stay = append(stay, t.Name)
		}
		if t.Outage.ReadAfter > 0 && t.Outage.Lost() > 0 {
			losses = append(losses, fmt.Sprintf("%s %d of %d", t.Name, t.Outage.Lost(), len(t.Outage.Writes)))
		}
	}
	if len(r.Topologies) == 0 {
		return "No master was killed."
	}
	var sentences []string
	if len(back) > 0 {
		sentences = append(sentences, fmt.Sprintf("After the master died, v3 confirmed a view again over %s.", list(back)))
	}
	if len(stay) > 0 {
		sentences = append(sentences, fmt.Sprintf("After the master died, v3 confirmed no view over %s while the test waited.", list(stay)))
	}
	if len(losses) > 0 {
		sentences = append(sentences, fmt.Sprintf("Confirmed views were lost: %s.", list(losses)))
	} else if len(back) > 0 {
		sentences = append(sentences, "No confirmed view was lost this time.")
	}
	return strings.Join(sentences, " ")
}

// versions are those of which so much is expected, each once.
func (r *Result) versions(expect experiments.Expect) (names []string) {
	for _, t := range r.Topologies {
		for _, row := range t.Rows {
			if burst.Expect(row.Claim) == expect && !slices.Contains(names, row.Claim.Name) {
				names = append(names, row.Claim.Name)
			}
		}
	}
	return names
}

func (r *Result) cells(kind loadtool.Kind, version string) (all []Cell) {
	for _, t := range r.Topologies {
		for _, row := range t.Rows {
			if row.Kind == kind && row.Claim.Name == version {
				all = append(all, row.Cells...)
			}
		}
	}
	return all
}

func (r Row) asExpected() bool {
	return !slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Verdict != experiments.AsExpected })
}

// where names the topologies.
func (r *Result) where() string {
	var names []string
	for _, t := range r.Topologies {
		names = append(names, t.Name)
	}
	return list(names)
}

// list is words as a sentence has them.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
