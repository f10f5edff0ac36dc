package compare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/claims/faults"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/versions"
)

// ran is a saved run of a variant with a lock, and what it measured.
func ran(id, anomaly, strategy string, violations int, of lab.Quantity, value int64) (lab.Experiment, lab.Saved) {
	variants := []lab.Variant{{Name: "control"}, {Name: "variant", Strategy: strategy}}
	e := lab.Experiment{ID: id, Anomaly: anomaly, Variants: variants}
	v := lab.VariantJudgement{Name: "variant", Strategy: strategy, Trials: 3, Violations: violations, Verdict: lab.AsExpected}
	if violations > 0 {
		v.Violation = &history.Violation{What: "both"}
	}
	s := lab.Saved{Experiment: e}
	s.Judgement = lab.Judgement{
		Experiment: id, Verdict: lab.AsExpected,
		Variants: []lab.VariantJudgement{{Name: "control", Control: true, Trials: 3, Verdict: lab.AsExpected}, v},
	}
	if of.Name != "" {
		s.Record.Events = []history.Event{of.Event("lab", value)}
		s.Record.Events[0].Variant = "variant"
	}
	return e, s
}

// none: nothing is measured.
var none lab.Quantity

// cut is a run of two locks: on the side of the minority v3 grants one request and refuses one, and v7 refuses two.
func cut() (lab.Experiment, lab.Saved) {
	e, s := ran("F12-cap", "", "v3", 1, none, 0)
	s.Judgement.Variants = append(s.Judgement.Variants,
		lab.VariantJudgement{Name: "etcd", Strategy: "v7", Trials: 1, Verdict: lab.Unexpected},
		lab.VariantJudgement{Name: "RedLock", Strategy: "v4", Trials: 1})
	for _, m := range []struct {
		variant, timeline string
		of                lab.Quantity
		value             int64
	}{
		{"variant", faults.MinoritySide, faults.GrantedThere, 1},
		{"variant", faults.MinoritySide, faults.RefusedThere, 1},
		{"variant", faults.MajoritySide, faults.GrantedThere, 5},
		{"variant", "both sides", faults.HeldTwice, 1},
		{"etcd", faults.MinoritySide, faults.GrantedThere, 0},
		{"etcd", faults.MinoritySide, faults.RefusedThere, 2},
		{"RedLock", faults.MinoritySide, faults.RefusedThere, 2},
	} {
		event := m.of.Event(m.timeline, m.value)
		event.Variant = m.variant
		s.Record.Events = append(s.Record.Events, event)
	}
	return e, s
}

// made are runs: a failover violates v3 so many times, and others never.
func made(lostByRedis int) (all []lab.Experiment, saved []lab.Saved) {
	add := func(e lab.Experiment, s lab.Saved) { all, saved = append(all, e), append(saved, s) }
	const paused, checked, failover = "pause", "pause with fencing token", "lost at failover"
	add(ran("L11-pause", paused, "v3", 3, none, 0))
	add(ran("L11-pause-v6", paused, "v6", 3, none, 0))
	add(ran("L11-token", checked, "v3", 0, none, 0))
	add(ran("F01-master", failover, "v3", lostByRedis, none, 0))
	add(ran("F02-sentinel", failover, "v3", lostByRedis, lab.NoGrant, 2400))
	e, once := ran("F09-etcd-leader", failover, "v7", 0, lab.NoGrant, 1200)
	once.Judgement.Variants[1].Trials = 1
	add(e, once)
	add(ran("F10-zookeeper-leader", failover, "v6", 0, lab.NoGrant, 900))
	add(cut())
	add(ran("L23-dead-holder", "", "v8", 0, lab.NextGrant, 4_000_000))
	add(ran("M01-memcached", "eviction", "v8", 3, none, 0))
	return all, saved
}

func bench(heavy float64) Bench {
	run := func(workload, lock string, of Run) Run {
		of.Workload, of.Lock, of.Want, of.Done = workload, lock, 666, 666
		if of.Seconds == 0 {
			of.Seconds = 1
		}
		return of
	}
	b := Bench{Date: "today", Stamp: "abc", Machine: "2 × Xeon, linux"}
	for lock, us := range map[string]float64{"ours": 100, "redlock": 400, "redlock-bare": 5000, "v5": 300, "v7": 1000} {
		b.Runs = append(b.Runs, run(alone, lock, Run{WaitP50: us, WaitP99: 3 * us, Commands: 2}),
			run(together, lock, Run{Seconds: us / 1e3}))
	}
	bare := run(together, "v5-bare", Run{Failed: 600, Error: "deadline", Seconds: 8})
	bare.Done = 66
	late := run(librariesBurst, "etcd", Run{Failed: 366, Error: "deadline", Seconds: 6})
	late.Done = 300
	return Bench{b.Date, b.Stamp, b.Machine, append(b.Runs, bare, run(sustained, "ours", Run{Rate: 1000, Jain: 1, JainProcesses: 1}),
		run(sustained, "redlock", Run{Rate: 1000 * heavy}), run(sustained, "limit", Run{Rate: 2000}),
		run(libraries, "ours", Run{Rate: 800}), run(libraries, "redsync", Run{Rate: 200, Jain: 0.5}),
		run(librariesBurst, "ours", Run{Seconds: 0.1}), run(librariesBurst, "redsync", Run{Seconds: 0.8}),
		run(libraries, "limit", Run{Rate: 2000}), run(librariesAlone, "ours", Run{WaitP50: 100}), late)}
}

