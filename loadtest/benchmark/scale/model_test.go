package scale

import (
	"fmt"
	"math"
	"testing"
)

// enough sections for a difference of 1 % from the exact solution.
const enough = 30_000

// exact is mean value analysis of one queue and a delay, with so many jobs: the rate per second. Times are in µs.
func exact(keys int, service, delay float64) float64 {
	length, rate := 0.0, 0.0
	for n := 1; n <= keys; n++ {
		response := service * (1 + length)
		rate = float64(n) / (response + delay)
		length = rate * response
	}
	return rate * 1e6
}

// A network with one queue has an exact solution. The simulation has the same, whatever part of a section passes outside of Redis. Its
// hand-overs take no time here.
func TestTheSimulationIsExact(t *testing.T) {
	for _, keys := range []int{1, 2, 5, 10, 40} {
		for _, masters := range []int{1, 3} {
			w := world{keys: keys * masters, masters: masters, leases: 10, turn: 100_000}
			w.section = step{Client: 60, Redis: 20, Delay: 140}
			got, want := w.run(enough), float64(masters)*exact(keys, 20, 60+140)
			if math.Abs(got.rate/want-1) > 0.015 {
				t.Errorf("%d keys on each of %d masters: %.0f sections per second, exact %.0f", keys, masters, got.rate, want)
			}
			if busy := want * 20e-6 / float64(masters); math.Abs(got.redis-busy) > 0.02 {
				t.Errorf("%d keys on each of %d masters: Redis is busy for %.2f of the time, exact %.2f", keys, masters, got.redis, busy)
			}
		}
	}
}

// No rate exceeds what Redis or the processors can do, or what the keys can do one section after the other. With many keys the narrowest
// bound is reached.
func TestTheBounds(t *testing.T) {
	section, handOver := step{Client: 60, Redis: 20, Delay: 150}, step{Client: 300, Redis: 80, Delay: 200}
	for _, keys := range []int{1, 4, 16, 200} {
		for _, processors := range []int{0, 1, 2, 8} {
			for _, leases := range []int{1, 10, 128} {
				w := world{keys: keys, masters: 1, processors: processors, leases: leases, turn: 100_000, section: section, handOver: handOver}
				got := w.run(enough)
				part := 1 / got.perTurn // of a hand-over in each section
				redis, client := section.Redis+part*handOver.Redis, section.Client+part*handOver.Client
				bound := min(1e6/redis, float64(keys)*1e6/(redis+client+section.Delay+part*handOver.Delay))
				if processors > 0 {
					bound = min(bound, float64(processors)*1e6/(redis+client))
				}
				name := fmt.Sprintf("%d keys, %d processors, %d leases", keys, processors, leases)
				if got.rate > bound*1.02 {
					t.Errorf("%s: %.0f sections per second, and the bound is %.0f", name, got.rate, bound)
				}
				if (keys == 1 || keys == 200) && got.rate < bound*0.97 {
					t.Errorf("%s: %.0f sections per second, although %.0f are possible", name, got.rate, bound)
				}
				if got.redis > 1.001 || got.perTurn > float64(leases) {
					t.Errorf("%s: %+v", name, got)
				}
			}
		}
	}
}

// A turn ends at its bound of leases, or of time where the key is slow.
func TestTurns(t *testing.T) {
	w := world{keys: 1, masters: 1, leases: 128, turn: 100_000, section: step{Delay: 100}}
	if got := w.run(enough); math.Abs(got.perTurn-128) > 0.5 {
		t.Errorf("a fast key: %.1f sections in a turn", got.perTurn)
	}
	w.section.Delay = 2000
	if got := w.run(enough); math.Abs(got.perTurn-50) > 1 {
		t.Errorf("a key with a section of 2 ms: %.1f sections in a turn of 100 ms", got.perTurn)
	}
}

func TestTheSameWorldHasTheSameOutcome(t *testing.T) {
	w := world{keys: 3, masters: 1, processors: 2, leases: 10, turn: 100_000}
	w.section = step{Client: 100, Redis: 50}
	w.handOver = w.section
	if a, b := w.run(enough), w.run(enough); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
}

// A key counts after some turns, also where one turn takes longer than the part of all sections that does not count.
func TestTheWarmUp(t *testing.T) {
	w := world{keys: 1000, masters: 3, leases: 128, turn: 100_000, section: step{Redis: 20, Delay: 500}}
	w.handOver = step{Redis: 200, Delay: 500}
	short, long := w.run(10_000), w.run(400_000)
	if math.Abs(short.perTurn/long.perTurn-1) > 0.1 || math.Abs(short.rate/long.rate-1) > 0.05 {
		t.Errorf("%+v after 10000 sections, %+v after 400000", short, long)
	}
	if got := w.longest(); got != 15 {
		t.Errorf("a turn of 100 ms has at most %d sections of 6.7 ms", got)
	}
}
