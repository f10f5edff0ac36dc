package stage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
)

// inOrder are events with their numbers and times.
func inOrder(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq, events[i].At = i+1, time.Duration(i+1)*time.Millisecond
	}
	return events
}

func says(steps []Step) (all []string) {
	for _, s := range steps {
		text := s.Says
		if s.Bad {
			text += " !"
		}
		all = append(all, text)
	}
	return all
}

func wantSteps(t *testing.T, got []Step, want ...string) {
	t.Helper()
	if !slices.Equal(says(got), want) {
		t.Errorf("the steps are\n%s\nand not\n%s", strings.Join(says(got), "\n"), strings.Join(want, "\n"))
	}
}

// late is a late unlock: A deletes the lock of B, and C gets it.
func late() ([]history.Event, *history.Violation) {
	return inOrder(
		history.Event{Timeline: "A", Kind: history.Request},
		history.Event{Timeline: "A", Kind: history.Command, Text: "SET NX PX → OK"},
		history.Event{Timeline: "A", Kind: history.Grant},
		history.Event{Timeline: "time", Kind: history.Note, Text: "passes", Name: history.LeaseEnds},
		history.Event{Timeline: "B", Kind: history.Request},
		history.Event{Timeline: "B", Kind: history.Grant},
		history.Event{Timeline: "B", Kind: history.Command, Text: "GET counter → 1"},
		history.Event{Timeline: "B", Kind: history.Read, Value: 1},
		history.Event{Timeline: "A", Kind: history.Release},
		history.Event{Timeline: "A", Kind: history.Command, Text: "DEL → 1"},
		history.Event{Timeline: "A", Kind: history.Released},
		history.Event{Timeline: "C", Kind: history.Request},
		history.Event{Timeline: "C", Kind: history.Grant},
		history.Event{Timeline: "C", Kind: history.Read, Value: 1},
		history.Event{Timeline: "C", Kind: history.Write, Value: 2},
		history.Event{Timeline: "B", Kind: history.Write, Value: 2},
		history.Event{Timeline: "B", Kind: history.Release},
		history.Event{Timeline: "redis", Kind: history.Final, Value: 1},
	), &history.Violation{What: "B and C both wrote 2", Events: []int{8, 14, 15, 16}}
}

// A trial becomes one step for each thing that a person needs, up to the violation, and what the counter shows in the end.
func TestAStepIsOneThing(t *testing.T) {
	events, found := late()
	wantSteps(t, Steps(events, found, Options{}),
		"A asks for the lock, and gets it.",
		"Time passes, and A's lease ends.",
		"B asks for the lock, and gets it.",
		"B reads 1, and works.",
		"A deletes the key, and it is B's lock. !",
		"C asks for the lock, and gets it, while B still works.",
		"C reads 1, adds one, and writes 2.",
		"B writes 2, as C did: one update is lost. !",
		"The counter shows 1 after 2 updates: one update is lost. !",
	)
	d := direct(events, found, Options{})
	for _, name := range []string{"A", "B"} {
		if text := d.now[name].Text; text != "" {
			t.Errorf("%s has finished without the lock, and the last picture says that it %s", name, text)
		}
	}
}

// While a class is asked what was lost, no step says it, and no text of the drawing does.
func TestTheDrawingDoesNotAnswerTheClass(t *testing.T) {
	updates, found := late()
	for _, events := range [][]history.Event{updates, burstOf(2, 1, 1, 1, 4, 2, 3, 2)} {
		for asks, says := range map[bool]bool{false: true, true: false} {
			d := direct(events, found, Options{Asks: asks})
			text := d.now["lost"].Text
			for _, s := range d.steps {
				text += s.Says
			}
			if strings.Contains(text, "lost") != says {
				t.Errorf("asked %v: %s", asks, text)
			}
		}
	}
}

// A run that goes on is not judged yet, and the page does not say that nothing is lost.
func TestARunWithoutAVerdictCountsItsLosses(t *testing.T) {
	events, _ := late()
	steps := says(Steps(events, nil, Options{Grows: true}))
	if last, want := steps[len(steps)-1], "The counter shows 1 after 2 updates: one update is lost. !"; last != want {
		t.Errorf("it ends with %q, want %q", last, want)
	}
}

