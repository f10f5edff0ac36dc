package html

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/outcome"
)

// inOrder are events with their numbers and times.
func inOrder(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq, events[i].At = i+1, time.Duration(i+1)*time.Millisecond
		if events[i].Owner == "" {
			events[i].Owner, events[i].Key = "attempt-"+events[i].Timeline, "lock"
		}
	}
	return events
}

// late is a late unlock: A deletes the lock of B.
func late() ([]history.Event, *history.Violation) {
	return inOrder(
		history.Event{Timeline: "A", Kind: history.Request},
		history.Event{Timeline: "A", Kind: history.Command, Text: "SET NX PX → OK"},
		history.Event{Timeline: "A", Kind: history.Grant},
		history.Event{Timeline: "time", Kind: history.Note, Text: "passes"},
		history.Event{Timeline: "B", Kind: history.Request},
		history.Event{Timeline: "B", Kind: history.Grant},
		history.Event{Timeline: "B", Kind: history.Read, Value: 1},
		history.Event{Timeline: "A", Kind: history.Release},
		history.Event{Timeline: "A", Kind: history.Command, Text: "DEL → 1"},
		history.Event{Timeline: "A", Kind: history.Released},
		history.Event{Timeline: "B", Kind: history.Write, Value: 2},
		history.Event{Timeline: "B", Kind: history.Command, Text: "after the violation"},
		history.Event{Timeline: "B", Kind: history.Release},
		history.Event{Timeline: "redis", Kind: history.Final, Value: 2},
	), &history.Violation{What: "A deleted the lock of B", Events: []int{7, 11}}
}

// rows are those of a table whose time runs down, as text: how each client has the lock, and what it does.
func rows(d down) (all []string) {
	for _, r := range d.Rows {
		if r.Moment != "" {
			all = append(all, "· "+r.Moment)
			continue
		}
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, strings.TrimSpace(c.Text+" "+strings.Trim("("+c.Class+")", "()")))
		}
		line := strings.Join(cells, " | ")
		if r.Shows {
			line += " !"
		}
		all = append(all, line)
	}
	return all
}

// A scene has the clients alone, up to the violation. An event of all clients stands in all columns, and a release says what it sent.
func TestASceneHasWhatAPersonNeeds(t *testing.T) {
	events, found := late()
	got := rows(paint(events, found, inScene).down())
	want := []string{
		"requests waits | ",
		"holds holds | ",
		"· time passes",
		"holds | requests waits",
		"holds | holds holds",
		"past | read 1 holds !",
		"releases: DEL → 1 past | holds",
		" | write 2 holds !",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it is\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var text bytes.Buffer
	if err := Scene(&text, events, found, false); err != nil {
		t.Fatal(err)
	}
	wants(t, text.String(),
		"releases: DEL → 1", "time passes", ">A<", ">B<", "works on without the lock", "shows the violation",
	)
	lacks(t, text.String(), "after the violation", "SET NX PX", ">redis<", ">time<", "ends at")
}

// The command of an attempt is not that of the release before it.
func TestAReleaseHasItsOwnCommand(t *testing.T) {
	for _, e := range essential(inOrder(
		history.Event{Timeline: "A", Kind: history.Grant},
		history.Event{Timeline: "A", Kind: history.Release},
		history.Event{Timeline: "A", Kind: history.Released},
		history.Event{Timeline: "A", Kind: history.Request},
		history.Event{Timeline: "A", Kind: history.Command, Text: "SET NX"},
	), nil, false) {
		if e.Kind == history.Release && e.Text != "" {
			t.Errorf("the release sent %q", e.Text)
		}
	}
}

// A scene about fencing tokens shows that of each grant, counted from 1, and the two that a refusal has compared. Others show none.
func TestASceneShowsTheTokensThatItIsAbout(t *testing.T) {
	const a, b = 6793473122071552, 6793473131695616
	events := inOrder(
		history.Event{Timeline: "A", Kind: history.Grant, Token: a},
		history.Event{Timeline: "A", Kind: history.Read, Token: a},
		history.Event{Timeline: "B", Kind: history.Grant, Token: b},
		history.Event{Timeline: "B", Kind: history.Read, Token: b},
		history.Event{Timeline: "B", Kind: history.Write, Token: b, Value: 1},
		history.Event{Timeline: "A", Kind: history.Stale, Token: a, Value: 1},
	)
	var with, without bytes.Buffer
	if err := errors.Join(Scene(&with, events, nil, true), Scene(&without, events, nil, false)); err != nil {
		t.Fatal(err)
	}
	wants(t, with.String(), ">holds, token 1<", ">holds, token 2<", ">refused: token 1 &lt; 2<")
	wants(t, without.String(), ">holds<", ">write 1 refused<")
	lacks(t, without.String(), "token")
	lacks(t, with.String(), "6793473")
}

// A long scene stays in one row, and says what it leaves out.
func TestALongSceneIsOneRow(t *testing.T) {
	var events []history.Event
	for i := range 30 {
		events = append(events, history.Event{Timeline: "A", Kind: history.Note, Text: fmt.Sprintf("a long note about number %d", i)},
			history.Event{Timeline: "A", Kind: history.Read, Value: int64(i)})
	}
	var text bytes.Buffer
	if err := Scene(&text, inOrder(events...), nil, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), `class="names"`); n != 1 || !strings.Contains(text.String(), "32 of 60 events are drawn") {
		t.Errorf("it has %d rows: %s", n, text.String())
	}
}

