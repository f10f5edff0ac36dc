package history_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

func seqs(events []history.Event) (all []int) {
	for _, e := range events {
		all = append(all, e.Seq)
	}
	return all
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		name, history string
		finding, want []int
	}{
		{"nothing", "A request lock", nil, nil},
		{"itself", "A note: 1\nA note: 2\nA note: 3", []int{2}, []int{2}},
		{
			"and the faults among them and before",
			"redis fault: early\nA read n 0\nredis fault: cut\nB note: x\nredis heal: mended\nA write n 1\nredis fault: late",
			[]int{2, 6},
			[]int{1, 2, 3, 5, 6},
		},
		{"and a death and a loss", "A read n 0\nB die\nC lose lock\nA write n 1", []int{1, 4}, []int{1, 2, 3, 4}},
		{
			"and how they got in, the last time",
			"A grant lock\nA release lock\nA grant lock\nA read n 0\nB grant lock\nB read n 0\nB write n 1\nA write n 1",
			[]int{4, 6, 7, 8},
			[]int{3, 4, 5, 6, 7, 8},
		},
		{
			"one event, and what the clients did",
			"A request lock\nA command: SETNX → 1\nA grant lock\nA die\nB command: SETNX → 0\n" +
				"B refuse lock\nredis final n 0\nredis left: x\nB command: y",
			[]int{8},
			[]int{2, 4, 5, 6, 8},
		},
		{"requests without grants", "A request n\nB request n\nA write n 1\nB write n 1", []int{3, 4}, []int{1, 2, 3, 4}},
		{
			"and the latest commands to the lock",
			"A command: SET → OK\nA grant lock\nA command: GET n → 0\nA read n 0\nA command: DEL → 1\nB grant lock\nB read n 0\n" +
				"B write n 1\nA write n 1",
			[]int{4, 7, 8, 9},
			[]int{1, 2, 4, 5, 6, 7, 8, 9},
		},
		{
			"and the release before",
			"A grant lock\nB grant lock\nB read n 0\nA release lock\nA released lock\nC grant lock\nC read n 0\nC write n 1\nB write n 1",
			[]int{3, 7, 8, 9},
			[]int{2, 3, 4, 6, 7, 8, 9},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := seqs(history.Explain(script.Events(t, c.history), history.Violation{Events: c.finding}))
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// An owner has one grant, or one request, in an explanation: the newest before its first event.
func TestExplainShowsOneGrantOfAnOwner(t *testing.T) {
	events := script.Events(t, "A request lock\nA note: x\nA grant lock\nA write n 1")
	if got := seqs(history.Explain(events, history.Violation{Events: []int{2, 4}})); fmt.Sprint(got) != "[1 2 4]" {
		t.Errorf("it shows %v", got)
	}
}

// A command and its effect on the resource say the same, if the effect is the client's next event.
func TestACommandAndItsEffect(t *testing.T) {
	for text, want := range map[string]bool{
		"A command: GET\nA read n 0": true, "A command: SET\nA write n 1": true, "A command: SET\nA note: x": false,
		"A command: SET\nB write n 1": false, "A command: SET": false, "A read n 0\nA write n 1": false,
	} {
		if got := history.EffectFollows(script.Events(t, text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Six events and their grants are twelve. Seven events are shown without their grants.
func TestExplainAddsGrantsUpToTwelveEvents(t *testing.T) {
	text, own := "", []int{}
	for n, want := range []int{2, 4, 6, 8, 10, 12, 7} {
		own = append(own, 2*n+2)
		text += fmt.Sprintf("A/%d grant lock\nA/%[1]d write n %[1]d\n", n)
		events := script.Events(t, text)
		if slice := history.Explain(events, history.Violation{Events: own}); len(slice) != want {
			t.Errorf("%d events are explained by %d", n+1, len(slice))
		}
	}
}

// However much there is, twelve events must do; the finding's own come first, and the last of them.
func TestExplainIsShort(t *testing.T) {
	var text strings.Builder
	var own []int
	for n := range 50 {
		fmt.Fprintf(&text, "A/%d command: x\nA/%[1]d grant lock\nA/%[1]d write n %[1]d\nredis fault: cut\nA/%[1]d release lock\n", n)
		own = append(own, 5*n+3)
	}
	events := script.Events(t, text.String())
	for n := 1; n <= len(own); n++ {
		slice := seqs(history.Explain(events, history.Violation{Events: own[:n]}))
		if len(slice) > 12 || len(slice) < min(n, 12) || slice[len(slice)-1] < own[n-1] {
			t.Fatalf("%d events are explained by %v", n, slice)
		}
	}
	faults := script.Events(t, strings.Repeat("redis fault: cut\n", 20))
	if slice := seqs(history.Explain(faults, history.Violation{Events: []int{20}})); len(slice) != 12 {
		t.Errorf("one fault after others is explained by %v", slice)
	}
	if slice := seqs(history.Explain(events, history.Violation{Events: []int{3, 248}})); len(slice) != 12 {
		t.Errorf("two events far apart are explained by %v", slice)
	}
}
