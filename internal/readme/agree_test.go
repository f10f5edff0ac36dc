package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/internal/testenv"
)

// shown is where a page shows a measurement: the groups of the expression are the values, and every place of it counts.
type shown struct{ page, expression string }

const (
	benchmarkPage  = "docs/benchmark.md"
	comparePage    = "docs/compare.md"
	topologiesPage = "docs/topologies.md"
	librariesPage  = "docs/lock-comparison.md"
	faultsPage     = "docs/faults.md"
)

// measurements are the values that more than one place shows.
var measurements = map[string][]shown{
	"sections per second beside libraries, v3 / without a lock": {
		{benchmarkPage, `sustained 2 × 32, sections per second: ours / limit \| ≥ 0.90 × \| ([\d.]+) ×`},
		{benchmarkPage, row("Sustained, 2 × 32", "ours", `[^|]* \| ([\d.]+) \|`)},
	},
	"sections per second beside other backends, v3 / without a lock": {
		{benchmarkPage, row("Other backends: sustained, 2 × 32", "ours", `[^|]* \| ([\d.]+) \|`)},
		{comparePage, row("Fairness", "v3 Redis", `\d+ \| ([\d.]+) \|`)},
	},
	"uncontended, v4 / v3": {
		{comparePage, row("Speed", "v4 RedLock", `[^|]*\|[^|]*\| ([\d.]+) \|`)},
		{benchmarkPage, row("Other backends: uncontended", "redlock", `[^|]*\| ([\d.]+) \|`)},
	},
	"burst of 666, v3 / a queue in one process": {
		{benchmarkPage, `burst of 666, time: ours / local \| ≤ 1.1\d* × \| ([\d.]+) ×`},
		{benchmarkPage, row("Burst of 666", "ours", `[^|]*\| ([\d.]+) \|`)},
	},
	"sections of ours and of Redisson beside each other, no hand-off": {
		{benchmarkPage, row("Beside a Redisson JVM", "ours-1", `[^|]*\| ([\d.]+) \| ([\d.]+) \|`)},
		{"docs/lock.md", `nearly even: (\d+)\s+sections per second to (\d+)`},
	},
	"burst over HTTP with v3": {
		{benchmarkPage, row("Over HTTP", "v3", `Redis lock \| [\d.]+ / \*\*([\d.]+)\*\*`)},
		{comparePage, `Over HTTP a burst takes\s+([\d.]+) ms with v3`},
	},
	"burst over HTTP with v4": {
		{benchmarkPage, row("Over HTTP", "v4", `RedLock \| [\d.]+ / \*\*([\d.]+)\*\*`)},
		{comparePage, `and ([\d.]+) ms with v4\. v3 is slower`},
	},
	"no grant after the death of a master of Sentinel": {
		{"docs/experiments/F02-sentinel.md", `killed: twice in a row \| probe \| ([\d\pZ]+) \(`},
		{comparePage, `\| (\d+) ms \(\[F02`},
	},
	"no grant after the death of ZooKeeper's leader": {
		{"docs/experiments/F10-zookeeper-leader.md", `A reaches the others \| probe \| ([\d\pZ]+) \|`},
		{comparePage, `\| (\d+) ms \(\[F10`},
	},
	"no grant after the death of etcd's leader": {
		{"docs/experiments/F09-etcd-leader.md", `A reaches the others \| probe \| ([\d\pZ]+) \|`},
		{comparePage, `\| (\d+) ms \(\[F09`},
	},
	"v3 confirms again over sentinel and cluster": {
		{topologiesPage, `Sentinel and Cluster replace a dead master, and v3 confirmed a view again after ([\d.]+) s and ([\d.]+) s`},
		{topologiesPage, `\| sentinel \| .* ([\d.]+) s \|\n\| cluster \| .* ([\d.]+) s \|`},
	},
	"confirmed views that master-slave lost": {
		{topologiesPage, `Master-slave lost all (\d+) confirmed views`},
		{topologiesPage, `\| master-slave \| redis-1 \| (\d+) × 200`},
		{topologiesPage, `\| master-slave \| redis-1 \|.*\| gone \| (\d+) \|`},
	},
	"seconds after which Sentinel declares a master dead in containers": {
		{faultsPage, `Three sentinels promote a replica when two of them have had no answer of the master for (\d+) s`},
		{faultsPage, `Both declare a master\s+dead after (\d+) s`},
		{topologiesPage, `Their servers declare a master dead after (\d+) s`},
		{topologiesPage, `Sentinel treats a master as dead\s+after (\d+) s`},
		{"deploy/redis-topologies/sentinel.sh", `down-after-milliseconds lab (\d+)000`},
	},
	"seconds after which the nodes of the cluster declare a master dead in containers": {
		{topologiesPage, `the nodes of the cluster after (\d+) s as well`},
		{"deploy/redis-topologies/cluster.yaml", `--cluster-node-timeout, "(\d+)000"`},
	},
	"GiB of 25 labs, idle and after their bursts": {
		{"docs/trainer.md", `25 labs used ([\d.]+) GiB without load, and (\d+) GiB after their bursts`},
		{"docs/compose.md", `They used one processor and ([\d.]+) GiB without load, and (\d+) GiB after\s+their bursts`},
	},
	"seconds of a burst of one of 25 labs": {
		{"docs/trainer.md", `a burst took (\d+) to (\d+) s alone`},
		{"docs/compose.md", `one after another \| (\d+) to (\d+) s`},
	},
	"v1 and v2 after 666 views": {
		{"README.md", `\| v1 \|[^|]*\| (\d+) to (\d+) \|[^\n]*\n\| v2 \|[^|]*\| (\d+) to (\d+) \|`},
		{workshop, `\| v1 \| (\d+) to (\d+) \|[^\n]*\n\| v2 \| (\d+) to (\d+) \|`},
	},
	"reads without an answer, A3's SETNX": {
		{"docs/experiments/C3-breakdown.md", `\*\*(\d+) reads got no answer`},
		{"docs/experiments/C3-breakdown.md", `which makes (\d+) reads without an answer`},
	},
}

