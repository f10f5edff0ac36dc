package scale

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/runner"
)

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
	outcomes  []pair // one for each repetition whose figures calibrate the model
}

// pair is the outcome of one master, and of a cluster.
type pair struct{ one, more outcome }

func (p pair) gain() float64 { return p.more.rate / p.one.rate }

// simulated is what the model says.
type simulated struct {
	steps  [3]step // a section, a hand-over between two processes, and what each further process adds to that
	checks []check
	far    []prediction
}

// simulate calibrates, checks and predicts.
func simulate(saved benchfile.Saved) (s simulated, err error) {
	c, ok := calibrate(saved.Runs)
	if !ok {
		return s, fmt.Errorf("the model needs the rows %s, %s, %s and %s of v3: measure them with go run . run --plan scale",
			runner.ScaleSustained+strconv.Itoa(few), runner.ScaleOne+strconv.Itoa(few), runner.ScaleOne+strconv.Itoa(many),
			runner.ScaleKeys+strconv.Itoa(busyKeys))
	}
	if saved.Header.Processors == 0 {
		return s, errors.New("the file does not say how many processors the machine has")
	}
	s.steps = [3]step{c.step(c.section), c.step(c.handOver), c.step(c.eachMore)}
	s.checks = c.checks(saved.Runs, saved.Header.Processors)
	calibrations := calibrateEach(saved.Runs)
	if len(calibrations) == 0 { // no repetition has all four rows
		calibrations = []calibrated{c}
	}
	for _, trip := range roundTrips {
		for _, k := range farKeys {
			p := prediction{roundTrip: trip, keys: k}
			for _, c := range calibrations {
				far := func(masters int) outcome { return c.far(runner.KeyProcesses, k, masters, trip).run(counts) }
				p.outcomes = append(p.outcomes, pair{far(1), far(cluster)})
			}
			s.far = append(s.far, p)
		}
	}
	return s, nil
}

// calibrateEach calibrates the model with each repetition alone. How much the predictions differ says how far to trust them.
func calibrateEach(all benchfile.Runs) (each []calibrated) {
	for _, runs := range repetitions(all) {
		if c, ok := calibrate(runs); ok {
			each = append(each, c)
		}
	}
	return each
}

// checks compares the model with measured rows, without those whose rates it was made with. Of the row of busyKeys it has the processor
// time and the length of a turn, so that row is no check.
func (c calibrated) checks(all benchfile.Runs, processors int) (checks []check) {
	add := func(text, workload string, w world) {
		measured, turned, ok := spentBy(all, workload)
		if ok {
			got := w.run(counts)
			checks = append(checks, check{text, got.rate, 1e6 / measured.clock, got.perTurn, turned})
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
		if number := strconv.Itoa(k); k != busyKeys {
			add("keys: "+number, runner.ScaleKeys+number, c.world(runner.KeyProcesses, k, processors, turnLeases))
		}
	}
	return checks
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
		one := func(of func(outcome) float64) func(pair) float64 { return func(p pair) float64 { return of(p.one) } }
		rate := one(func(o outcome) float64 { return o.rate })
		rows = append(rows, []string{
			benchfile.Digits(p.roundTrip / 1e3), strconv.Itoa(p.keys), p.withRange(rate, round),
			benchfile.Digits(p.median(one(func(o outcome) float64 { return o.perTurn }))),
			percent(p.median(one(func(o outcome) float64 { return o.redis }))),
			benchfile.Digits(p.median(one(func(o outcome) float64 { return o.clients }))),
			round(p.median(func(of pair) float64 { return of.more.rate })), p.withRange(pair.gain, benchfile.Digits),
		})
	}
	return marked.Table(0, []string{
		"round trip, ms", "keys", "sections per second", "sections in a turn", "Redis busy", "processors of the clients, at least",
		"with 3 masters", "times one master",
	}, rows)
}

func (p prediction) figures(of func(pair) float64) (values []float64) {
	for _, o := range p.outcomes {
		values = append(values, of(o))
	}
	return values
}

func (p prediction) median(of func(pair) float64) float64 { return benchfile.Median(p.figures(of)) }

// withRange is the median of a figure over the repetitions, with the smallest and the largest in brackets where they differ. The median
// is taken of the same values as the range, so it lies inside.
func (p prediction) withRange(of func(pair) float64, text func(float64) string) string {
	values := p.figures(of)
	least, most := text(slices.Min(values)), text(slices.Max(values))
	if least == most {
		return least
	}
	return fmt.Sprintf("%s (%s to %s)", text(benchfile.Median(values)), least, most)
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", part*100) }

// round is a rate with three significant digits.
func round(rate float64) string {
	for unit := 10.0; rate >= unit*100; unit *= 10 {
		rate = math.Round(rate/unit) * unit
	}
	return benchfile.Digits(rate)
}
