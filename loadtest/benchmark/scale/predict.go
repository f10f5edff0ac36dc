package scale

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"locklab/internal/benchfile"
	"locklab/internal/marked"
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
	one, more outcome // one master, and a cluster
	alone     []pair  // the same two with the figures of each repetition alone, if there are several
}

// pair is what one master and a cluster carry, in sections per second.
type pair struct{ one, more float64 }

func (p pair) gain() float64 { return p.more / p.one }

func (p prediction) gain() float64 { return p.more.rate / p.one.rate }

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
			runner.ScaleSustained+strconv.Itoa(few), runner.ScaleOne+strconv.Itoa(few), runner.ScaleOne+strconv.Itoa(many), runner.ScaleKeys+strconv.Itoa(busyKeys))
	}
	if saved.Header.Processors == 0 {
		return s, errors.New("the file does not say how many processors the machine has")
	}
	s.steps = [3]step{c.step(c.section), c.step(c.handOver), c.step(c.eachMore)}
	s.checks = c.checks(saved.Runs, saved.Header.Processors)
	alone := calibratedAlone(saved.Runs)
	for _, trip := range roundTrips {
		for _, k := range farKeys {
			p := prediction{roundTrip: trip, keys: k}
			far := func(of calibrated, masters int) outcome {
				return of.far(runner.KeyProcesses, k, masters, trip).run(counts)
			}
			p.one, p.more = far(c, 1), far(c, cluster)
			for _, of := range alone {
				p.alone = append(p.alone, pair{far(of, 1).rate, far(of, cluster).rate})
			}
			s.far = append(s.far, p)
		}
	}
	return s, nil
}

// calibratedAlone is the model with the figures of each repetition alone, if there are several: how far the predictions can be trusted.
func calibratedAlone(all benchfile.Runs) (alone []calibrated) {
	split := repetitions(all)
	if len(split) < 2 {
		return nil
	}
	for _, runs := range split {
		if c, ok := calibrate(runs); ok {
			alone = append(alone, c)
		}
	}
	return alone
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
		rows = append(rows, []string{
			benchfile.Digits(p.roundTrip / 1e3), strconv.Itoa(p.keys),
			round(p.one.rate) + inBrackets(p.span(func(of pair) float64 { return of.one }, round)),
			benchfile.Digits(p.one.perTurn), percent(p.one.redis), benchfile.Digits(p.one.clients), round(p.more.rate),
			benchfile.Digits(p.gain()) + inBrackets(p.span(pair.gain, benchfile.Digits)),
		})
	}
	return marked.Table(0, []string{
		"round trip, ms", "keys", "sections per second", "sections in a turn", "Redis busy", "processors of the clients, at least",
		"with 3 masters", "times one master",
	}, rows)
}

// span is the range of a figure over the repetitions; "": there is none, or it is one number.
func (p prediction) span(of func(pair) float64, text func(float64) string) string {
	var values []float64
	for _, a := range p.alone {
		values = append(values, of(a))
	}
	if len(values) < 2 {
		return ""
	}
	least, most := text(slices.Min(values)), text(slices.Max(values))
	if least == most {
		return ""
	}
	return least + " to " + most
}

func inBrackets(span string) string {
	if span == "" {
		return ""
	}
	return " (" + span + ")"
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", part*100) }

// round is a rate with three significant digits.
func round(rate float64) string {
	for unit := 10.0; rate >= unit*100; unit *= 10 {
		rate = math.Round(rate/unit) * unit
	}
	return benchfile.Digits(rate)
}
