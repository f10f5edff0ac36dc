package topologies

import (
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/burst/loadtool"
	"locklab/lab/containers"
	"locklab/versions"
)

// The tables have what each topology, version and tool showed.
func TestPage(t *testing.T) {
	views := containers.Row{Kind: loadtool.Pageview, Claim: versions.Version{Name: "v3", Title: "Redis lock"}, Cells: []containers.Cell{
		{Final: 4, Verdict: lab.AsExpected, Attempts: 1},
		{Final: 3, Verdict: lab.Unexpected, Why: "a view is lost", Attempts: 1},
	}}
	order := containers.Row{Kind: loadtool.Order, Claim: versions.Version{Name: "v3", Title: "Redis lock"}, Cells: []containers.Cell{
		{Final: 1, Verdict: lab.AsExpected, Attempts: 1},
		{Final: 1, Verdict: lab.AsExpected, Attempts: 2},
	}}
	torn := containers.Row{Kind: loadtool.Order, Claim: versions.Version{Name: "v1"}, Cells: []containers.Cell{{Why: "a\nb|c", Attempts: 3}}}
	r := &containers.Result{
		Users: 4, Drivers: 2, Tools: []string{"app", "k6"}, Build: "abc", Lease: "30s",
		Topologies: []containers.Topology{{
			Name: "cluster", Ready: 12 * time.Second, Rows: []containers.Row{views, order, torn},
			Outage: containers.Outage{Killed: "cluster-2", Replaced: true, Outage: burst.Outage{
				Views:    burst.Views{Writes: make([]burst.Write, 5), Final: 3},
				Statuses: map[int]int{200: 5, 503: 2, 0: 1}, ReadAfter: 1500 * time.Millisecond,
			}},
		}, {Name: "single", Outage: containers.Outage{Killed: "redis-single"}}, {
			Name:   "master-slave",
			Outage: containers.Outage{Killed: "redis-1", Outage: burst.Outage{Views: burst.Views{Writes: make([]burst.Write, 4)}}},
		}},
	}
	var page strings.Builder
	if err := Page(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| topology | version | lock | final, app | final, k6 | winners, app | winners, k6 | agree |",
		"| cluster | v3 | Redis lock | 4 | 3 **unexpected**: a view is lost | 1 | 1 (2) | **no** |",
		"| cluster | v1 |  | – | – | 0 (3) **inconclusive**: a; b\\|c | – | yes |",
		"| cluster | 12 s | unexpected |",
		"| cluster | cluster-2 | 1 × none, 5 × 200, 2 × 503 | 5 | 3 | 2 | 1.5 s | **not within 60 s** |",
		"| single | redis-single |  | 0 | gone | 0 | never | never |",
		"| master-slave | redis-1 |  | 4 | gone | 4 | never | never |",
		"| verdict | **unexpected** |",
		"| lease | 30s |",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(page.String())
	}
}
