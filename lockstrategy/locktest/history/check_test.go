package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// tell is a history of one key, an event a millisecond: kind, attempt, process, and a fence for grants; "=" before a
// kind puts it at the instant of the one before.
func tell(t *testing.T, lines ...string) []Event {
	t.Helper()
	var events []Event
	at := time.Duration(0)
	for i, line := range lines {
		together := strings.HasPrefix(line, "=")
		if !together {
			at += time.Millisecond
		}
		e := Event{Seq: i + 1, At: at, Key: "k", Note: ""}
		fields := strings.Fields(strings.TrimPrefix(line, "="))
		e.Kind = Kind(fields[0])
		if e.Kind == Called {
			e.Note = Unbounded
		}
		for _, field := range fields[1:] {
			var err error
			switch name, value, _ := strings.Cut(field, ":"); name {
			case "a":
				_, err = fmt.Sscan(value, &e.Attempt)
			case "p":
				_, err = fmt.Sscan(value, &e.Process)
			case "f":
				_, err = fmt.Sscan(value, &e.Fence)
			default:
				e.Note = field
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		events = append(events, e)
	}
	return events
}

func TestJudge(t *testing.T) {
	const lease = 10 * time.Millisecond
	for _, c := range []struct {
		name   string
		events []string
		want   Verdict
		checks []Check
	}{
		{"nothing happened", nil, Inconclusive, nil},
		{"nobody got anything", []string{"trouble", "called a:1", "refused a:1 unavailable"}, Inconclusive, nil},
		{"a hold that never ended", []string{"called a:1", "granted a:1 f:10"}, Inconclusive, nil},
		{"a grant without a call", []string{"granted a:1 f:10", "releasing a:1", "released a:1"}, Inconclusive, nil},
		{"one after the other", []string{
			"called a:1 p:1", "called a:2 p:2", "granted a:1 p:1 f:10", "releasing a:1 p:1", "granted a:2 p:2 f:20",
			"released a:1 p:1", "releasing a:2 p:2", "released a:2 p:2",
		}, Supported, nil},
		{"two at once", []string{
			"called a:1 p:1", "called a:2 p:2", "granted a:1 p:1 f:10", "granted a:2 p:2 f:20", "releasing a:1 p:1", "released a:1 p:1",
			"releasing a:2 p:2", "released a:2 p:2",
		}, Refuted, []Check{Exclusion}},
		{"trouble in the network excuses nothing", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "trouble p:1 cut", "called a:2 p:2", "granted a:2 p:2 f:20",
			"releasing a:1 p:1", "released a:1 p:1", "releasing a:2 p:2", "released a:2 p:2",
		}, Refuted, []Check{Exclusion}},
		{"granted after the other had lost it", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "trouble p:1 cut", "lost a:1 p:1 unreachable", "called a:2 p:2", "granted a:2 p:2 f:20",
			"releasing a:1 p:1", "released a:1 p:1 unreachable", "releasing a:2 p:2", "released a:2 p:2",
		}, Supported, nil},
		{"granted before the other had lost it", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "trouble p:1 cut", "called a:2 p:2", "granted a:2 p:2 f:20", "lost a:1 p:1 unreachable",
			"releasing a:1 p:1", "released a:1 p:1 unreachable", "releasing a:2 p:2", "released a:2 p:2",
		}, Refuted, []Check{Exclusion}},
		{"granted at the instant of the loss, which was recorded later", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "trouble p:1 cut", "called a:2 p:2", "granted a:2 p:2 f:20", "=lost a:1 p:1 unreachable",
			"releasing a:1 p:1", "released a:1 p:1 unreachable", "releasing a:2 p:2", "released a:2 p:2",
		}, Supported, nil},
		{"a fault took it from the one who had it", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "fault a:9", "faulted a:9", "called a:2 p:2", "granted a:2 p:2 f:20", "lost a:1 p:1 gone",
			"releasing a:1 p:1", "released a:1 p:1 gone", "releasing a:2 p:2", "released a:2 p:2",
		}, Supported, nil},
		{"a fault before both excuses nothing", []string{
			"fault a:9", "faulted a:9", "called a:1 p:1", "granted a:1 p:1 f:10", "called a:2 p:2", "granted a:2 p:2 f:20", "lost a:1 p:1 gone",
			"releasing a:1 p:1", "released a:1 p:1 gone", "releasing a:2 p:2", "released a:2 p:2",
		}, Refuted, []Check{Exclusion}},
		{"handed off after a fault that nobody has noticed yet", []string{
			"called a:1 p:1", "called a:3 p:1", "granted a:1 p:1 f:10", "fault a:9", "faulted a:9", "called a:2 p:2", "granted a:2 p:2 f:20",
			"releasing a:1 p:1", "released a:1 p:1", "granted a:3 p:1 f:11", "lost a:3 p:1 gone", "releasing a:3 p:1", "released a:3 p:1 gone",
			"releasing a:2 p:2", "released a:2 p:2",
		}, Supported, nil},
		{"handed off to two", []string{
			"called a:1 p:1", "called a:3 p:1", "granted a:1 p:1 f:10", "fault a:9", "faulted a:9", "granted a:3 p:1 f:11",
			"releasing a:1 p:1", "released a:1 p:1", "releasing a:3 p:1", "released a:3 p:1",
		}, Refuted, []Check{Exclusion}},
		{"one fault takes away one lease, not three", []string{
			"called a:1 p:1", "called a:2 p:2", "called a:3 p:3", "granted a:1 p:1 f:10", "fault a:9", "faulted a:9",
			"granted a:2 p:2 f:20", "granted a:3 p:3 f:30", "releasing a:1 p:1", "released a:1 p:1", "releasing a:2 p:2", "released a:2 p:2",
			"releasing a:3 p:3", "released a:3 p:3",
		}, Refuted, []Check{Exclusion}},
		{"a fence that falls", []string{
			"called a:1 p:1", "granted a:1 p:1 f:20", "releasing a:1 p:1", "released a:1 p:1",
			"called a:2 p:2", "granted a:2 p:2 f:10", "releasing a:2 p:2", "released a:2 p:2",
		}, Refuted, []Check{Fence}},
		{"a fence twice", []string{
			"called a:1 p:1", "granted a:1 p:1 f:20", "releasing a:1 p:1", "released a:1 p:1",
			"called a:2 p:1", "granted a:2 p:1 f:20", "releasing a:2 p:1", "released a:2 p:1",
		}, Refuted, []Check{Fence}},
		{"who came last is served first", []string{
			"called a:1 p:1", "called a:2 p:1", "granted a:2 p:1 f:10", "releasing a:2 p:1", "released a:2 p:1",
			"granted a:1 p:1 f:11", "releasing a:1 p:1", "released a:1 p:1",
		}, Refuted, []Check{Order}},
		{"who came at the same instant may be", []string{
			"called a:1 p:1", "=called a:2 p:1", "granted a:2 p:1 f:10", "releasing a:2 p:1", "released a:2 p:1",
			"granted a:1 p:1 f:11", "releasing a:1 p:1", "released a:1 p:1",
		}, Supported, nil},
		{"and so may another process's caller", []string{
			"called a:1 p:1", "called a:2 p:2", "granted a:2 p:2 f:10", "releasing a:2 p:2", "released a:2 p:2",
			"granted a:1 p:1 f:11", "releasing a:1 p:1", "released a:1 p:1",
		}, Supported, nil},
		{"a loss that nobody notices", append(append([]string{"called a:1 p:1", "granted a:1 p:1 f:10", "fault a:9", "faulted a:9"},
			slices.Repeat([]string{"trouble"}, 10)...), "releasing a:1 p:1", "released a:1 p:1 gone"), Refuted, []Check{Notice}},
		{"a loss that is noticed after a lease", append(append([]string{"called a:1 p:1", "granted a:1 p:1 f:10", "fault a:9", "faulted a:9"},
			slices.Repeat([]string{"trouble"}, 9)...), "lost a:1 p:1 gone", "releasing a:1 p:1", "released a:1 p:1 gone"), Supported, nil},
		{"another lease is entered", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "entered a:1 p:1 f:11", "releasing a:1 p:1", "released a:1 p:1",
		}, Refuted, []Check{Entry}},
		{"a wait without a bound ends", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "releasing a:1 p:1", "released a:1 p:1", "called a:2", "refused a:2 deadline",
		}, Refuted, []Check{Waiting}},
		{"nothing was wrong, and it is lost", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "lost a:1 p:1 gone", "releasing a:1 p:1", "released a:1 p:1 gone",
		}, Refuted, []Check{Calm}},
		{"it is left locked", []string{
			"called a:1 p:1", "granted a:1 p:1 f:10", "releasing a:1 p:1", "released a:1 p:1", "left",
		}, Refuted, []Check{Leftover}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Judge(tell(t, c.events...), Terms{Lease: lease})
			var checks []Check
			for _, v := range r.Violations {
				if !slices.Contains(checks, v.Check) {
					checks = append(checks, v.Check)
				}
			}
			slices.Sort(checks)
			if r.Verdict != c.want || c.want == Refuted && !slices.Equal(checks, c.checks) {
				t.Fatalf("%s %q, by %v; want %s by %v", r.Verdict, r.Why, r.Violations, c.want, c.checks)
			}
		})
	}
}

