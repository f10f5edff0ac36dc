package history_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

func TestHolders(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name, history string
		want          []history.Holder
	}{
		{"nothing", "", nil},
		{"refused", "A request lock\nA refuse lock", nil},
		{"requested, held, released", "A request lock\nA grant lock\nA release lock\nA released lock", []history.Holder{
			{Key: "lock", Owner: "A", Timeline: "A", Requested: ms, Granted: 2 * ms, Ends: 3 * ms, Ended: 4 * ms, Seqs: []int{1, 2, 3, 4}},
		}},
		{"the request is not recorded", "A grant lock\nA release lock", []history.Holder{
			{Key: "lock", Owner: "A", Timeline: "A", Requested: ms, Granted: ms, Ends: 2 * ms, Ended: 2 * ms, Seqs: []int{1, 2}},
		}},
		{"dead", "A grant lock\nA die", []history.Holder{
			{Key: "lock", Owner: "A", Timeline: "A", Requested: ms, Granted: ms, Ends: 2 * ms, Ended: 2 * ms, Seqs: []int{1, 2}},
		}},
		{"lost, and released nevertheless", "A grant lock\nA lose lock\nA release lock\nA released lock", []history.Holder{
			{Key: "lock", Owner: "A", Timeline: "A", Requested: ms, Granted: ms, Ends: 2 * ms, Ended: 4 * ms, Seqs: []int{1, 2, 3, 4}},
		}},
		{"for ever, and a release of nothing", "A grant lock\nB release lock\nB released lock", []history.Holder{
			{Key: "lock", Owner: "A", Timeline: "A", Requested: ms, Granted: ms, Open: true, Seqs: []int{1}},
		}},
		{"twice, each attempt by itself", "A/1 grant lock\nA/1 release lock\nA/2 grant lock", []history.Holder{
			{Key: "lock", Owner: "A1", Timeline: "A", Requested: ms, Granted: ms, Ends: 2 * ms, Ended: 2 * ms, Seqs: []int{1, 2}},
			{Key: "lock", Owner: "A2", Timeline: "A", Requested: 3 * ms, Granted: 3 * ms, Open: true, Seqs: []int{3}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := history.Holders(script.Events(t, c.history)); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestOverlaps(t *testing.T) {
	cases := []checkCase{
		{"nothing", "", ""},
		{"one after the other", "A grant lock\nA release lock\nB grant lock\nB release lock", ""},
		{"at the very moment", "A grant lock\nA release lock\n= B grant lock", ""},
		{"granted while the release is on its way", "A grant lock\nA release lock\nB grant lock\nA released lock", ""},
		{"two keys", "A grant one\nB grant two", ""},
		{"simultaneously", "A grant lock\nB grant lock\nA release lock", "A and B both held lock [1 2 3]"},
		{"for ever", "A grant lock\nB grant lock", "A and B both held lock [1 2]"},
		{"after a death", "A grant lock\nA die\nB grant lock", ""},
		{"after a loss", "A grant lock\nA lose lock\nB grant lock", ""},
		{"before its loss is known", "A grant lock\nB grant lock\nA lose lock", "A and B both held lock [1 2 3]"},
		{
			"three", "A grant lock\nB grant lock\nC grant lock",
			"A and B both held lock [1 2]; A and C both held lock [1 3]; B and C both held lock [2 3]",
		},
	}
	testCheck(t, history.Exclusion, cases)
	for _, c := range cases {
		if all := history.Holders(script.Events(t, c.history)); len(all) > 1 {
			if a, b := all[0], all[1]; a.Overlaps(b) != (c.want != "") || b.Overlaps(a) != (c.want != "") {
				t.Errorf("%s: the two overlap: %v", c.name, a.Overlaps(b))
			}
		}
	}
}

func TestCounter(t *testing.T) {
	all12 := ""
	for n := range 12 {
		all12 += fmt.Sprintf("A write n %d\n", n+1)
	}
	testCheck(t, history.Counter, []checkCase{
		{"nothing", "", ""},
		{"all are there", "A read n 0\nA write n 1\nB read n 1\nB write n 2\nredis final n 2", ""},
		{"more than was confirmed", "A write n 1\nredis final n 2", ""},
		{"a write that was not confirmed", "A write n 1\nB write n 3\nredis final n 3", ""},
		{"twice", "A read n 0\nB read n 0\nA write n 1\nB write n 1", "A and B both wrote 1: one update is lost [1 2 3 4]"},
		{"twice, and nothing was read", "A write n 1\nB write n 1", "A and B both wrote 1: one update is lost [1 2]"},
		{"twice by one", "A read n 0\nA write n 1\nA read n 0\nA write n 1", "A wrote 1 twice: one update is lost [2 3 4]"},
		{"two counters", "A write n 1\nB write m 1\nredis final n 1\nredis final m 1", ""},
		{"less than was confirmed", "A write n 1\nB write n 2\nredis final n 1", "2 updates were confirmed, and n is 1: 1 are lost [1 2 3]"},
		{
			"less than many that were confirmed", all12 + "redis final n 11",
			"12 updates were confirmed, and n is 11: 1 are lost [3 4 5 6 7 8 9 10 11 12 13]",
		},
		{"set back by a write that was not confirmed", "A write n 3\nredis final n 2", "A had written 3, and n is 2: its update is lost [1 2]"},
		{"a refused write is none", "A write n 1\nB stale n 1\nredis final n 1", ""},
		{"gone", "A write n 1\nredis final n 0", "1 updates were confirmed, and n is 0: 1 are lost [1 2]"},
	})
}

func TestWinnersAndNoted(t *testing.T) {
	testCheck(t, history.Winners, []checkCase{
		{"no winner", "A request lock", ""},
		{"one each", "A win one\nB win two", ""},
		{"two tries", "A request order\nB request order\nA win order\nB refuse order", ""},
		{"two", "A win order\nB win order\nC win order", "A and B both won order [1 2]; A and C both won order [1 3]"},
	})
	noted := func(events []history.Event) []history.Violation {
		return history.Noted(events, history.Mark{Name: "it stays"})
	}
	testCheck(t, noted, []checkCase{
		{"other words", "redis note: it goes", ""},
		{"other kinds", "redis fault: it stays", ""},
		{"noted", "A request lock\nredis note: it stays", "redis: it stays [2]"},
	})
}

// An event is of a trial by the name of its variant and by its number.
func TestTheEventsOfATrial(t *testing.T) {
	all := []history.Event{
		{Seq: 1, Variant: "v", Trial: 1}, {Seq: 2, Variant: "w", Trial: 1}, {Seq: 3, Variant: "v", Trial: 2}, {Seq: 4, Variant: "v", Trial: 1},
	}
	if got := seqs(history.Of(all, "v", 1)); !slices.Equal(got, []int{1, 4}) {
		t.Errorf("the first trial of v has the events %v", got)
	}
}

// A mark is found by its name, whatever its words have become. An event that was saved before it had a name has it as its text.
func TestAMarkIsFoundByItsName(t *testing.T) {
	before, reworded := history.Mark{Name: "it stays"}, history.Mark{Name: "it stays", Words: "it remains"}
	for name, c := range map[string]struct {
		e  history.Event
		in bool
	}{
		"its own event":          {reworded.On(history.Event{Kind: history.Note}), true},
		"saved with other words": {before.On(history.Event{Kind: history.Note}), true},
		"saved without a name":   {history.Event{Text: "it stays"}, true},
		"another name":           {history.Event{Name: "it goes", Text: "it stays"}, false},
		"the words alone":        {history.Event{Text: "it remains"}, false}, "nothing": {history.Event{}, false},
	} {
		if reworded.In(c.e) != c.in {
			t.Errorf("%s: %t, want %t", name, !c.in, c.in)
		}
	}
	if e := reworded.On(history.Event{}); e.Text != "it remains" || before.On(history.Event{}).Text != "it stays" {
		t.Errorf("people read %q and %q", e.Text, before.On(history.Event{}).Text)
	}
}
