package scale

import (
	"fmt"
	"math"
	"strconv"

	"locklab/internal/benchfile"
	"locklab/internal/marked"
	"locklab/loadtest/benchmark/runner"
)

// Turns says why three masters can carry more than three times as much: turns are longer with them. It is empty where they do not.
func (s simulated) Turns() string {
	for _, p := range s.far {
		if gain := p.more.rate / p.one.rate; gain > cluster*1.05 && p.more.perTurn > p.one.perTurn {
			return fmt.Sprintf("With %d keys three masters carry %.1f times as much, because turns have %.0f sections and not %.0f. A turn ends "+
				"after %d ms, also where many keys wait for Redis. So short turns cost Redis more hand-overs.",
				p.keys, gain, p.more.perTurn, p.one.perTurn, turnTime.Milliseconds())
		}
	}
	return ""
}

// counts of sections in a simulation: about 1 % between two seeds.
const counts = 50_000

// cluster is the number of masters that is compared with one.
const cluster = 3

// The predictions: round trips in µs, and keys.
var (
	roundTrips = []float64{200, 1000}
	farKeys    = []int{1, 10, 100, 1000}
)

// check is a measured row that the model has not seen.
type check struct {
	text                string
	predicted, measured float64 // sections per second
	perTurn, turned     float64 // sections in a turn: predicted, measured
}

// off is the difference in percent of what was measured.
func (c check) off() float64 { return (c.predicted/c.measured - 1) * 100 }

// prediction is what the model says of machines that were not measured.
type prediction struct {
	roundTrip float64
	keys      int
	one, more outcome // one master, and a cluster
}

// simulated is what the page says of the model.
type simulated struct {
	Calibrated bool    // false: a row is missing, and nothing was simulated
	steps      [3]step // a section, a hand-over between two processes, and what each further process adds to that
	checks     []check
	far        []prediction
}

// simulate calibrates, checks and predicts.
func simulate(saved benchfile.Saved) (s simulated) {
	c, ok := calibrate(saved.Runs)
	processors := 0
	if _, err := fmt.Sscanf(saved.Header.Machine, "%d", &processors); err != nil || !ok {
		return s
	}
	s.Calibrated, s.steps = true, [3]step{c.step(c.section), c.step(c.handOver), c.step(c.eachMore)}
	add := func(text, workload string, w world) {
		measured, _, ok := spentBy(saved.Runs, workload)
		turned, _ := saved.Runs.Median(workload, "ours", sectionsPerTurn)
		if ok {
			got := w.run(counts)
			s.checks = append(s.checks, check{text, got.rate, 1e6 / measured.clock, got.perTurn, turned})
		}
	}
	for _, n := range runner.ScaleProcesses {
		if number := strconv.Itoa(n); n != few {
			add(number+" instances", runner.ScaleSustained+number, c.world(n, 1, processors, turnLeases))
		}
	}
	for _, n := range runner.ScaleProcesses {
		if number := strconv.Itoa(n); n != few && n != many {
			add(number+" instances, one waiter each", runner.ScaleOne+number, c.world(n, 1, processors, 1))
		}
	}
	for _, k := range runner.ScaleKeyCounts {
		number := strconv.Itoa(k)
		add("keys: "+number, runner.ScaleKeys+number, c.world(runner.KeyProcesses, k, processors, turnLeases))
	}
	for _, trip := range roundTrips {
		for _, k := range farKeys {
			far := func(masters int) outcome { return c.far(runner.KeyProcesses, k, masters, trip).run(counts) }
			s.far = append(s.far, prediction{trip, k, far(1), far(cluster)})
		}
	}
	return s
}

// Largest is the largest difference of a check, in words.
func (s simulated) Largest() string {
	if len(s.checks) == 0 {
		return "Nothing was checked: rows are missing."
	}
	worst, sum := s.checks[0], 0.0
	for _, c := range s.checks {
		if sum += math.Abs(c.off()); math.Abs(c.off()) > math.Abs(worst.off()) {
			worst = c
		}
	}
	side := "more"
	if worst.off() < 0 {
		side = "less"
	}
	use := "Use its figures as estimates."
	if math.Abs(worst.off()) > 25 {
		use = "So use its figures as an order of magnitude, and its ratios as estimates."
	}
	return fmt.Sprintf("The largest difference is %.0f %%: for %q the model says %s than was measured. The mean difference is %.0f %%. %s",
		math.Abs(worst.off()), worst.text, side, sum/float64(len(s.checks)), use)
}

func stepTable(steps [3]step) string {
	var rows [][]string
	for i, text := range []string{"section", "hand-over between 2 instances", "each further instance adds"} {
		s := steps[i]
		rows = append(rows, []string{text, benchfile.Digits(s.Redis), benchfile.Digits(s.Client), benchfile.Digits(s.Delay)})
	}
	return marked.Table(1, []string{"step", "µs of Redis", "µs of a client's processor", "µs delay"}, rows)
}

func checkTable(checks []check) string {
	var rows [][]string
	for _, c := range checks {
		rows = append(rows, []string{
			c.text, round(c.predicted), round(c.measured), fmt.Sprintf("%+.0f %%", math.Round(c.off())+0),
			benchfile.Digits(c.perTurn), benchfile.Digits(c.turned),
		})
	}
	return marked.Table(1, []string{
		"v3", "sections per second, model", "measured", "difference", "sections in a turn, model", "measured",
	}, rows)
}

func farTable(far []prediction) string {
	var rows [][]string
	for _, p := range far {
		rows = append(rows, []string{
			benchfile.Digits(p.roundTrip / 1e3), strconv.Itoa(p.keys), round(p.one.rate), benchfile.Digits(p.one.perTurn), percent(p.one.redis),
			benchfile.Digits(p.one.clients), round(p.more.rate), benchfile.Digits(p.more.rate / p.one.rate),
		})
	}
	return marked.Table(0, []string{
		"round trip, ms", "keys", "sections per second", "sections in a turn", "Redis busy", "processors of the clients, at least",
		"with 3 masters", "times one master",
	}, rows)
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", part*100) }

// round is a rate with three significant digits.
func round(rate float64) string {
	for unit := 10.0; rate >= unit*100; unit *= 10 {
		rate = math.Round(rate/unit) * unit
	}
	return benchfile.Digits(rate)
}