// A scene of fencing tokens shows them as small numbers. A write that is refused says what was compared.
func TestTokensAreSmallNumbers(t *testing.T) {
	const a, b = 6793473122071552, 6793473131695616
	events := inOrder(
		history.Event{Timeline: "A", Kind: history.Request, Owner: "a1"},
		history.Event{Timeline: "A", Kind: history.Grant, Token: a},
		history.Event{Timeline: "A", Kind: history.Read, Token: a},
		history.Event{Timeline: "A", Kind: history.Fault, Text: "paused"},
		history.Event{Timeline: "B", Kind: history.Request},
		history.Event{Timeline: "B", Kind: history.Grant, Token: b},
		history.Event{Timeline: "B", Kind: history.Read, Token: b},
		history.Event{Timeline: "B", Kind: history.Write, Token: b, Value: 1},
		history.Event{Timeline: "A", Kind: history.Heal, Text: "resumed"},
		history.Event{Timeline: "A", Kind: history.Stale, Token: a, Value: 1},
		history.Event{Timeline: "resource", Kind: history.Final, Value: 1},
	)
	wantSteps(t, Steps(events, nil, Options{Tokens: true}),
		"A asks for the lock, and gets it.",
		"A reads 0, and works.",
		"A's process stops for a while.",
		"A's lease ends, because a paused client renews nothing.",
		"B asks for the lock, and gets it.",
		"B reads 0, adds one, and writes 1.",
		"A goes on where it stopped.",
		"A writes with token 1. The counter has seen 2, and refuses: 1 < 2.",
		"The counter shows 1. Nothing is lost, and A knows that its write was refused.",
	)
	var drawn bytes.Buffer
	if err := Write(&drawn, events, nil, Options{Tokens: true}); err != nil {
		t.Fatal(err)
	}
	if text := drawn.String(); !strings.Contains(text, "largest token: 2") || strings.Contains(text, "6793473") {
		t.Errorf("the drawing has other tokens: %s", text)
	}
	drawn.Reset()
	for i := range events {
		if events[i].Kind == history.Stale {
			events[i].Kind = history.Write // it is taken
		}
	}
	err := Write(&drawn, events, nil, Options{Tokens: true})
	if err != nil || !strings.Contains(drawn.String(), "largest token: 2, not compared") {
		t.Errorf("the counter takes a smaller token, %v: %s", err, drawn.String())
	}
}

// burstOf is a burst whose views wrote these values on two copies. The counter shows the last one.
func burstOf(final int64, values ...int64) (events []history.Event) {
	for i, v := range values {
		e := history.Event{Timeline: fmt.Sprint("instance-", i%2+1), Owner: fmt.Sprint("request ", i), Kind: history.Request}
		events = append(events, e)
		e.Kind, e.Value = history.Write, v
		events = append(events, e)
	}
	return inOrder(append(events, history.Event{Timeline: "Redis", Kind: history.Final, Value: final})...)
}

// Views that wrote the same number are one step. The last write is that of the number that the counter shows, and the views that are drawn
// as lost are as many as are missing.
func TestABurstExplainsItsNumber(t *testing.T) {
	events := burstOf(2, 1, 1, 1, 4, 2, 3, 2)
	wantSteps(t, Steps(events, &history.Violation{}, Options{}),
		"Three views read 0, and each of them writes 1: 2 views are lost. !",
		"A view reads 1, and writes 2.",
		"A view reads 2, and writes 3.",
		"A view reads 3, and writes 4.",
		"A slow view, which had read 1, writes 2 over 4: 3 views are lost. !",
		"The counter shows 2 after 7 views: 5 views are lost. !",
	)
	d := direct(events, nil, Options{})
	lost := 0
	for part, l := range d.now {
		if strings.HasPrefix(part, "view-") && l.Class == "lost" {
			lost++
		}
	}
	if wrote := d.now["wrote"].Text; lost != 5 || wrote != "last write: copy 1 wrote 2" || d.now["counter"].Text != "2" {
		t.Errorf("%d views are drawn as lost, the %s, and the counter shows %s", lost, wrote, d.now["counter"].Text)
	}
	whole := time.Duration(0)
	for _, s := range d.steps[:len(d.steps)-1] {
		for _, b := range s.Beats {
			whole += time.Duration(b.Takes) * time.Millisecond
		}
	}
	if whole > 9*time.Second {
		t.Errorf("the views take %v", whole)
	}
}

