package report

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/history"
	"locklab/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// lab runs each experiment once, on miniredis. One that waits for real servers has a record without events.
var lab = sync.OnceValue(func() (all []Entry) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, e := range claims.All() {
		options := experiments.Options{Trials: 1, Seed: 7, Build: "a test", Command: "app lab run " + e.ID + " --seed 7"}
		var r experiments.Record
		if e.Slow || len(e.Needs) > 0 {
			stopped, stop := context.WithCancel(ctx)
			stop()
			r = experiments.Run(stopped, e, options)
		} else {
			r = experiments.Run(ctx, e, options)
		}
		all = append(all, Entry{e, r, e.Judge(r)})
	}
	return all
})

// entry is the run of the experiment with an id.
func entry(t *testing.T, id string) Entry {
	t.Helper()
	for _, e := range lab() {
		if e.Experiment.ID == id {
			return e
		}
	}
	t.Fatalf("there is no experiment %s", id)
	return Entry{}
}

func render(t *testing.T, e Entry) string {
	t.Helper()
	var b bytes.Buffer
	if err := Run(&b, e.Experiment, e.Record, e.Judgement); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// made is an experiment with a control that holds and an arm of the given events.
func made(breach func([]history.Event) []history.Finding, events ...history.Event) Entry {
	e := experiments.Experiment{
		ID: "X01-made", Article: "A4", Claim: "Something is so.", Breach: breach,
		Arms: []experiments.Arm{{Name: "control"}, {Name: "arm", Expect: experiments.Sometimes}},
	}
	r := experiments.Record{Format: experiments.Format, Experiment: e.ID, Clocks: []experiments.Clock{{Process: "lab"}}}
	for _, a := range e.Arms {
		r.Arms = append(r.Arms, experiments.ArmRecord{Name: a.Name, Trials: []experiments.TrialRecord{{Number: 1}}})
	}
	for i, event := range events {
		event.Seq, event.Arm, event.Trial = i+1, "arm", 1
		if event.At == 0 {
			event.At = time.Duration(i+1) * time.Millisecond
		}
		r.Events = append(r.Events, event)
	}
	r.Count = len(r.Events)
	return Entry{e, r, e.Judge(r)}
}

func wants(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, text := range all {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %q", text)
		}
	}
}

func lacks(t *testing.T, page string, all ...string) {
	t.Helper()
	for _, text := range all {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q", text)
		}
	}
}

func TestEveryExperiment(t *testing.T) {
	for _, e := range lab() {
		t.Run(e.Experiment.ID, func(t *testing.T) {
			page := render(t, e)
			wants(t, page, "<h1>"+e.Experiment.ID+"</h1>", "app lab run "+e.Experiment.ID+" --seed 7", "<dd>7</dd>")
			if got := strings.Count(page, `<section class="arm `); got < len(e.Experiment.Arms) {
				t.Errorf("%d of %d arms are shown", got, len(e.Experiment.Arms))
			}
		})
	}
}

