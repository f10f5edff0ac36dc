package containers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/burst/loadtool"
	"locklab/versions"
)

// recorded is a burst of four page views.
func recorded(final int64) burst.Views {
	return burst.Views{Users: 4, Final: final, Writes: []burst.Write{
		{Instance: "a", Value: 1}, {Instance: "a", Value: 2}, {Instance: "b", Value: 3}, {Instance: "b", Value: 4},
	}}
}

// sender stumbles a few times, and then records four page views, or an order with one winner.
type sender struct {
	burst.App
	name     string
	asked    int
	stumbles int
}

func (s *sender) Name() string { return s.name }

func (s *sender) Views(context.Context, burst.Target, string, int, func(burst.Event)) (burst.Views, error) {
	if s.asked++; s.asked <= s.stumbles {
		return burst.Views{}, errors.New("it stumbled")
	}
	return recorded(4), nil
}

func (s *sender) Grabs(context.Context, burst.Target, string, int) (burst.Grabs, error) {
	answers := []burst.Grab{{Instance: "a", Won: true}, {Instance: "b"}}
	return burst.Grabs{Drivers: 2, Answers: answers, Recorded: []uint64{1}}, nil
}

func views(version string, final ...int64) Row {
	claim, _ := versions.Find(version)
	row := Row{Kind: loadtool.Pageview, Claim: claim}
	for _, f := range final {
		outcome := recorded(f).Outcome()
		verdict := lab.Judge(burst.Expect(claim), outcome)
		row.Cells = append(row.Cells, Cell{Final: f, Verdict: verdict, Why: verdict.Because(outcome), Attempts: 1})
	}
	return row
}

func TestToolsAgree(t *testing.T) {
	for _, c := range []struct {
		name string
		row  Row
		want bool
	}{
		{"nothing may be lost, nothing was", views("v3", 4, 4, 4), true},
		{"one tool lost something", views("v3", 4, 3, 4), false},
		{"everybody lost, each another number", views("v1", 1, 2, 3), true},
		{"one lost nothing where a loss is wanted", views("v1", 1, 4, 3), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.row.Agree(); got != c.want {
				t.Errorf("agree is %v", got)
			}
		})
	}
}

func TestOutageIsJudged(t *testing.T) {
	felt := burst.Views{Failed: []string{"503"}}
	back := burst.Outage{Views: felt, ReadAfter: time.Second, BackAfter: 2 * time.Second}
	gone, readable := burst.Outage{Views: felt}, burst.Outage{Views: felt, ReadAfter: 1}
	for _, c := range []struct {
		name string
		o    Outage
		want lab.Verdict
	}{
		{"replaced and back", Outage{Outage: back, Killed: "redis-1", Replaced: true}, lab.AsExpected},
		{"replaced and not back", Outage{Outage: gone, Killed: "redis-1", Replaced: true}, lab.Unexpected},
		{"readable, and no view is confirmed", Outage{Outage: readable, Killed: "redis-1", Replaced: true}, lab.Unexpected},
		{"nobody replaces it", Outage{Outage: gone, Killed: "redis-single"}, lab.AsExpected},
		{"nobody felt it", Outage{Killed: "redis-1", Replaced: true}, lab.Inconclusive},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.o.Verdict(); got != c.want {
				t.Errorf("the verdict is %s, want %s", got, c.want)
			}
		})
	}
}

func TestVerdictIsTheWorst(t *testing.T) {
	outage := Outage{Killed: "redis-single", Outage: burst.Outage{Views: burst.Views{Failed: []string{"503"}}}}
	late := Result{Topologies: []Topology{{Ready: 2 * time.Minute, Outage: outage}}}
	if got := late.Verdict(); got != lab.Unexpected {
		t.Errorf("ready after two minutes, and the verdict is %s", got)
	}
	for want, row := range map[lab.Verdict]Row{
		lab.AsExpected: views("v3", 4, 4), lab.Unexpected: views("v3", 4, 3), lab.Inconclusive: views("v1", 1, 4),
	} {
		r := Result{Topologies: []Topology{{Rows: []Row{row}, Outage: outage}}}
		if got := r.Verdict(); got != want {
			t.Errorf("the verdict is %s, want %s", got, want)
		}
	}
	if got := new(Result).Verdict(); got != lab.Inconclusive {
		t.Errorf("of nothing the verdict is %s", got)
	}
}

// A tool that leaves no record is asked again, and ends nothing.
func TestAToolThatStumblesIsAskedAgain(t *testing.T) {
	claim, _ := versions.Find("v3")
	for stumbles, want := range map[int]lab.Verdict{
		0: lab.AsExpected, 2: lab.AsExpected, 3: lab.Inconclusive,
	} {
		tool := &sender{stumbles: stumbles}
		cell, err := Config{Users: 4}.repeat(t.Context(), tool, loadtool.Pageview, claim, burst.Target{})
		if err != nil || cell.Verdict != want || cell.Attempts != min(stumbles+1, attempts) {
			t.Errorf("%d stumbles: %+v, %v", stumbles, cell, err)
		}
		if want == lab.Inconclusive && cell.Why != "it stumbled" {
			t.Errorf("it says %q", cell.Why)
		}
	}
}

// The steps are counted before the first: what begins is what was planned.
func TestTheStepsArePlanned(t *testing.T) {
	var told []string
	cfg := Config{
		Topologies: []string{"single"}, Versions: []string{"v0", "v3"}, Users: 4, Drivers: 2,
		Tools: []burst.Sender{&sender{name: "one"}, &sender{name: "other"}},
		Tell:  func(n, all int, what string) { told = append(told, fmt.Sprintf("%d/%d %s", n, all, what)) },
	}
	cfg.begins("single: up")
	rows, err := cfg.rows(t.Context(), burst.Target{}, "single")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		want := map[loadtool.Kind]Cell{loadtool.Pageview: {4, lab.AsExpected, "", 1}, loadtool.Order: {1, lab.AsExpected, "", 1}}
		if row.Cells[0] != want[row.Kind] || row.Cells[1] != want[row.Kind] {
			t.Errorf("%s %s: %+v", row.Claim.Name, row.Kind, row.Cells)
		}
	}
	cfg.begins("single: the master dies")
	if len(told) != 10 || told[1] != "2/10 single: v0 pview, 4 simultaneously by one" || told[9] != "10/10 single: the master dies" {
		t.Errorf("%q", told)
	}
}
