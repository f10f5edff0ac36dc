package scale

import (
	"strings"
	"testing"

	"locklab/internal/benchfile"
	"locklab/loadtest/benchmark/runner"
)

// rates makes one run for each rate. Redis takes 100 µs of a section.
func rates(workload, lock string, rates ...float64) (row benchfile.Runs) {
	for rep, rate := range rates {
		row = append(row, benchfile.Run{
			Workload: workload, Lock: lock, Rep: rep, Seconds: 1, Rate: rate, ServerCPU: 100, Done: 1000, Turns: 10,
		})
	}
	return row
}

func joined(rows ...benchfile.Runs) (all benchfile.Runs) {
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}

// The first conclusion follows the figures, also where they are not what is expected.
func TestTheConclusionOfInstances(t *testing.T) {
	two, last := runner.ScaleSustained+"2", runner.ScaleSustained+"32"
	ones := joined(rates(runner.ScaleOne+"2", "ours", 1000, 1100), rates(runner.ScaleOne+"32", "ours", 200, 300))
	short := rates(last, "ours", 5000, 5100)
	for i := range short {
		short[i].Turns = 500
	}
	for name, c := range map[string]struct {
		all  benchfile.Runs
		want string
		not  string
	}{
		"the same": {
			joined(ones, rates(two, "ours", 5000, 5100), rates(last, "ours", 4900, 5200)),
			"neither faster nor slower.** v3 does 5050 sections per second with 2 instances, and 5050 with 32. " +
				"The lock changes its instance only after some 100 sections.", "v4",
		},
		"runs overlap": {joined(ones, rates(two, "ours", 4000, 9000), rates(last, "ours", 3000, 5000)), "neither faster nor slower.**", ""},
		"slower":       {joined(ones, rates(two, "ours", 5000), rates(last, "ours", 2000)), "make one key slower.**", ""},
		"faster":       {joined(ones, rates(two, "ours", 5000), rates(last, "ours", 8000)), "make one key faster.**", ""},
		"short turns":  {joined(ones, rates(two, "ours", 5000), short), "neither", "only after"},
		"each one":     {joined(ones, rates(two, "ours", 5000), short), "The rate falls there: 1050 with 2 and 250 with 32.", ""},
		"v4 falls": {
			joined(ones, rates(two, "ours", 5000), short, rates(two, "redlock", 5000), rates(last, "redlock", 900)),
			"rate of v4 falls: 5000 with 2 and 900 with 32.", "",
		},
		"a burst falls": {
			joined(ones, rates(two, "ours", 5000), short, rates(runner.ScaleBurst+"2", "ours", 5000), rates(runner.ScaleBurst+"32", "ours", 900)),
			"In a burst of 666 its rate falls: 5000 with 2 and 900 with 32. There each of 32 instances has only some 20 waiters", "",
		},
		"no burst":      {joined(ones, rates(two, "ours", 5000), short), "", "burst"},
		"v7 is missing": {joined(ones, rates(two, "ours", 5000), short), "", "v7"},
		"nothing":       {rates(two, "ours", 5000), unmeasured, "faster"},
	} {
		got := ofInstances(c.all)
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A Redis whose section takes 100 µs carries 7000 of them with 70 % of a processor.
func TestTheConclusionOfRedis(t *testing.T) {
	others := joined(rates(loose, "ours", 1), rates(handedOver, "ours", 1))
	for rate, want := range map[float64]string{
		3000: "16 keys reached 3000, and Redis used 30 % of a processor: the clients",
		8000: "16 keys reached 8000, and Redis used 80 % of a processor: it was near its bound",
	} {
		got := ofRedis(joined(others, rates(contended, "ours", rate)))
		if !strings.Contains(got, want) || !strings.Contains(got, "carries about 7000 sections of v3 per second") {
			t.Error(got)
		}
	}
	if got := ofRedis(others); got != unmeasured {
		t.Error(got)
	}
}

// The number of keys is the first with which Redis is busy for more than 70 %.
func TestTheConclusionOfMasters(t *testing.T) {
	far := func(busy ...float64) (all []prediction) {
		for i, part := range busy {
			all = append(all, prediction{200, farKeys[i], outcome{rate: 1000, redis: part}, outcome{rate: 1000 + 2000*part}})
		}
		return all
	}
	got := ofMasters(far(0, 0.3, 0.8, 1))
	for _, want := range []string{
		"3.0 times as much with 1000 contended keys in the model, and 1.0 times with one", "In the model it is with 100 keys, and not with 10.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in: %s", want, got)
		}
	}
	if got := ofMasters(far(0.9, 1, 1, 1)); !strings.HasSuffix(got, "In the model it is with 1 keys.") {
		t.Error(got)
	}
	if got := ofMasters(far(0, 0.1, 0.2, 0.3)); !strings.Contains(got, "In the model no number of keys does that") {
		t.Error(got)
	}
}

