package scale

import (
	"math"
	"slices"
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
	steady := joined(rates(two, reference, 10000, 10000), rates(last, reference, 10000, 10000))
	ones := joined(steady, rates(runner.ScaleOne+"2", "ours", 1000, 1100), rates(runner.ScaleOne+"32", "ours", 200, 300))
	for name, c := range map[string]struct {
		all  benchfile.Runs
		want string
	}{
		"slower": {
			joined(ones, rates(two, "ours", 5000, 5100), rates(last, "ours", 2000, 2100)),
			"the rate of one key falls with more instances.** v3 does 5050 sections per second with 2 instances, and 2050 with 32. " +
				"Where each instance has one waiter, the rate falls: 1050 with 2 and 250 with 32.",
		},
		"faster":    {joined(ones, rates(two, "ours", 5000, 5000), rates(last, "ours", 8000, 8000)), "one key rises with"},
		"equal":     {joined(ones, rates(two, "ours", 5000, 5100), rates(last, "ours", 4900, 5200)), "one key stays the same with"},
		"not clear": {joined(ones, rates(two, "ours", 4000, 9000), rates(last, "ours", 3000, 9900)), "one key shows no clear change with"},
		"a row between": {
			joined(
				ones, rates(two, "ours", 2000, 2000), rates(last, "ours", 2000, 2000), rates(runner.ScaleSustained+"8", "ours", 6000, 6000),
				rates(runner.ScaleSustained+"8", reference, 10000, 10000),
			),
			"and 2000 with 32, and is highest with 8: 6000. Where",
		},
		"a hole in the other": {
			joined(ones, rates(two, "ours", 2000, 2000), rates(last, "ours", 2000, 2000), rates(runner.ScaleOne+"8", "ours", 50, 50)),
			"250 with 32, and is lowest with 8: 50.",
		},
		"nothing": {rates(two, "ours", 5000), unmeasured},
	} {
		if got := ofInstances(c.all); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A word about a rate claims no more than the runs show.
func TestTheWordOfATrend(t *testing.T) {
	for name, c := range map[string]struct {
		trend trend
		want  string
	}{
		"all runs, beyond the noise":     {trend{100, 300, []float64{2, 3, 4}, 2}, rises},
		"and down":                       {trend{300, 100, []float64{0.2, 0.3, 0.4}, 2}, falls},
		"within the noise":               {trend{100, 190, []float64{1.7, 1.9, 2}, 2}, unclear},
		"one repetition says otherwise":  {trend{300, 100, []float64{0.2, 0.3, 1.1}, 2}, unclear},
		"one repetition falls":           {trend{100, 300, []float64{0.9, 3, 4}, 2}, unclear},
		"nobody knows the noise":         {trend{100, 300, []float64{2, 3, 4}, 0}, unclear},
		"the medians say otherwise":      {trend{300, 200, []float64{2, 3, 4}, 2}, unclear},
		"equal in all repetitions":       {trend{100, 101, []float64{0.9, 1, 1.1}, 2}, same},
		"equal on average only":          {trend{100, 101, []float64{0.5, 1, 2}, 2}, unclear},
		"equal to a reference that fell": {trend{300, 100, []float64{0.9, 1, 1.1}, 2}, unclear},
		"a quiet machine":                {trend{100, 110, []float64{1.1, 1.1, 1.1}, 1}, same},
	} {
		if got := c.trend.word(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A machine that is slower in one repetition, or in one row, does not change the word: the reference is slower, too.
func TestTrendsAreRelative(t *testing.T) {
	two, last := runner.ScaleSustained+"2", runner.ScaleSustained+"32"
	all := joined(
		rates(two, reference, 1000, 2000, 1000), rates(last, reference, 2000, 4000, 1000),
		rates(two, "ours", 500, 1000, 500), rates(last, "ours", 1000, 2000, 500),
	)
	got := trendOf(all, runner.ScaleSustained, "ours", few, many)
	if !slices.Equal(got.times, []float64{1, 1, 1}) || got.noise != 2 || got.first != 500 || got.last != 1000 {
		t.Errorf("%+v", got)
	}
	ones := joined(all, rates(runner.ScaleOne+"2", "ours", 9), rates(runner.ScaleOne+"32", "ours", 3))
	if one := trendOf(ones, runner.ScaleOne, "ours", few, many); len(one.times) != 1 || one.times[0] != 1.0/3 || one.noise != 2 {
		t.Errorf("without a reference in its rows: %+v", one)
	}
	disturbed := slices.Clone(all)
	disturbed[0].Failed = 1
	if got := trendOf(disturbed, runner.ScaleSustained, "ours", few, many); len(got.times) != 2 {
		t.Errorf("the reference of a repetition was disturbed: %+v", got)
	}
	if w := wanders(all); w != (wander{1000, 4000, 4}) {
		t.Errorf("%+v", w)
	}
}

// A section takes 100 µs of Redis with one key and 50 with 16. So one Redis carries 7000 to 14000 with 70 % of a processor.
func TestTheConclusionOfRedis(t *testing.T) {
	one := rates(runner.ScaleKeys+"1", "ours", 1000)
	for name, c := range map[string]struct {
		rate, clientCPU float64
		processors      int
		want            string
	}{
		"nothing is full": {6000, 100, 2, "6000, and Redis used 30 % of a processor, all programs together 45 % of the 2 processors."},
		"the clients":     {6000, 260, 2, "used 30 % of a processor: the clients, which share the machine, were the bound."},
		"more processors": {6000, 260, 4, "all programs together 46 % of the 4 processors."},
		"Redis":           {16000, 50, 2, "Redis used 80 % of a processor: it was near its bound."},
		"an older file":   {6000, 260, 0, "Redis used 30 % of a processor."},
	} {
		busy := rates(runner.ScaleKeys+"16", "ours", c.rate)
		busy[0].ServerCPU, busy[0].ClientCPU = 50, c.clientCPU
		got := ofRedis(benchfile.Saved{Header: benchfile.Header{Processors: c.processors}, Runs: joined(one, busy)})
		for _, want := range []string{
			"carries 7000 to 14000 sections of v3 per second", "takes 100 µs of Redis with 1 key, and 50.0 with 16 keys. Here 16 keys", "where each key has many waiters", c.want,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	busy, handed := rates(runner.ScaleKeys+"16", "ours", 6000), rates(handedOver, "ours", 378)
	busy[0].ServerCPU = 50
	handed[0].ServerCPU = 700
	want := "with 16 keys. Where each of 32 instances has one waiter the same figure is 1000. Redis has few clients then, so a busy one carries more. Here 16 keys"
	if got := ofRedis(benchfile.Saved{Runs: joined(one, busy, handed)}); !strings.Contains(got, want) {
		t.Error(got)
	}
	if got := ofRedis(benchfile.Saved{Runs: one}); got != unmeasured {
		t.Error(got)
	}
}

// gained makes a prediction for each pair of a busy part and a gain: those of the first round trip, then those of the second.
func gained(pairs ...[2]float64) (s simulated) {
	for i, p := range pairs {
		s.far = append(s.far, prediction{
			roundTrip: roundTrips[i/len(farKeys)], keys: farKeys[i%len(farKeys)],
			one: outcome{rate: 1000, redis: p[0]}, more: outcome{rate: 1000 * p[1]},
		})
	}
	return s
}

// Several masters help from the first number of keys with which they carry clearly more. A Redis that is only busy is no reason.
func TestTheConclusionOfMasters(t *testing.T) {
	idle := [2]float64{0.03, 1}
	s := gained(idle, idle, [2]float64{0.97, 2}, [2]float64{1, 3}, idle, [2]float64{0.99, 1.1}, [2]float64{0.83, 1.19}, [2]float64{1, 4})
	s.far[3].alone = []pair{{1000, 2000}, {1000, 5000}}
	s.checks = []check{{"a", 58, 100, 120, 100}, {"b", 130, 100, 39, 100}}
	want := "three masters carry 2.00 to 5.00 times as much with 1000 keys, and 1.00 times with 1 key.** " +
		"It helps from 100 keys at a round trip of 0.20 ms, and from 1000 keys at a round trip of 1.00 ms. " +
		"The model differs from a measured row by up to 42 % in its rate, and by up to 61 % in the length of its turns. " +
		"No checked row has several masters."
	if got := ofMasters(s); !strings.HasSuffix(got, want) {
		t.Error(got)
	}
	if got := s.Advice(); *got != (advice{Busy: "97 %", Least: "2.00", Most: "4.00", Idle: "83 %", IdleGain: "1.19"}) {
		t.Errorf("%+v", got)
	}
	s.far[3].alone = nil
	if got := ofMasters(s); !strings.Contains(got, "carry 3.00 times as much with 1000 keys") {
		t.Error(got)
	}
	s = gained(idle, idle, idle, idle, idle, idle, idle, [2]float64{0.9, 1.1})
	if got := ofMasters(s); !strings.Contains(got, "No number of keys in the model makes it help.") || s.Advice() != nil {
		t.Error(got)
	}
}

// The largest difference is that of either sign, and a large one changes what the page advises.
func TestTheLargestDifference(t *testing.T) {
	s := simulated{checks: []check{{text: "a", predicted: 110, measured: 100}, {text: "b", predicted: 80, measured: 100}}}
	if got := s.Largest(); !strings.Contains(got, `20 %: for "b" the model says less`) || !strings.Contains(got, "mean difference is 15 %") ||
		!strings.Contains(got, "Use its figures as estimates.") || strings.Contains(got, "magnitude") {
		t.Error(got)
	}
	turn := simulated{checks: []check{{"a", 100, 100, 126, 100}}}
	if got := turn.Largest(); !strings.HasSuffix(got, "The length of a turn differs by up to 26 %. So use its figures as an order of magnitude.") {
		t.Error(got)
	}
	s.checks = append(s.checks, check{text: "c", predicted: 200, measured: 100})
	if got := s.Largest(); !strings.Contains(got, `100 %: for "c" the model says more`) || !strings.HasSuffix(got, "an order of magnitude.") {
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
		row(runner.ScaleKeys+"16", spent{40, busy.redis * 0.4, busy.client * 0.5}, 80),
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

// Far clients wait for two round trips in each section. A master of another key carries nothing of a key. Machines of their own are not
// slower than one that all share.
func TestFar(t *testing.T) {
	c := calibrated{section: spent{200, 50, 100}, handOver: spent{400, 100, 300}, busyRedis: 0.4, busyClient: 0.5}
	far := func(keys, masters int, trip float64) float64 { return c.far(2, keys, masters, trip).run(enough).rate }
	for _, trip := range []float64{100, 1000, 10_000} {
		one := far(1, 1, trip)
		if most := 1e6 / (2 * trip); one > most || one < most*0.4 {
			t.Errorf("%.0f sections of one key per second, and two round trips take %.0f µs", one, 2*trip)
		}
		if three := far(1, cluster, trip); math.Abs(three/one-1) > 0.01 {
			t.Errorf("one key: %.0f with one master, %.0f with three", one, three)
		}
	}
	if one, three := far(90, 1, 0), far(90, cluster, 0); three < one*2.5 {
		t.Errorf("90 keys without a network: %.0f with one master, %.0f with three", one, three)
	}
	if near, apart := c.world(2, 90, 2, turnLeases).run(enough).rate, far(90, 1, 0); apart < near {
		t.Errorf("%.0f on one machine, %.0f on several", near, apart)
	}
}