// row finds cells of a row in the section with a headline.
func row(headline, name, cells string) string {
	return `(?s:\n## ` + regexp.QuoteMeta(headline) + `\n.*?\n\| ` + regexp.QuoteMeta(name) + ` \| )` + cells
}

// No two places give different values for one measurement. A place that is gone fails as well: the page or the table above has changed.
func TestPagesAgree(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	for i, library := range []string{"ours", "redisson", "redsync", "redislock", "rueidislock"} {
		measurements["commands of lock and unlock, "+library] = []shown{
			{librariesPage, fmt.Sprintf(`commands that the server executes for them [^|]*(?:\| \d+ ){%d}\| (\d+)`, i)},
			{benchmarkPage, row("Uncontended", library, `[^|]*\|[^|]*\|[^|]*\| ([\d.]+) \|`)},
		}
	}
	for name, places := range measurements {
		var want []float64
		for _, place := range places {
			found := regexp.MustCompile(place.expression).FindAllStringSubmatch(read(t, place.page), -1)
			if len(found) == 0 {
				t.Errorf("%s: %s does not show it: %s", name, place.page, place.expression)
			}
			for _, values := range found {
				got := numbers(t, values[1:])
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %s shows %v, and %s %v", name, place.page, got, places[0].page, want)
				}
			}
		}
	}
}

// The conclusion about a failover in docs/faults.md is that of its four runs.
func TestFaultsConcludeWhatTheyShow(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page := read(t, faultsPage)
	block := regexp.MustCompile(`(?s)<!-- (?:sentinel|cluster)-(?:kill|pause): .*?longest time without a success: (\d+) s.*?<!-- /`)
	var shown []string
	for _, found := range block.FindAllStringSubmatch(page, -1) {
		shown = append(shown, found[1])
	}
	said := regexp.MustCompile(`one client had no success for (\d+) to (\d+) s`).FindStringSubmatch(page)
	if len(shown) != 4 || said == nil {
		t.Fatalf("the page shows %q, and says %q", shown, said)
	}
	want, got := numbers(t, shown), numbers(t, said[1:])
	if got[0] != slices.Min(want) || got[1] != slices.Max(want) {
		t.Errorf("the page says %v, and its runs show %v", got, want)
	}
}

func numbers(t *testing.T, texts []string) (all []float64) {
	for _, text := range texts {
		n, err := strconv.ParseFloat(strings.Join(strings.Fields(text), ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}
