package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testenv"
)

// cells are those of the generated tables of a page: of each section, row and column that are named, divided by a bar. Each of them is as
// the expression want says, from its first letter to its last. The section before the first headline is called top.
type cells struct{ page, sections, rows, columns, want string }

const (
	matrixPage = "docs/matrix.md"

	unviolated = `\[no violation in \d+ trials?\].*`
	violated   = `\[\*\*violated\*\*\].*`

	theTopologies = "single|master-slave|sentinel|cluster"
	theMaster     = "The master dies during a burst"
)

// sentences are written by hand in a page, outside of its generated parts. Each rests on cells: when one changes, it may be wrong.
var sentences = []struct {
	page, says string
	cells      []cells
}{
	{topologiesPage, "While all servers ran, v0, v3 and v4 kept every page view and gave each order one winner, over each topology", []cells{
		{topologiesPage, theTopologies, "v0|v3|v4", "final, ours|final, k6|final, JMeter", "666"},
		{topologiesPage, theTopologies, "v0|v3|v4", "winners, ours|winners, k6|winners, JMeter", "1"},
	}},
	{topologiesPage, "v1 and v2 lost page views everywhere.", []cells{
		{topologiesPage, theTopologies, "v1|v2", "final, ours|final, k6|final, JMeter", `[1-5]?\d?\d|6[0-5]\d|66[0-5]`},
	}},
	{topologiesPage, "Over single and master-slave no server replaces it, and v3 confirmed nothing more.", []cells{
		{topologiesPage, theMaster, "single|master-slave", "confirms", "never"},
	}},
	{topologiesPage, "Sentinel and Cluster lost none this time", []cells{{topologiesPage, theMaster, "sentinel|cluster", "lost", "0"}}},

	{matrixPage, "No lock is safe from everything: at least one anomaly violates each of the 12 locks.", []cells{
		{matrixPage, "top", "naive SETNX|v3", "eviction", violated},
		{matrixPage, "top", "v3 with WAIT", "lost at failover", violated},
		{matrixPage, "top", "SET NX PX, DEL|SET NX PX|v4|v5|v6|v7|v8", "pause", violated},
		{matrixPage, "top", "v2", "lost update over instances", violated},
		{matrixPage, "top", "Memcached add, delete", "eviction", violated},
	}},
	{matrixPage, "v6 and v7 had no violation under 9 of 12 anomalies, more than any other lock. Only a pause violated them.", []cells{
		{
			matrixPage, "top", "v6|v7", "lost update over instances|orphaned lock|unlock by a non-owner|lease expired during work|" +
				"pause with fencing token|lost at failover|network cut in two|restart with data loss|acquire with lost reply", unviolated,
		},
		{matrixPage, "top", "v6|v7", "clock jump|eviction", "not applicable"},
	}},
	{matrixPage, "A checked fencing token prevents the damage of a pause with v3, v5, v6 and v7.", []cells{
		{matrixPage, "top", "v3|v5|v6|v7", "pause", violated}, {matrixPage, "top", "v3|v5|v6|v7", "pause with fencing token", unviolated},
	}},
	{matrixPage, "Without a token a pause violates every lock with a lease that was tested.", []cells{
		{matrixPage, "top", "SET NX PX, DEL|SET NX PX|v3|v4|v5|v6|v7|v8", "pause", violated},
		{matrixPage, "top", "SET NX PX, DEL|SET NX PX|v4|v8", "pause with fencing token", "not applicable"},
	}},

	{benchmarkPage, "A burst of 666 takes about 1.1 × the time of a queue in one process.", []cells{
		{benchmarkPage, "Burst of 666", "ours", "× local", `1\.0[5-9]|1\.1[0-5]`},
	}},
	{benchmarkPage, "The fastest Redis library, rueidislock, takes more than 2.5 times as long as ours.", []cells{
		{benchmarkPage, "Goals", "burst of 666, time: best library / ours", "measured", `(2\.[5-9]|3\.)\d* ×`},
		{benchmarkPage, "Burst of 666", "rueidislock", "× local", `[34]\.\d+`},
		{benchmarkPage, "Burst of 666", "redsync|redislock|redsync5|redisson|redisson-fair", "× local", `[5-9]\.\d+|\d{2,}.*`},
	}},
	{benchmarkPage, "Without contention, lock and unlock take about 1.3 × the time of redislock.", []cells{
		{benchmarkPage, "Goals", "uncontended, mean time of lock and unlock: ours / redislock", "measured", `1\.(2[5-9]|3[0-5]) ×`},
	}},
	{benchmarkPage, "A hand-over between processes takes about 1.2 × the time of rueidislock.", []cells{
		{benchmarkPage, "Hand-over between processes", "ours", "× rueidislock", `1\.1[5-9]|1\.2[0-5]`},
	}},

	{comparePage, "With the token no violation was seen with v3, v5, v6 and v7. Without it a pause violated v3 to v8", []cells{
		{matrixPage, "top", "v3|v5|v6|v7", "pause with fencing token", unviolated},
		{matrixPage, "top", "v3|v4|v5|v6|v7|v8", "pause", violated},
	}},
	{comparePage, "v5, v6 and v7 rest on **one trial only**", []cells{
		{matrixPage, "top", "v5|v6|v7", "pause with fencing token", `\[no violation in 1 trial\].*`},
	}},
	{comparePage, "No failover granted it twice to holders that look at their lease's context", []cells{
		{matrixPage, "top", "v6|v7", "lost at failover", unviolated},
	}},
	{comparePage, "Both rest on **one trial only**", []cells{
		{matrixPage, "top", "v6|v7", "lost at failover", `\[no violation in 1 trial\].*`},
	}},
	{comparePage, "A failover granted the lock twice with v3", []cells{{matrixPage, "top", "v3", "lost at failover", violated}}},
	{comparePage, "no lock is granted for two seconds or more with v3, and for less than two seconds with v6 and v7.", []cells{
		{comparePage, "Failure", "v3 Redis", "time without a grant after the leader's death", `[2-9]\d{3} ms .*`},
		{comparePage, "Failure", "v6 ZooKeeper|v7 etcd", "time without a grant after the leader's death", `1?\d{3} ms .*`},
	}},
	{comparePage, "No update is lost over instances with v3", []cells{
		{matrixPage, "top", "v3|v4|v5|v8", "lost update over instances", unviolated},
	}},
	{comparePage, "Without contention v3 takes the least time of v3 to v7.", []cells{
		{comparePage, "Speed", "v4 RedLock|v5 database|v6 ZooKeeper|v7 etcd", "lock and unlock, × v3", `[1-9].*`},
	}},
	{comparePage, "A burst of 666 takes at most 1.5 × the time of v3 with each lock of this lab behind its queue.", []cells{
		{comparePage, "Speed", "v4 RedLock|v5 database|v6 ZooKeeper|v7 etcd|v8 Memcached", "burst, × v3", `[01]\.[0-4]\d`},
	}},
	{comparePage, "Without contention it takes 1.5 to 2 × the time of v3, and for a burst a quarter longer.", []cells{
		{comparePage, "Speed", "v5 database", "lock and unlock, × v3", `1\.[5-9]\d*|2\.00`},
		{comparePage, "Speed", "v5 database", "burst, × v3", `1\.[12]\d|1\.3[0-5]`},
	}},
	{comparePage, "v4 and v8 issue no fencing token.", []cells{
		{comparePage, "What each needs and does", "v4 RedLock|v8 Memcached", "fencing token", `\*\*none\*\*`},
		{comparePage, "Failure", "v4 RedLock|v8 Memcached", "anomalies with a violation", `pause, .*`},
	}},
	{comparePage, "the key of a killed holder is locked for one to two seconds. With v8 it is two to three", []cells{
		{comparePage, "Failure", "v3 Redis|v4 RedLock|v5 database|v6 ZooKeeper|v7 etcd", "a dead holder's key stays locked", `1\d{3} ms .*`},
		{comparePage, "Failure", "v8 Memcached", "a dead holder's key stays locked", `2\d{3} ms .*`},
	}},
	{comparePage, "For a failover this **holds**: v3 was violated, and v6 and v7 were not", []cells{
		{matrixPage, "top", "v3", "lost at failover", violated}, {matrixPage, "top", "v6|v7", "lost at failover", unviolated},
	}},
	{comparePage, "the side of the minority is granted locks by v3, and not by v6 and v7", []cells{
		{comparePage, "Failure", "v3 Redis", "the minority side answers", `\*\*grants .*`},
		{comparePage, "Failure", "v6 ZooKeeper|v7 etcd", "the minority side answers", `refuses .*`},
	}},
	{comparePage, "lock and unlock take more than five times as long as v3, and a burst takes longer as well.", []cells{
		{comparePage, "Speed", "v7 etcd", "lock and unlock, × v3", `[5-9]\.\d+|\d\d.*`},
		{comparePage, "Speed", "v7 etcd", "burst, × v3", `1\.[1-9]\d`},
	}},
	{comparePage, "v4 had fewer sections than v3 under sustained load in one group of the benchmark, and more in the other", []cells{
		{comparePage, "Fairness", "v3 Redis", "of a run without a lock", `0\.9[5-9]|1\..*`},
		{comparePage, "Fairness", "v4 RedLock", "of a run without a lock", `0\.[0-8]\d|0\.9[0-4]`},
		{comparePage, "Speed", "v4 RedLock", "lock and unlock, × v3", `[2-9]\.\d+|\d\d.*`},
	}},
}

