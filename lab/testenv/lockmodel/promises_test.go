package lockmodel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

// reasons replaces short names of why a lock was refused, lost, or not released.
var reasons = strings.NewReplacer(
	": gone", ": "+history.Gone, ": unreachable", ": "+history.Unreachable, ": unavailable", ": "+history.Unavailable,
	": deadline", ": "+history.Deadline,
)

func TestCheck(t *testing.T) {
	const lease = 10 * time.Millisecond
	for _, c := range []struct {
		name     string
		events   []string
		violated []string // each promise, how, and the numbers of the events
		err      string   // why nothing is shown
	}{
		{"nothing happened", nil, nil, "nothing was granted"},
		{"no request is granted", []string{"net fault", "A request k", "A refuse k: unavailable"}, nil, "nothing was granted"},
		{"a holder that never ended", []string{"A request k", "A grant k 10"}, nil, "never ended"},
		{"a release of nothing", []string{
			"A@1 request k", "A@1 grant k 10", "A@1 release k", "A@1 released k", "B@2 request k", "B@2 release k", "B@2 released k",
		}, nil, "not granted"},
		{"a grant without a request", []string{"A grant k 10", "A release k", "A released k"}, nil, "not requested"},
		{"one after the other", []string{
			"A@1 request k", "B@2 request k", "A@1 grant k 10", "A@1 release k", "B@2 grant k 20",
			"A@1 released k", "B@2 release k", "B@2 released k",
		}, nil, ""},
		{"two simultaneously", []string{
			"A@1 request k", "B@2 request k", "A@1 grant k 10", "B@2 grant k 20", "A@1 release k", "A@1 released k",
			"B@2 release k", "B@2 released k",
		}, []string{"mutual exclusion: A and B both held k [1 2 3 4 5 6 7 8]"}, ""},
		{"a fault of the network excuses nothing", []string{
			"A@1 request k", "A@1 grant k 10", "net fault: cut", "B@2 request k", "B@2 grant k 20",
			"A@1 release k", "A@1 released k", "B@2 release k", "B@2 released k",
		}, []string{"mutual exclusion: A and B both held k [1 2 4 5 6 7 8 9]"}, ""},
		{"granted after the other had lost the lock", []string{
			"A@1 request k", "A@1 grant k 10", "net fault: cut", "A@1 lose k: unreachable", "B@2 request k", "B@2 grant k 20",
			"A@1 release k", "A@1 released k: unreachable", "B@2 release k", "B@2 released k",
		}, nil, ""},
		{"granted before the other had lost the lock", []string{
			"A@1 request k", "A@1 grant k 10", "net fault: cut", "B@2 request k", "B@2 grant k 20", "A@1 lose k: unreachable",
			"A@1 release k", "A@1 released k: unreachable", "B@2 release k", "B@2 released k",
		}, []string{"mutual exclusion: A and B both held k [1 2 4 5 6 7 8 9 10]"}, ""},
		{"granted at the instant of the loss, which was recorded later", []string{
			"A@1 request k", "A@1 grant k 10", "net fault: cut", "B@2 request k", "B@2 grant k 20", "= A@1 lose k: unreachable",
			"A@1 release k", "A@1 released k: unreachable", "B@2 release k", "B@2 released k",
		}, nil, ""},
		{"a fault took the lock from its holder", []string{
			"A@1 request k", "A@1 grant k 10", "server fault k", "server heal k", "B@2 request k", "B@2 grant k 20", "A@1 lose k: gone",
			"A@1 release k", "A@1 released k: gone", "B@2 release k", "B@2 released k",
		}, nil, ""},
		{"a fault before both excuses nothing", []string{
			"server fault k", "server heal k", "A@1 request k", "A@1 grant k 10", "B@2 request k", "B@2 grant k 20", "A@1 lose k: gone",
			"A@1 release k", "A@1 released k: gone", "B@2 release k", "B@2 released k",
		}, []string{"mutual exclusion: A and B both held k [3 4 5 6 7 8 9 10 11]"}, ""},
		{"handed off after a fault that the process has not noticed", []string{
			"A@1 request k", "C@1 request k", "A@1 grant k 10", "server fault k", "server heal k", "B@2 request k", "B@2 grant k 20",
			"A@1 release k", "A@1 released k", "C@1 grant k 11", "C@1 lose k: gone", "C@1 release k", "C@1 released k: gone",
			"B@2 release k", "B@2 released k",
		}, nil, ""},
		{"handed off after a fault that may have come before the first holder, or after it", []string{
			"server fault k", "A@1 request k", "A@1 grant k 10", "A@1 release k", "A@1 released k", "server heal k",
			"B@2 request k", "B@2 grant k 20", "C@1 request k", "C@1 grant k 11", "C@1 lose k: gone", "C@1 release k", "C@1 released k: gone",
			"B@2 release k", "B@2 released k",
		}, nil, ""},
		{"one after the other after a fault", []string{
			"A@1 request k", "A@1 grant k 5", "server fault k", "server heal k", "B@2 request k", "A@1 release k", "A@1 released k",
			"C@3 request k", "C@3 grant k 10", "C@3 release k", "C@3 released k", "B@2 grant k 12", "B@2 release k", "B@2 released k",
		}, nil, ""},
		{"a server that forgets its tokens", []string{
			"A@1 request k", "A@1 grant k 20", "server fault k", "server heal k", "B@2 request k", "B@2 grant k 10", "A@1 lose k: gone",
			"A@1 release k", "A@1 released k: gone", "B@2 release k", "B@2 released k",
		}, []string{"growing tokens: porcupine: no order of the operations is possible []"}, ""},
		{"a holder without a token hands nothing off", []string{
			"A@1 request k", "A@1 grant k", "server fault k", "server heal k", "B@2 request k", "B@2 grant k 20", "C@1 request k", "C@1 grant k 1",
			"A@1 lose k: gone", "A@1 release k", "A@1 released k: gone", "B@2 release k", "B@2 released k", "C@1 release k", "C@1 released k",
		}, []string{
			"mutual exclusion: B and C both held k [5 6 7 8 12 13 14 15]",
			"growing tokens: C has the token 1, and before it B had 20 [5 6 7 8 12 13 14 15]",
		}, ""},
		{"handed off with the first tokens of all", []string{
			"A@1 request k", "C@1 request k", "A@1 grant k 1", "server fault k", "server heal k", "B@2 request k", "B@2 grant k 20",
			"A@1 release k", "A@1 released k", "C@1 grant k 2", "C@1 lose k: gone", "C@1 release k", "C@1 released k: gone",
			"B@2 release k", "B@2 released k",
		}, nil, ""},
		{"handed off to two", []string{
			"A@1 request k", "C@1 request k", "A@1 grant k 10", "server fault k", "server heal k", "C@1 grant k 11",
			"A@1 release k", "A@1 released k", "C@1 release k", "C@1 released k",
		}, []string{"mutual exclusion: A and C both held k [1 2 3 6 7 8 9 10]"}, ""},
		{"one fault ends one session, not two", []string{
			"A@1 request k", "B@2 request k", "C@3 request k", "A@1 grant k 10", "server fault k", "server heal k",
			"B@2 grant k 20", "C@3 grant k 30", "A@1 release k", "A@1 released k", "B@2 release k", "B@2 released k",
			"C@3 release k", "C@3 released k",
		}, []string{"mutual exclusion: porcupine: no order of the operations is possible []"}, ""},
		{"a token that falls", []string{
			"A@1 request k", "A@1 grant k 20", "A@1 release k", "A@1 released k",
			"B@2 request k", "B@2 grant k 10", "B@2 release k", "B@2 released k",
		}, []string{"growing tokens: B has the token 10, and before it A had 20 [1 2 3 4 5 6 7 8]"}, ""},
		{"a token twice", []string{
			"A@1 request k", "A@1 grant k 20", "A@1 release k", "A@1 released k",
			"B@1 request k", "B@1 grant k 20", "B@1 release k", "B@1 released k",
		}, []string{"growing tokens: B has the token 20, and before it A had 20 [1 2 3 4 5 6 7 8]"}, ""},
		{"the last caller is served first", []string{
			"A@1 request k", "B@1 request k", "B@1 grant k 10", "B@1 release k", "B@1 released k",
			"A@1 grant k 11", "A@1 release k", "A@1 released k",
		}, []string{"order of arrival: in 1 B arrived after A and was served before it [1 2 3 4 5 6 7 8]"}, ""},
		{"a caller of the same instant may be", []string{
			"A@1 request k", "= B@1 request k", "B@1 grant k 10", "B@1 release k", "B@1 released k",
			"A@1 grant k 11", "A@1 release k", "A@1 released k",
		}, nil, ""},
		{"a caller of another process may be", []string{
			"A@1 request k", "B@2 request k", "B@2 grant k 10", "B@2 release k", "B@2 released k",
			"A@1 grant k 11", "A@1 release k", "A@1 released k",
		}, nil, ""},
		{"a loss that the holder does not notice", append(append([]string{"A@1 request k", "A@1 grant k 10", "server fault k", "server heal k"},
			slices.Repeat([]string{"net fault"}, 10)...), "A@1 release k", "A@1 released k: gone"), []string{
			"notice of the loss: A relied on the lock for 11ms after a fault took it away; the lease is 10ms [1 2 3 4 15 16]",
		}, ""},
		{
			"a loss that the holder notices after a lease",
			append(append([]string{"A@1 request k", "A@1 grant k 10", "server fault k", "server heal k"},
				slices.Repeat([]string{"net fault"}, 9)...), "A@1 lose k: gone", "A@1 release k", "A@1 released k: gone"), nil, "",
		},
		{"re-entrance with another token", []string{
			"A@1 request k", "A@1 grant k 10", "A@1 reenter k 11", "A@1 release k", "A@1 released k",
		}, []string{"re-entrance: the holder with the token 10 entered again with the token 11 [3]"}, ""},
		{"an unbounded wait ends", []string{
			"A@1 request k", "A@1 grant k 10", "A@1 release k", "A@1 released k", "B request k", "B refuse k: deadline",
		}, []string{"unbounded wait: an unbounded wait ended: waited too long [6]"}, ""},
		{"lost without a fault", []string{
			"A@1 request k", "A@1 grant k 10", "A@1 lose k: gone", "A@1 release k", "A@1 released k: gone",
		}, []string{"calm: without a fault: the server no longer has it [3]", "calm: without a fault: the server no longer has it [5]"}, ""},
		{"a request fails without a fault", []string{
			"A@1 request k", "A@1 refuse k: unavailable", "B@2 request k", "B@2 grant k 20", "B@2 release k", "B@2 released k",
		}, []string{"calm: without a fault: no reply from the server [2]"}, ""},
		{"a release fails without a fault", []string{
			"A@1 request k", "A@1 grant k 10", "A@1 release k", "A@1 released k: unavailable",
		}, []string{"calm: without a fault: no reply from the server [4]"}, ""},
		{"left locked by a late request", []string{
			"A@1 request k", "A@1 grant k 10", "A@1 release k", "A@1 released k", "net fault: late", "server left k",
		}, nil, ""},
		{"left locked after another fault", []string{
			"A@1 request k", "A@1 grant k 10", "net fault: cut", "A@1 release k", "A@1 released k", "server left k",
		}, []string{"nothing left: no client holds the key, and the server stores it [6]"}, ""},
		{"left locked", []string{
			"A@1 request k", "A@1 grant k 10", "A@1 release k", "A@1 released k", "server left k",
		}, []string{"nothing left: no client holds the key, and the server stores it [5]"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := script.Events(t, reasons.Replace(strings.Join(c.events, "\n")))
			for i := range events {
				switch {
				case events[i].Kind == history.Request:
					events[i].Name = Unbounded
				case events[i].Kind == history.Fault && events[i].Text == "late":
					events[i].Name = LateRequest
				}
			}
			found, err := Check(events, lease)
			var violated []string
			for _, v := range found {
				violated = append(violated, fmt.Sprintf("%s: %s %v", v.Promise, v.What, v.Events))
			}
			if !slices.Equal(violated, c.violated) {
				t.Errorf("violated: %q; want %q", violated, c.violated)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

// A history with many faults that is impossible has an answer, and soon. Porcupine must not try each later end of each holder.
func TestManyFaults(t *testing.T) {
	var text strings.Builder
	for n := range 24 {
		fmt.Fprintf(&text, "S/%d request k\nS/%[1]d grant k %[2]d\nserver fault k\nserver heal k\nS/%[1]d lose k: %[3]s\n",
			n, 2*n+1, history.Gone)
		fmt.Fprintf(&text, "S/%d release k\nS/%[1]d released k: %[2]s\n", n, history.Gone)
	}
	text.WriteString("A request k\nA grant k 100\nB request k\nB grant k 200\nA release k\nA released k\nB release k\nB released k\n")
	found, err := Check(script.Events(t, text.String()), 0)
	if err != nil || len(found) != 1 || found[0].Promise != history.MutualExclusion {
		t.Errorf("%v, %v", found, err)
	}
}

// A history for which porcupine has no answer in time is neither right nor wrong. Here each of 24 holders needs one of 23 faults, and all
// their orders would have to be tried.
func TestASearchThatTakesTooLongShowsNothing(t *testing.T) {
	t.Cleanup(func() { searchTimeout = 20 * time.Second })
	searchTimeout = 10 * time.Millisecond
	var text strings.Builder
	for n := range 23 {
		fmt.Fprintf(&text, "server/%d fault k\n", n)
	}
	for n := range 24 {
		fmt.Fprintf(&text, "S%d request k\nS%[1]d grant k %d\n", n, n+1)
	}
	for n := range 24 {
		fmt.Fprintf(&text, "S%d release k\nS%[1]d released k\n", n)
	}
	events := script.Events(t, text.String())
	for name, check := range map[string]func() error{
		"Check": func() error { _, err := Check(events, 0); return err },
		"Agree": func() error { return Agree(events) },
	} {
		if err := check(); err == nil || !strings.Contains(err.Error(), "porcupine found no answer within 10ms") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without a lease a holder may rely on its lock for as long as it wants after a fault.
func TestWithoutALeaseNoNoticeIsLate(t *testing.T) {
	events := script.Events(t, "A@1 request k\nA@1 grant k 10\nserver fault k\nserver heal k\nA@1 release k\nA@1 released k: "+history.Gone)
	for lease, want := range map[time.Duration]int{0: 0, 1: 1, time.Hour: 0} {
		if found, err := Check(events, lease); err != nil || len(found) != want {
			t.Errorf("a lease of %s: %v, %v; want %d violations", lease, found, err, want)
		}
	}
}

// A history with a gap in its numbers, or in which time runs back, shows nothing.
func TestAHistoryInDisorderShowsNothing(t *testing.T) {
	for says, spoil := range map[string]func(e *history.Event){
		"event 2 has the number 9":                 func(e *history.Event) { e.Seq = 9 },
		"event 2 has the number 2 and the time 0s": func(e *history.Event) { e.At = 0 },
	} {
		events := script.Events(t, "A@1 request k\nA@1 grant k 10\nA@1 release k")
		spoil(&events[1])
		if _, err := Check(events, 0); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// A release that is sent before the end of a lease that is not renewed may arrive after it. Another failure is one.
func TestAnExplicitLeaseMayEndUnderItsRelease(t *testing.T) {
	for why, want := range map[string][]history.Promise{history.Gone: nil, history.Expired: nil, history.Unavailable: {Calm}} {
		for text, renewed := range map[string]bool{Explicit: false, "": true} {
			events := script.Events(t, "A@1 request k\nA@1 grant k 10\nA@1 release k\nA@1 released k: "+why)
			events[0].Name = text
			wanted := want
			if renewed && why == history.Gone {
				wanted = []history.Promise{Calm}
			}
			found, err := Check(events, time.Second)
			var promises []history.Promise
			for _, v := range found {
				promises = append(promises, v.Promise)
			}
			if err != nil || !slices.Equal(promises, wanted) {
				t.Errorf("%q, %q: violated: %v, %v; want %v", text, why, found, err, wanted)
			}
		}
	}
}

// Porcupine and the comparison of each two holders say the same as long as the server keeps its word. Most of these random
// histories are impossible. Where the two disagree, Check returns an error.
func TestTheTwoChecksOfLocksAgree(t *testing.T) {
	kept, violated := 0, 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		events := randomLocks(rng, 2+rng.IntN(4), seed%3 == 0)
		found, err := Check(events, 0)
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, events)
		}
		if len(found) == 0 {
			kept++
		} else {
			violated++
		}
	}
	if kept < 100 || violated < 100 {
		t.Fatalf("the histories say too little: %d violate nothing, %d violate a promise", kept, violated)
	}
}

// randomLocks lets holders, each a process, go through their events in any order; some with a fault of the server.
func randomLocks(rng *rand.Rand, holders int, faulty bool) []history.Event {
	scripts := make([][]history.Event, holders)
	for i := range scripts {
		for _, kind := range []history.Kind{history.Request, history.Grant, history.Release, history.Released} {
			name := string(rune('A' + i))
			scripts[i] = append(scripts[i], history.Event{Key: "k", Process: name, Owner: name, Timeline: name, Kind: kind})
		}
	}
	if faulty {
		fault := []history.Event{{Kind: history.Fault, Key: "k", Owner: "server"}, {Kind: history.Heal, Key: "k", Owner: "server"}}
		scripts = append(scripts, fault)
	}
	var events []history.Event
	token := uint64(0)
	for len(scripts) > 0 {
		i := rng.IntN(min(2, len(scripts))) // two at a time: or hardly any history would be possible
		e := scripts[i][0]
		if scripts[i] = scripts[i][1:]; len(scripts[i]) == 0 {
			scripts = slices.Delete(scripts, i, i+1)
		}
		if e.Kind == history.Grant {
			token += uint64(2 + rng.IntN(10))
			if e.Token = token; rng.IntN(20) == 0 {
				e.Token = 1
			}
		}
		e.Seq, e.At = len(events)+1, time.Duration(len(events))
		events = append(events, e)
	}
	return events
}
