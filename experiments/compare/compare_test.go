package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/versions"
)

// ran is a saved run of a variant with a lock, and what it measured.
func ran(id, anomaly, strategy string, violations int, unit string, value int64) (experiments.Experiment, experiments.Saved) {
	variants := []experiments.Variant{{Name: "control"}, {Name: "variant", Strategy: strategy}}
	e := experiments.Experiment{ID: id, Anomaly: anomaly, Variants: variants}
	v := experiments.VariantJudgement{Name: "variant", Strategy: strategy, Trials: 3, Violations: violations, Verdict: experiments.AsExpected}
	if violations > 0 {
		v.Violation = &history.Violation{What: "both"}
	}
	s := experiments.Saved{Experiment: e}
	s.Judgement = experiments.Judgement{
		Experiment: id, Verdict: experiments.AsExpected,
		Variants: []experiments.VariantJudgement{{Name: "control", Control: true, Trials: 3, Verdict: experiments.AsExpected}, v},
	}
	if unit != "" {
		s.Record.Events = []history.Event{{Kind: history.Measure, Variant: "variant", Timeline: "lab", Text: unit, Value: value}}
	}
	return e, s
}

// partitioned is the page where a minority has granted so many requests.
func partitioned(v3, v6, v7 float64) string {
	c, granted := Of(nil, nil, Bench{}), map[string]float64{"v3": v3, "v6": v6, "v7": v7}
	for i, l := range c.Locks {
		if n, ok := granted[l.Version]; ok {
			c.Locks[i].Minority = Cell{Value: n, Known: true, By: []string{"F12"}}
		}
	}
	return c.Page()
}

// cut is a run of two locks: on the side of the minority v3 grants one request and refuses one, and v7 refuses two.
func cut() (experiments.Experiment, experiments.Saved) {
	e, s := ran("F12-cap", "", "v3", 1, "", 0)
	s.Judgement.Variants = append(s.Judgement.Variants,
		experiments.VariantJudgement{Name: "etcd", Strategy: "v7", Trials: 1, Verdict: experiments.Unexpected},
		experiments.VariantJudgement{Name: "RedLock", Strategy: "v4", Trials: 1})
	for _, m := range []history.Event{
		{Variant: "variant", Timeline: kit.MinoritySide, Text: kit.GrantedThere, Value: 1},
		{Variant: "variant", Timeline: kit.MinoritySide, Text: kit.RefusedThere, Value: 1},
		{Variant: "variant", Timeline: kit.MajoritySide, Text: kit.GrantedThere, Value: 5},
		{Variant: "variant", Timeline: "both sides", Text: kit.HeldTwice, Value: 1},
		{Variant: "etcd", Timeline: kit.MinoritySide, Text: kit.GrantedThere},
		{Variant: "etcd", Timeline: kit.MinoritySide, Text: kit.RefusedThere, Value: 2},
		{Variant: "RedLock", Timeline: kit.MinoritySide, Text: kit.RefusedThere, Value: 2},
	} {
		m.Kind = history.Measure
		s.Record.Events = append(s.Record.Events, m)
	}
	return e, s
}

// made are runs that decide every sentence: a failover violates v3 so many times, and others never.
func made(lostByRedis int) (all []experiments.Experiment, saved []experiments.Saved) {
	add := func(e experiments.Experiment, s experiments.Saved) { all, saved = append(all, e), append(saved, s) }
	add(ran("L11-pause", paused, "v3", 3, "", 0))
	add(ran("L11-pause-v6", paused, "v6", 3, "", 0))
	add(ran("L11-token", checked, "v3", 0, "", 0))
	add(ran("F01-master", failover, "v3", lostByRedis, "", 0))
	add(ran("F02-sentinel", failover, "v3", lostByRedis, "ms for which nobody was granted a lock", 2400))
	add(ran("F09-etcd-leader", failover, "v7", 0, "ms for which nobody was granted a lock", 1200))
	add(ran("F10-zookeeper-leader", failover, "v6", 0, "ms for which nobody was granted a lock", 900))
	add(cut())
	add(ran("L23-dead-holder", "", "v8", 0, "µs from the kill to the next grant", 4_000_000))
	add(ran("M01-memcached", "eviction", "v8", 3, "", 0))
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
	b := Bench{Date: "today", Stamp: "abc"}
	for lock, us := range map[string]float64{"ours": 100, "redlock": 400, "redlock-bare": 5000, "v5": 300, "v7": 1000} {
		b.Runs = append(b.Runs, run(alone, lock, Run{WaitP50: us, WaitP99: 3 * us, Commands: 2}),
			run(together, lock, Run{Seconds: us / 1e3}))
	}
	bare := run(together, "v5-bare", Run{Failed: 600, Error: "deadline", Seconds: 8})
	bare.Done = 66
	return Bench{b.Date, b.Stamp, append(b.Runs, bare, run(sustained, "ours", Run{Rate: 1000, Jain: 1, JainProcesses: 1}),
		run(sustained, "redlock", Run{Rate: 1000 * heavy}), run(sustained, "limit", Run{Rate: 2000}))}
}

