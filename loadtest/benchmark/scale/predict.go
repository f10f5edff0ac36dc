package scale

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"locklab/internal/benchfile"
	"locklab/internal/marked"
	"locklab/loadtest/benchmark/runner"
)

// Turns says why three masters can carry more than three times as much: turns are longer with them. It is empty where they do not.
func (s simulated) Turns() string {
	for _, p := range s.far {
		if gain := p.gain(); gain > cluster*1.05 && p.more.perTurn > p.one.perTurn {
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
	alone     []pair  // the same two with the figures of each repetition alone, if there are several
}

// pair is what one master and a cluster carry, in sections per second.
type pair struct{ one, more float64 }

func (p pair) gain() float64 { return p.more / p.one }

// helpful is by which factor a cluster must carry more before the page says that it helps.
const helpful = 1.2

func (p prediction) gain() float64 { return p.more.rate / p.one.rate }

// simulated is what the page says of the model.
type simulated struct {
	Missing string  // what the model needs and does not have; "": it was simulated
	steps   [3]step // a section, a hand-over between two processes, and what each further process adds to that
	checks  []check
	far     []prediction
}

// simulate calibrates, checks and predicts.
func simulate(saved benchfile.Saved) (s simulated) {
	c, ok := calibrate(saved.Runs)
	if !ok {
		s.Missing = "a row that the model needs is missing"
		return s
	}
	if saved.Header.Processors == 0 {
		s.Missing = "the file does not say how many processors the machine has"
		return s
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
	return s
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

// worst is the check with the largest difference; false: nothing was checked.
func (s simulated) worst() (worst check, ok bool) {
	for i, c := range s.checks {
		if i == 0 || math.Abs(c.off()) > math.Abs(worst.off()) {
			worst = c
		}
	}
	return worst, len(s.checks) > 0
}

// turnsOff is the largest difference of a turn's length in percent.
func (s simulated) turnsOff() (largest float64) {
	for _, c := range s.checks {
		if c.turned > 0 {
			largest = max(largest, math.Abs(c.perTurn/c.turned-1)*100)
		}
	}
	return largest
}

// Largest are the largest differences of a check, in words.
func (s simulated) Largest() string {
	worst, ok := s.worst()
	if !ok {
		return "Nothing was checked: rows are missing."
	}
	sum := 0.0
	for _, c := range s.checks {
		sum += math.Abs(c.off())
	}
	side := "more"
	if worst.off() < 0 {
		side = "less"
	}
	use := "Use its figures as estimates."
	if max(math.Abs(worst.off()), s.turnsOff()) > 25 {
		use = "So use its figures as an order of magnitude."
	}
	return fmt.Sprintf("The largest difference is %.0f %%: for %q the model says %s than was measured. The mean difference is %.0f %%. "+
		"The length of a turn differs by up to %.0f %%. %s",
		math.Abs(worst.off()), worst.text, side, sum/float64(len(s.checks)), s.turnsOff(), use)
}

// advice is where several masters help in the model, and where they do not yet.
type advice struct{ Busy, Least, Most, Idle, IdleGain string }

// Advice is of the least busy Redis that several masters help, and of the busiest that they do not. Nil: the model has none of them.
func (s simulated) Advice() *advice {
	var yes, no *prediction
	var gains []float64
	for i := range s.far {
		p := &s.far[i]
		if p.gain() < helpful {
			continue
		}
		if gains = append(gains, p.gain()); yes == nil || p.one.redis < yes.one.redis {
			yes = p
		}
	}
	for i := range s.far {
		if p := &s.far[i]; yes != nil && p.gain() < helpful && p.one.redis < yes.one.redis && (no == nil || p.one.redis > no.one.redis) {
			no = p
		}
	}
	if yes == nil || no == nil {
		return nil
	}
	return &advice{
		Busy: percent(yes.one.redis), Least: benchfile.Digits(slices.Min(gains)), Most: benchfile.Digits(slices.Max(gains)),
		Idle: percent(no.one.redis), IdleGain: benchfile.Digits(no.gain()),
	}
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

// gains is the range of the gain, or without one the gain.
func (p prediction) gains() string {
	return cmp.Or(p.span(pair.gain, benchfile.Digits), benchfile.Digits(p.gain()))
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", part*100) }

// round is a rate with three significant digits.
func round(rate float64) string {
	for unit := 10.0; rate >= unit*100; unit *= 10 {
		rate = math.Round(rate/unit) * unit
	}
	return benchfile.Digits(rate)
}
