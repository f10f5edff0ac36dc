package topologies

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/loadtool"
	"locklab/versions"
)

func views(version string, final ...int64) Row {
	claim, _ := versions.Find(version)
	row := Row{Kind: loadtool.Pageview, Claim: claim}
	for _, f := range final {
		views := &burst.Views{Users: 4, Final: f, Writes: []burst.Write{
			{Instance: "a", Value: 1}, {Instance: "a", Value: 2}, {Instance: "b", Value: 3}, {Instance: "b", Value: 4},
		}}
		record := loadtool.Record{Pageview: views, Time: loadtool.Times{Max: 1500 * time.Microsecond}}
		verdict := experiments.Judge(burst.Expect(claim), record.Outcome())
		row.Cells = append(row.Cells, Cell{Record: record, Verdict: verdict, Why: verdict.Because(record.Outcome()), Attempts: 1})
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
		want experiments.Verdict
	}{
		{"replaced and back", Outage{Outage: back, Killed: "redis-1", Replaced: true}, experiments.AsExpected},
		{"replaced and not back", Outage{Outage: gone, Killed: "redis-1", Replaced: true}, experiments.Unexpected},
		{"readable, and no view is confirmed", Outage{Outage: readable, Killed: "redis-1", Replaced: true}, experiments.Unexpected},
		{"nobody replaces it", Outage{Outage: gone, Killed: "redis-single"}, experiments.AsExpected},
		{"nobody felt it", Outage{Killed: "redis-1", Replaced: true}, experiments.Inconclusive},
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
	if got := late.Verdict(); got != experiments.Unexpected {
		t.Errorf("ready after two minutes, and the verdict is %s", got)
	}
	for want, row := range map[experiments.Verdict]Row{
		experiments.AsExpected: views("v3", 4, 4), experiments.Unexpected: views("v3", 4, 3), experiments.Inconclusive: views("v1", 1, 4),
	} {
		r := Result{Topologies: []Topology{{Rows: []Row{row}, Outage: outage}}}
		if got := r.Verdict(); got != want {
			t.Errorf("the verdict is %s, want %s", got, want)
		}
	}
	if got := new(Result).Verdict(); got != experiments.Inconclusive {
		t.Errorf("of nothing the verdict is %s", got)
	}
}

func TestPage(t *testing.T) {
	order := Row{Kind: loadtool.Order, Claim: versions.Version{Name: "v4", Title: "RedLock"}, Cells: []Cell{
		{Record: loadtool.Record{Order: &burst.Grabs{Recorded: []uint64{7}}}, Verdict: experiments.AsExpected, Attempts: 1},
		{Record: loadtool.Record{Order: &burst.Grabs{Recorded: []uint64{7}}}, Verdict: experiments.AsExpected, Attempts: 2},
	}}
	torn := Row{Kind: loadtool.Order, Claim: versions.Version{Name: "v1"}, Cells: []Cell{{Why: "a\nb|c", Attempts: 3}}}
	r := Result{
		Users: 4, Drivers: 2, Tools: []string{"ours", "k6"}, Build: "abc", Lease: "30s",
		Topologies: []Topology{{
			Name: "cluster", Ready: 12 * time.Second, Rows: []Row{views("v3", 4, 3), order, torn},
			Outage: Outage{Killed: "cluster-2", Replaced: true, Outage: burst.Outage{
				Views:    burst.Views{Writes: make([]burst.Write, 5), Final: 3},
				Statuses: map[int]int{200: 5, 503: 2, 0: 1}, ReadAfter: 1500 * time.Millisecond,
			}},
		}, {Name: "single", Outage: Outage{Killed: "redis-single"}}},
	}
	var page strings.Builder
	if err := r.Page(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| v3 | Redis lock | 4 | 3 **unexpected**: a violation happened that must not happen | 1 ms | 1 ms | **no** |",
		"| v4 | RedLock | 1 | 1 (2) | 0 ms | 0 ms | yes |",
		"| v1 |  | 0 (3) **inconclusive**: a; b\\|c | 0 ms | yes |",
		"Ready 12 s after the command.",
		"| cluster | cluster-2 | 1 × none, 5 × 200, 2 × 503 | 5 | 3 | 2 | 1.5 s | **not within 60 s** |",
		"| single | redis-single |  | 0 | gone | all | never | never |",
		"Verdict of all of it: **unexpected**",
		"compared\n\n1. v4 kept every page view and gave each order one winner. " +
			"The topologies were cluster and single; the tools were ours and k6. " +
			"v3 did not, over cluster. v1 did not, over cluster.\n2. No version that may lose page views was run.\n" +
			"3. After the master died, v3 confirmed no view over cluster and single while the test waited. " +
			"Confirmed views were lost: cluster 2 of 5.\n\n",
		"(30s)",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page.String())
	}
}

// The conclusions follow from the bursts and the outages.
func TestConclusions(t *testing.T) {
	back := Outage{Replaced: true, Outage: burst.Outage{
		Views: burst.Views{Writes: make([]burst.Write, 5), Final: 5}, ReadAfter: time.Second, BackAfter: 1500 * time.Millisecond,
	}}
	r := Result{Users: 4, Tools: []string{"ours"}, Topologies: []Topology{
		{Name: "sentinel", Rows: []Row{views("v0", 4), views("v1", 1), views("v3", 4)}, Outage: back},
		{Name: "single", Rows: []Row{views("v1", 3), views("v2", 2)}},
	}}
	for i, want := range []string{
		"v0 and v3 kept every page view and gave each order one winner. The topologies were sentinel and single; the tools were ours.",
		"Of 4 page views, v1 ended between 1 and 3 and v2 ended between 2 and 2: one run of them says little.",
		"After the master died, v3 confirmed a view again over sentinel after 1.5 s. " +
			"After the master died, v3 confirmed no view over single while the test waited. No confirmed view was lost this time.",
	} {
		if got := r.Conclusions()[i]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	r.Topologies[0].Rows[2] = views("v3", 3)
	if got, want := r.Conclusions()[0], "were ours. v3 did not, over sentinel."; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A tool that leaves no record is asked again, and ends nothing.
func TestAToolThatStumblesIsAskedAgain(t *testing.T) {
	whole := views("v3", 4).Cells[0].Record
	claim, _ := versions.Find("v3")
	for stumbles, want := range map[int]experiments.Verdict{
		0: experiments.AsExpected, 2: experiments.AsExpected, 3: experiments.Inconclusive,
	} {
		asked := 0
		tool := Tool{Name: "it", Fire: func(context.Context, Shot) (loadtool.Record, error) {
			if asked++; asked <= stumbles {
				return loadtool.Record{}, errors.New("it stumbled")
			}
			return whole, nil
		}}
		cell, err := fire(t.Context(), tool, Shot{}, claim)
		if err != nil || cell.Verdict != want || cell.Attempts != min(stumbles+1, attempts) {
			t.Errorf("%d stumbles: %+v, %v", stumbles, cell, err)
		}
		if want == experiments.Inconclusive && cell.Why != "it stumbled" {
			t.Errorf("it says %q", cell.Why)
		}
	}
}