// slowed was measured on a machine that was faster for one repetition: the only one of v5, whose burst takes 2.2 × the time of v3.
func slowed() Bench {
	return Bench{Runs: []Run{
		{Workload: alone, Lock: "ours", Seconds: 1, WaitP50: 1},
		{Workload: together, Lock: "ours", Seconds: 0.05},
		{Workload: together, Lock: "v5", Seconds: 0.11},
		{Workload: together, Lock: "ours", Seconds: 0.1, Rep: 1},
		{Workload: together, Lock: "ours", Seconds: 0.1, Rep: 2},
	}}
}

func page(lostByRedis int, b Bench) string {
	all, saved := made(lostByRedis)
	return Of(all, saved, b).Page()
}

// Each sentence and each cell follows from the runs, and changes with them.
func TestPage(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       []string
	}{
		{"nothing ran", Of(nil, nil, Bench{}).Page(), []string{
			"1. Which lock to take where two holders damage data was not tested.\n", "For a failover this is not decided: v3 or v6 was not tested.",
			"This is not decided: it was not measured.", "There is no file of the benchmark",
			"| v7 etcd | not tested | not tested | not tested | not tested |", "| v4 RedLock | not tested | no leader | not tested | not tested |",
		}},
		{"all ran", page(3, bench(0.8)), []string{
			"With the token no violation was seen with v3 Redis ([L11-token](experiments/L11-token.md)).",
			"a pause violated v3 Redis and v6 ZooKeeper (",
			"no lock was granted for 2400 ms with v3, 900 ms with v6 and 1200 ms with v7 (",
			"take v6 ZooKeeper or v7 etcd. No failover granted it twice ([F10-zookeeper-leader](experiments/F10-zookeeper-leader.md), [F09-",
			"A3 puts ZooKeeper and etcd before Redis where a lock must not be granted twice. For a failover this **holds**",
			"For a partition this is not decided: v3 or v6 was not tested.",
			"It is not enough: a paused holder violated v6, too ([L11-pause-v6]",
			"For speed this **does not hold**: lock and unlock take 10.0 × the time of v3, a burst 10.0 × (",
			"For speed this **does not hold**: under sustained load v4 has 0.80 × the sections",
			"Without contention the fastest is v3 Redis. For a burst it is v3 Redis (",
			"These locks issue no fencing token: v8 Memcached. Take one of them only where two holders waste work and damage nothing " +
				"([M01-memcached](experiments/M01-memcached.md)).",
			"| v5 database | 300 µs | 900 µs | 3.00 | 300 ms | 3.00 | **66 of 666 served** in 8.00 s | not measured (GET_LOCK) | 2.00 |",
			"| v4 RedLock | 400 µs | 1200 µs | 4.00 | 400 ms | 4.00 | 5000 ms | – | 2.00 |",
			"| v3 Redis | 1000 | 0.50 | 1.00 | 1.00 |",
			"| refuses 2 of 2 requests ([F12-cap](experiments/F12-cap.md)) |",
			"| **grants 1 of 2 requests**; two holders in 1 of 1 trials ([F12-cap](experiments/F12-cap.md)) |",
			"| v4 RedLock | not tested | no leader | not tested |",
			"| v8 Memcached | 4000 ms ([L23-dead-holder](experiments/L23-dead-holder.md)) | no leader | one server |",
		}},
		{"the ratio counts", page(3, slowed()), []string{"For a burst it is v3 Redis ("}},
		{"a majority refuses", partitioned(1, 0, 0), []string{
			"For a partition this **holds**: the side of the minority is granted locks by v3, and not by v6 and v7 ([F12]",
		}},
		{"Redis refuses", partitioned(0, 0, 0), []string{"For a partition this **does not hold**"}},
		{"etcd grants", partitioned(1, 0, 1), []string{"For a partition this **does not hold**"}},
		{"Redis lost nothing, and RedLock is faster", page(0, bench(1.5)), []string{
			"For a failover this **does not hold**: v3: ok, 6; v6: ok, 3.", "For speed this **holds**: under sustained load v4 has 1.50 ×",
		}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.page, want) {
				t.Errorf("%s: not on the page: %s\n%s", c.name, want, c.page)
			}
		}
	}
}

// Every version that keeps its lock on a server has its facts, in the order of the versions.
func TestEveryLockHasItsFacts(t *testing.T) {
	known := map[string]Facts{}
	for _, f := range facts {
		known[f.Version] = f
		if f.Backend == "" || f.Servers == "" || f.Tolerates == "" || f.Waits == "" || f.Bench == "" {
			t.Errorf("%s lacks a fact: %+v", f.Version, f)
		}
	}
	for _, v := range versions.All() {
		if _, ok := known[v.Name]; v.Needs != "" && !ok {
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