// Whatever a run records can be drawn. The changes of the beats lead to the picture of the last step, and each message has a way in both
// shapes of the drawing.
func TestAnyEventsCanBePlayed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := append([]history.Kind{
		history.Lose, history.Released, history.Final, history.Call, history.Fault, history.Heal, history.Left, history.Command, history.Measure,
		history.Note,
	}, doing...)
	for range 400 {
		var events []history.Event
		for range r.IntN(50) {
			events = append(events, history.Event{
				Kind: kinds[r.IntN(len(kinds))], Timeline: []string{"A", "B", "", "master", "x<y"}[r.IntN(5)], Value: r.Int64N(4), Token: r.Uint64N(3),
				Owner: []string{"request 1", "o"}[r.IntN(40)/39], Text: []string{"", "passes", "DEL → 1", "is the master now"}[r.IntN(4)],
			})
		}
		var found *history.Violation
		if r.IntN(2) == 0 {
			found = &history.Violation{Events: []int{r.IntN(60), r.IntN(60)}}
		}
		o := Options{Replica: r.IntN(2) == 0, Tokens: r.IntN(2) == 0, Renews: r.IntN(2) == 0, Clients: []string{"A", "B"}}
		if err := Write(io.Discard, inOrder(events...), found, o); err != nil {
			t.Fatalf("%v: %+v", err, events)
		}
		playable(t, events, found, o)
	}
	for _, o := range []Options{{}, {Copies: 2, Views: 20, Mutex: true}, {Clients: []string{"A"}}} {
		if err := Write(io.Discard, nil, nil, o); err != nil {
			t.Errorf("before a run: %v", err)
		}
	}
}

// playable checks the drawing of a trial as the script plays it.
func playable(t *testing.T, events []history.Event, found *history.Violation, o Options) {
	t.Helper()
	d := direct(events, found, o)
	now := make(looks)
	wide, tall := d.cast.shapes(d.now)
	for _, s := range d.changes() {
		for _, b := range s.Beats {
			for part, l := range b.Looks {
				now[part] = l
			}
			for _, m := range b.Moves {
				is := func(w way) bool { return w.Name == m.Way }
				if !slices.ContainsFunc(wide.Ways, is) || !slices.ContainsFunc(tall.Ways, is) {
					t.Errorf("%s: a message goes along %q, which is no way", s.Says, m.Way)
				}
			}
		}
	}
	for part, l := range d.now {
		if now[part] != l {
			t.Errorf("the steps end with %+v of %s, and not with %+v", now[part], part, l)
		}
	}
}

var dataSteps = regexp.MustCompile(`data-steps="([^"]*)"`)

// The steps stand in the page as JSON, and as a list for everybody who sees no motion. While a run goes on there is nothing to play.
func TestTheStepsStandInThePage(t *testing.T) {
	events, found := late()
	var drawn, growing bytes.Buffer
	if err := Write(&drawn, events, found, Options{}); err != nil {
		t.Fatal(err)
	}
	text := dataSteps.FindStringSubmatch(drawn.String())
	var steps []Step
	if text == nil || json.Unmarshal([]byte(html.UnescapeString(text[1])), &steps) != nil || len(steps) != 10 {
		t.Fatalf("the page has the steps %v", text)
	}
	if n := strings.Count(drawn.String(), "<li"); n != 9 {
		t.Errorf("the list has %d steps, want 9", n)
	}
	if err := Write(&growing, events[:4], nil, Options{Grows: true}); err != nil {
		t.Fatal(err)
	}
	says := strings.Contains(growing.String(), "A&#39;s lease ends")
	if text := growing.String(); strings.Contains(text, "<button") || strings.Contains(text, "data-steps") || !says {
		t.Errorf("while it runs the page has %s", text)
	}
}