// The largest difference is that of either sign, and a large one changes what the page advises.
func TestTheLargestDifference(t *testing.T) {
	s := simulated{checks: []check{{text: "a", predicted: 110, measured: 100}, {text: "b", predicted: 80, measured: 100}}}
	if got := s.Largest(); !strings.Contains(got, `20 %: for "b" the model says less`) || !strings.Contains(got, "mean difference is 15 %") ||
		!strings.Contains(got, "as estimates.") || strings.Contains(got, "magnitude") {
		t.Error(got)
	}
	s.checks = append(s.checks, check{text: "c", predicted: 200, measured: 100})
	if got := s.Largest(); !strings.Contains(got, `100 %: for "c" the model says more`) || !strings.Contains(got, "order of magnitude") {
		t.Error(got)
	}
}

// Runs that follow the model give the figures that they were made with.
func TestCalibrate(t *testing.T) {
	want := calibrated{
		section: spent{200, 50, 100}, handOver: spent{400, 100, 300}, eachMore: spent{50, 10, 20}, busyRedis: 0.4, busyClient: 0.5,
	}
	row := func(workload string, s spent, perTurn int) benchfile.Run {
		return benchfile.Run{
			Workload: workload, Lock: "ours", Seconds: 1, Rate: 1e6 / s.clock, ServerCPU: s.redis, ClientCPU: s.client,
			Done: 100 * perTurn, Turns: 100,
		}
	}
	busy := want.section.plus(want.between(runner.KeyProcesses), 1.0/80)
	all := benchfile.Runs{
		row(runner.ScaleSustained+"2", want.section.plus(want.between(2), 1.0/100), 100),
		row(runner.ScaleOne+"2", want.section.plus(want.between(2), 1), 1),
		row(runner.ScaleOne+"32", want.section.plus(want.between(32), 1), 1),
		row(contended, spent{40, busy.redis * 0.4, busy.client * 0.5}, 80),
	}
	got, ok := calibrate(all)
	near := func(a, b float64) bool { return a > b*0.999 && a < b*1.001 }
	if !ok || !near(got.busyRedis, 0.4) || !near(got.busyClient, 0.5) {
		t.Errorf("%v, %+v", ok, got)
	}
	for _, pair := range [][2]spent{{got.section, want.section}, {got.handOver, want.handOver}, {got.eachMore, want.eachMore}} {
		if a, b := pair[0], pair[1]; !near(a.clock, b.clock) || !near(a.redis, b.redis) || !near(a.client, b.client) {
			t.Errorf("%+v, want %+v", a, b)
		}
	}
	for i := range all {
		if _, ok := calibrate(append(append(benchfile.Runs{}, all[:i]...), all[i+1:]...)); ok {
			t.Errorf("calibrated without %s", all[i].Workload)
		}
	}
}

// A master has its keys only. Far clients wait for the round trips.
func TestFar(t *testing.T) {
	c := calibrated{section: spent{200, 50, 100}, handOver: spent{400, 100, 300}, busyRedis: 0.4, busyClient: 0.5}
	near, far := c.world(2, 1, 2, turnLeases), c.far(2, 1, 3, 1000)
	if far.handOver.Delay-near.handOver.Delay != 2000 {
		t.Errorf("a hand-over: %+v, %+v", near.handOver, far.handOver)
	}
	if near.section != (step{50, 20, 130}) || far.section != (step{50, 20, 2130}) || far.masters != 3 || far.processors != 0 {
		t.Errorf("%+v, %+v", near, far)
	}
}
