package scale

import (
	"math"
	"testing"

	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/runner"
)

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