// A benchmark of some groups leaves the tables of the others as they are.
func TestPartsOfSomeGroups(t *testing.T) {
	whole := bench(1)
	for _, c := range []struct {
		groups, parts []string
	}{
		{nil, []string{"benchmark", "speed", "fairness", "failure", "libraries"}},
		{[]string{alone, together, sustained}, []string{"benchmark", "speed", "fairness", "failure"}},
		{[]string{librariesAlone, librariesBurst, libraries}, []string{"failure", "libraries"}},
		{[]string{alone, together, libraries}, []string{"failure"}},
	} {
		some := whole
		some.Runs = slices.DeleteFunc(slices.Clone(whole.Runs), func(r Run) bool {
			return c.groups != nil && !slices.Contains(c.groups, r.Workload)
		})
		var names []string
		for _, part := range Of(nil, nil, some).Parts() {
			names = append(names, part.Name)
		}
		if !slices.Equal(names, c.parts) {
			t.Errorf("%v: %v, want %v", c.groups, names, c.parts)
		}
	}
}

func parts(c Comparison) string {
	var b strings.Builder
	for _, part := range c.Parts() {
		b.WriteString(part.Name + ":\n" + part.Text)
	}
	return b.String()
}

// Each cell follows from the runs, and changes with them.
func TestParts(t *testing.T) {
	all, saved := made(3)
	void := slices.Clone(saved)
	for i := range void {
		void[i].Judgement.Void = true
	}
	for _, c := range []struct {
		name, page string
		want       []string
	}{
		{"nothing ran", parts(Of(nil, nil, Bench{})), []string{
			"benchmark:\nThere is no file of the benchmark", "| v7 etcd | not tested | not tested | not tested | not tested |\n",
			"| v4 RedLock | not tested | no leader | not tested | not tested |\n",
		}},
		{"all is void", parts(Of(all, void, Bench{})), []string{"| v8 Memcached | not tested | no leader | one server | not tested |\n"}},
		{"all ran", parts(Of(all, saved, bench(0.8))), []string{
			"`make bench` on today, tree `abc`. Machine: 2 × Xeon, linux.\n",
			"| redsync | not measured | 8.00 | 0.25 | 0.50 |\n",
			"| etcd | not measured | **300 of 666 served** in 6.00 s | not measured | not measured |\n",
			"| v5 database | 300 µs | 900 µs | 3.00 | 300 ms | 3.00 | **66 of 666 served** in 8.00 s | not measured (GET_LOCK) | 2.00 |\n",
			"| v4 RedLock | 400 µs | 1200 µs | 4.00 | 400 ms | 4.00 | 5000 ms | – | 2.00 |\n",
			"| v3 Redis | 1000 | 0.50 | 1.00 | 1.00 |\n",
			"| v3 Redis | not tested | 2400 ms ([F02-sentinel](experiments/F02-sentinel.md)) | " +
				"**grants 1 of 2 requests**; two holders in 1 of 1 set-ups ([F12-cap](experiments/F12-cap.md)) | pause, lost at failover (",
			"| v7 etcd | not tested | 1200 ms ([F09-etcd-leader](experiments/F09-etcd-leader.md)) | " +
				"refuses 2 of 2 requests ([F12-cap](experiments/F12-cap.md)) | none of the 1 that were tested |\n",
			"| v4 RedLock | not tested | no leader | not tested | not tested |\n",
			"| v8 Memcached | 4000 ms ([L23-dead-holder](experiments/L23-dead-holder.md)) | no leader | one server | eviction (",
		}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.page, want) {
				t.Errorf("%s: not there: %s\n%s", c.name, want, c.page)
			}
		}
	}
}

// No cell of the tables in docs/compare.md lacks its run or its measurement.
func TestTheComparisonIsWhole(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page, err := os.ReadFile("../../../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"speed", "fairness", "failure"} {
		_, table, _ := strings.Cut(string(page), "<!-- "+name+": ")
		table, _, _ = strings.Cut(table, "<!-- /"+name+" -->")
		if strings.Count(table, "\n| v") != len(facts) || strings.Contains(table, "not tested") || strings.Contains(table, "not measured") {
			t.Errorf("a row or a run is missing: %s", table)
		}
	}
}

// Every version that keeps its lock on a server has its facts, in the order of the versions.
func TestEveryLockHasItsFacts(t *testing.T) {
	known := map[string]Facts{}
	for _, f := range facts {
		known[f.Version] = f
	}
	for _, v := range versions.All() {
		if _, ok := known[v.Name]; v.Server() != "" && !ok {
			t.Errorf("%s keeps its lock on a server, and has no facts", v.Name)
		}
	}
}

func TestReadBench(t *testing.T) {
	if b, err := ReadBench(filepath.Join(t.TempDir(), "none")); err != nil || len(b.Runs) > 0 {
		t.Errorf("no file: %+v, %v", b, err)
	}
	for text, runs := range map[string]int{
		"": -1, "no": -1,
		`{"date":"d"}`: 0,
		"{\"date\":\"d\"}\n{\"lock\":\"v5\"}\n{\"lock\":\"v": 1,
		"{\"date\":\"d\"}\n{\"lock\":5}":                     -1,
	} {
		file := filepath.Join(t.TempDir(), "runs.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := ReadBench(file)
		if (err != nil) != (runs < 0) || err == nil && (len(b.Runs) != runs || b.Date != "d") {
			t.Errorf("%q: %+v, %v", text, b, err)
		}
	}
}