// Porcupine and the comparison of each two leases are two ways to say one thing, as long as the server keeps its word.
// Histories at random, most of them impossible: where the two disagree Judge concludes nothing.
func TestTheTwoCheckersAgree(t *testing.T) {
	verdicts := make(map[Verdict]int)
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		events := random(rng, 2+rng.IntN(4), seed%3 == 0)
		r := Judge(events, Terms{})
		if r.Verdict == Inconclusive {
			t.Fatalf("seed %d: %s\n%s", seed, r.Why, render(events, func(Event) bool { return true }))
		}
		verdicts[r.Verdict]++
	}
	if verdicts[Supported] < 100 || verdicts[Refuted] < 100 {
		t.Fatalf("the histories say too little: %v", verdicts)
	}
}

// random lets holders, each a process, go through their events in any order; some with a fault of the server.
func random(rng *rand.Rand, holders int, faulty bool) []Event {
	scripts := make([][]Event, holders)
	for i := range scripts {
		who := Event{Key: "k", Process: i, Attempt: i + 1}
		for _, kind := range []Kind{Called, Granted, Releasing, Released} {
			e := who
			e.Kind = kind
			scripts[i] = append(scripts[i], e)
		}
	}
	if faulty {
		scripts = append(scripts, []Event{{Kind: FaultFrom, Key: "k", Attempt: 99}, {Kind: FaultTo, Key: "k", Attempt: 99}})
	}
	var events []Event
	fence := uint64(0)
	for len(scripts) > 0 {
		i := rng.IntN(min(2, len(scripts))) // two at a time: or hardly any history would be possible
		e := scripts[i][0]
		if scripts[i] = scripts[i][1:]; len(scripts[i]) == 0 {
			scripts = slices.Delete(scripts, i, i+1)
		}
		if e.Kind == Granted {
			fence += uint64(2 + rng.IntN(10))
			if e.Fence = fence; rng.IntN(20) == 0 {
				e.Fence = 1
			}
		}
		e.Seq, e.At = len(events)+1, time.Duration(len(events))
		events = append(events, e)
	}
	return events
}

func TestSliceShowsTheTwoLeases(t *testing.T) {
	events := tell(t,
		"called a:7 p:3", "granted a:7 p:3 f:1", "releasing a:7 p:3", "released a:7 p:3",
		"called a:1 p:1", "called a:2 p:2", "granted a:1 p:1 f:10", "granted a:2 p:2 f:20", "releasing a:1 p:1", "released a:1 p:1",
		"releasing a:2 p:2", "released a:2 p:2")
	r := Judge(events, Terms{})
	if len(r.Violations) != 1 {
		t.Fatalf("%v", r.Violations)
	}
	got := r.Violations[0].Slice(events)
	if strings.Contains(got, "#7") || !strings.Contains(got, "#1 fence 10") || !strings.Contains(got, "#2 fence 20") {
		t.Fatalf("it shows\n%s", got)
	}
}