// A sentence stands in its page, and the cells that it rests on are as it says.
func TestSentencesFollowFromTheirCells(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	for _, s := range sentences {
		if !strings.Contains(strings.Join(strings.Fields(read(t, s.page)), " "), s.says) {
			t.Errorf("%s does not say %q: change the sentence here, too, and look at its cells", s.page, s.says)
		}
		for _, c := range s.cells {
			want := regexp.MustCompile(`^(?:` + c.want + `)$`)
			for _, section := range strings.Split(c.sections, "|") {
				for _, row := range strings.Split(c.rows, "|") {
					for _, column := range strings.Split(c.columns, "|") {
						if got, found := cell(read(t, c.page), section, row, column); !found || !want.MatchString(got) {
							t.Errorf("%s says %q; in %s, %s, %s, %s is %q", s.page, s.says, c.page, section, row, column, got)
						}
					}
				}
			}
		}
	}
}

// Every cell of docs/compare.md has a run behind it. The benchmark lacks one row on purpose: nothing but its own command fills it.
func TestTheComparisonIsWhole(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	for _, section := range []string{"Speed", "Fairness", "Failure"} {
		_, text, _ := strings.Cut(read(t, comparePage), "\n## "+section+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "|") && (strings.Contains(line, "not tested") || strings.Contains(line, "not measured")) {
				t.Errorf("%s: a run is missing, or its measurement has another name: %s", section, line)
			}
		}
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cell finds a cell of a table: the first in the section that has the column and the row.
func cell(page, section, row, column string) (text string, found bool) {
	body := page
	if section != "top" {
		_, body, _ = strings.Cut(page, "\n## "+section+"\n")
	}
	body, _, _ = strings.Cut(body, "\n## ")
	at := -1
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "|--") {
			continue
		}
		line, in := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if !in {
			at = -1
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, " |"), " | ")
		switch {
		case at < 0 && slices.Contains(cells, column):
			at = slices.Index(cells, column)
		case at > 0 && cells[0] == row && at < len(cells):
			return cells[at], true
		}
	}
	return "", false
}