// small is a burst of 20 views on some instances: each two views write the same number.
func small(instances int) (events []history.Event) {
	for i := range 20 {
		e := history.Event{Timeline: fmt.Sprint("instance-", i%instances+1), Owner: fmt.Sprint("request ", i), Key: "pview"}
		e.Kind = history.Request
		events = append(events, e)
		e.Kind, e.Value = history.Write, int64(i/2+1)
		events = append(events, e)
	}
	return inOrder(append(events, history.Event{Timeline: "Redis", Kind: history.Final, Key: "pview", Owner: "-", Value: 10})...)
}

// A small burst has a bar for each view, sorted by the numbers, with each number that was written once more marked. Its finding is how many
// views are lost. With many instances the bars still stand in their columns.
func TestASmallBurstHasABarForEachView(t *testing.T) {
	for _, instances := range []int{1, 2, 6} {
		all := smallBurst(small(instances))
		p := plotViews(all)
		if p.count("hold") != 10 || p.count("loss") != 10 || p.count("instance") != instances {
			t.Errorf("%d instances: %+v", instances, p.Marks)
		}
		p.Says, p.Name = "the table", "the burst"
		fits(t, p)
		down := rows(viewsDown(all))
		marked := func(row int) bool { return strings.HasSuffix(down[row], "!") }
		if len(down) != 20 || !marked(1) || marked(0) || !strings.Contains(down[2], "read 1, wrote 2") {
			t.Errorf("%d instances: %q", instances, down)
		}
	}
	v := SceneVariant{VariantJudgement: lab.VariantJudgement{
		Trials: 1, Violation: &history.Violation{What: "x"}, Verdict: lab.AsExpected,
	}, events: small(2)}
	wants := func(words string, tone outcome.Tone) {
		t.Helper()
		if got := v.Outcome(); got.Words != words || got.Tone != tone {
			t.Errorf("its outcome is %+v, want %q, %v", got, words, tone)
		}
	}
	wants("the counter shows 10: 10 views lost, as predicted", outcome.Bad)
	v.events = small(2)[:8]
	wants("x, as predicted", outcome.Bad)
	v.Violation = nil
	wants("no violation, as predicted", outcome.Good)
	v.Trials, v.Verdict = 0, lab.Inconclusive
	wants("inconclusive", outcome.Unclear)
}

// The control is the last variant of a scene: the first one is what the scene is about.
func TestTheControlIsLast(t *testing.T) {
	run := failover()
	first, last := run.Judgement.Variants[0].Name, run.Judgement.Variants[len(run.Judgement.Variants)-1].Name
	all := SceneVariants(run, false)
	if all[len(all)-1].Name != first || len(all) > 1 && all[len(all)-2].Name != last || len(all[0].events) == 0 {
		t.Errorf("%+v", all)
	}
	if all := SceneVariants(lab.Saved{}, false); len(all) > 0 {
		t.Errorf("a run without variants has %v", all)
	}
}

// Whatever a run records, the scene and the report can be written.
func TestASceneOfAnyEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var events []history.Event
		for i := range r.IntN(60) {
			e := history.Event{
				Seq: i + 1, Kind: shapes[r.IntN(len(shapes))].Kind, Timeline: strings.Repeat("A", r.IntN(3)), Key: "k", Value: r.Int64() - r.Int64(),
				Token: r.Uint64N(3) << 40,
				At:    time.Duration(r.Int64N(1<<40) - 1<<38),
				Owner: fmt.Sprint([]string{"request ", "o"}[r.IntN(2)], r.IntN(30)), Text: strings.Repeat("x y", r.IntN(30)),
			}
			events = append(events, e)
		}
		found := &history.Violation{Events: []int{r.IntN(60), r.IntN(60)}}
		if r.IntN(2) == 0 {
			found = nil
		}
		if err := Scene(io.Discard, events, found, r.IntN(2) == 0); err != nil {
			t.Fatalf("%v: %+v", err, events)
		}
		render(t, made(history.Counter, events...))
	}
}