func TestLab(t *testing.T) {
	var b bytes.Buffer
	if err := Lab(&b, lab()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	last := -1
	for _, part := range []string{`id="verdicts"`, `id="experiments"`, `id="L03-foreign-unlock"`, `id="errata"`} {
		if at := strings.Index(page, part); at < last || at < 0 {
			t.Errorf("%s stands at %d, after something at %d", part, at, last)
		} else {
			last = at
		}
	}
	var none bytes.Buffer
	if err := Lab(&none, nil); err != nil {
		t.Fatal(err)
	}
	wants(t, none.String(), "There is no run yet.")
}

// The words say what was seen, and no more.
func TestVerdictWords(t *testing.T) {
	for want, a := range map[string]experiments.ArmJudgement{
		"not broken in 3 trials":           {Verdict: experiments.Supported, Trials: 3},
		"not broken in 1 trial":            {Verdict: experiments.Supported, Trials: 1},
		"broken, as claimed (witness)":     {Verdict: experiments.Supported, Expect: experiments.Sometimes, Trials: 3, Breaches: 3},
		"refuted: broken in 1 of 3 trials": {Verdict: experiments.Refuted, Trials: 3, Breaches: 1},
		"inconclusive":                     {Trials: 3},
	} {
		if got := armVerdict(a).Text; got != want {
			t.Errorf("%+v is %q, want %q", a, got, want)
		}
	}
}

// Whatever a history holds is text.
func TestEscaping(t *testing.T) {
	const evil = `<script>alert(1)</script>"'&]]>-->`
	holds := history.Event{Lane: evil, Key: evil, Owner: evil, Process: evil, Text: evil, Proof: evil}
	var events []history.Event
	for _, kind := range []history.Kind{history.Ask, history.Grant, history.Fault, history.Write, history.Write, history.Note, history.Measure, evil} {
		e := holds
		e.Kind = kind
		events = append(events, e)
	}
	e := made(history.Counter, events...)
	e.Record.Command, e.Record.Build, e.Record.Clocks[0].Process = evil, evil, evil
	e.Record.Arms[1].Trials[0].Err = evil
	e.Judgement = e.Experiment.Judge(e.Record)
	page := render(t, e)
	if got := strings.Count(page, "<script>"); got != 1 {
		t.Errorf("there are %d scripts", got)
	}
	lacks(t, page, "alert(1)</script>", `"'&]]>`)
	wants(t, page, "&lt;script&gt;")
}

// A page needs nothing but itself, and its policy says so.
func TestSelfContained(t *testing.T) {
	page := render(t, entry(t, "L05-lease-overrun"))
	wants(t, page, "default-src &#39;none&#39;")
	lacks(t, page, "http:", "https:", "@import", "<link", "<img", "src=", "ZgotmplZ")
}

func TestInterrupted(t *testing.T) {
	e := entry(t, "L03-foreign-unlock")
	e.Record.Interrupted = true
	e.Record.Arms = e.Record.Arms[:1]
	e.Judgement = e.Experiment.Judge(e.Record)
	wants(t, render(t, e), "it was interrupted", "this arm did not run", "which was cut short", "what was recorded until then is kept")
}

func TestNothingRecorded(t *testing.T) {
	e := made(history.Counter)
	e.Record.Arms = nil
	e.Judgement = e.Experiment.Judge(e.Record)
	page := render(t, e)
	wants(t, page, "inconclusive", "there is nothing to draw", "this arm did not run")
	lacks(t, page, "<figure")
}

// views are n page views by two instances, of which only every loss-th adds one.
func views(n int, loss int) (events []history.Event) {
	for i := range n {
		lane := fmt.Sprintf("instance %d", i%2+1)
		owner := fmt.Sprint("view ", i)
		at := time.Duration(i+1) * 100 * time.Microsecond
		events = append(events,
			history.Event{Lane: lane, Owner: owner, Key: "pview", Kind: history.Read, Value: int64(i / loss), At: at},
			history.Event{Lane: lane, Owner: owner, Key: "pview", Kind: history.Write, Value: int64(i/loss + 1), At: at + 40*time.Microsecond})
	}
	return append(events, history.Event{Lane: "redis", Key: "pview", Kind: history.Final, Value: int64((n-1)/loss + 1)})
}

func TestHundredsOfEvents(t *testing.T) {
	page := render(t, made(history.Counter, views(666, 19)...))
	wants(t, page, "666 writes of pview were confirmed, and it ends at 36: 630 are lost; 665 of them wrote a value",
		"630 lost", `class="twice"`, "80 of 1333 events are drawn")
	if len(page) > 200_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	kept := render(t, made(history.Counter, views(666, 1)...))
	wants(t, kept, "666 confirmed, ends at 666", `class="once"`)
	lacks(t, kept, `class="twice" d="M4`, " lost<")
}

// With many lanes those of the breach are drawn, and the server.
func TestHundredsOfLanes(t *testing.T) {
	events := views(300, 1)
	for i := range events[:len(events)-1] {
		events[i].Lane = events[i].Owner
	}
	events[500].Value, events[501].Value = 200, 201 // as view 200 did
	e := made(history.Counter, events...)
	picture := draw(e.Record.Events, e.Judgement.Arms[1].Finding)
	var names []string
	for _, l := range picture.Lanes {
		names = append(names, l.Name)
	}
	for _, want := range []string{"view 200", "view 250", "redis"} {
		if !strings.Contains(strings.Join(names, ","), want) {
			t.Errorf("%s is not among the lanes %q", want, names)
		}
	}
	if len(names) > mostLanes {
		t.Errorf("%d lanes are drawn", len(names))
	}
}

func TestMeasures(t *testing.T) {
	var events []history.Event
	for i, way := range []string{"spin", "sleep", "subscribe"} {
		events = append(events, history.Event{Lane: way, Kind: history.Measure, Value: int64(900 / (i + 1)), Text: "commands per acquisition"})
		for n := range 5 {
			owner := fmt.Sprint(way, n)
			for _, kind := range []history.Kind{history.Ask, history.Grant, history.Give, history.Gave} {
				events = append(events, history.Event{Lane: way, Owner: owner, Key: "k", Kind: kind})
			}
		}
	}
	wants(t, render(t, made(history.Overlaps, events...)), "commands per acquisition", "spin: 900 commands", "subscribe: 300 commands",
		"15 grants; the longest wait was 1.0 ms", "grants over time")
}
