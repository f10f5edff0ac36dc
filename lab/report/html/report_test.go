package html

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/history"
	"locklab/lab/report/drawing"
	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// On the live page a reader sees a violation drawn before the table of what was measured, and a variant is named with its version.
func TestAViolationComesBeforeTheMeasurements(t *testing.T) {
	var page strings.Builder
	run := failover()
	events := append(run.Record.Events, lab.Milliseconds.Of("of waiting").Event("A", 7))
	run = made(history.Counter, events...)
	run.Judgement.Variants[1].Strategy = "v3"
	if err := errors.Join(Verdicts(&page, run), Verdicts(&page, measuring())); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	drawn, measured := strings.Index(text, `class="drawing`), strings.Index(text, "What was measured")
	if drawn < 0 || measured < drawn || strings.Count(text, "What was measured") != 2 {
		t.Errorf("the drawing is at %d, what was measured at %d: %s", drawn, measured, text)
	}
	wants(t, text, `<span class="name">variant (v3)</span>`)
	wants(t, render(t, run), `<span class="name">variant (v3)</span>`)
}

// ran has the runs of [entry], by id.
var ran sync.Map

// entry is the run of the experiment with an id, once for all tests. Beside others it may have shown nothing: then it runs again, three
// times at most.
func entry(t *testing.T, id string) lab.Saved {
	t.Helper()
	e, err := claims.All().Find(id)
	if err != nil {
		t.Fatal(err)
	}
	e.Variants = e.Variants[:min(5, len(e.Variants))] // those that need Redis only
	run, _ := ran.LoadOrStore(id, sync.OnceValue(func() (s lab.Saved) {
		for range 3 {
			options := lab.Options{Trials: 1, Seed: 7, Build: "a test", Command: "app lab run " + id + " --seed 7"}
			if s = lab.Run(testenv.Context(t), e, options).Saved; s.Judgement.Verdict == lab.AsExpected {
				break
			}
		}
		return s
	}))
	return run.(func() lab.Saved)()
}

func render(t *testing.T, e lab.Saved) string {
	t.Helper()
	var b bytes.Buffer
	if err := Run(&b, e, ""); err != nil {
		t.Fatal(err)
	}
	return b.String()
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

// The page of a lab has the verdicts, then the experiments, then the errata.
func TestLab(t *testing.T) {
	var b bytes.Buffer
	if err := Lab(&b, "", []lab.Saved{entry(t, "L03-foreign-unlock"), failover()}); err != nil {
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
	if err := Lab(&none, "", nil); err != nil {
		t.Fatal(err)
	}
	wants(t, none.String(), "There is no run yet.")
}

// The evidence has the time since the trial began, which is not that of the run.
func TestTheTimeOfTheEvidence(t *testing.T) {
	events := views(4, 2)
	for i := range events {
		events[i].At += time.Minute
	}
	wants(t, render(t, made(history.Counter, events...)), `<td class="n">0.1</td><td>instance 2</td><td>write 1</td>`)
}

// An erratum stands beside its own article, and not beside the others of the experiment.
func TestAnErratumNamesItsArticle(t *testing.T) {
	var b bytes.Buffer
	if err := Lab(&b, "", []lab.Saved{failover()}); err != nil {
		t.Fatal(err)
	}
	wants(t, b.String(), "A2: An article says that this cannot be.")
	lacks(t, b.String(), "Article A4") // the experiment's
}

// The page begins with how many runs have each verdict.
func TestLabCountsVerdicts(t *testing.T) {
	var runs []lab.Saved
	for i, v := range []lab.Verdict{lab.AsExpected, lab.Unexpected, lab.Inconclusive, lab.AsExpected} {
		e := lab.Experiment{ID: fmt.Sprintf("L9%d", i)}
		runs = append(runs, lab.Saved{Experiment: e, Judgement: lab.Judgement{Experiment: e.ID, Verdict: v}})
	}
	var b bytes.Buffer
	if err := Lab(&b, "", runs); err != nil {
		t.Fatal(err)
	}
	wants(t, strings.Join(strings.Fields(b.String()), " "), "<b>1</b> unexpected", "<b>1</b> inconclusive", "<b>2</b> as predicted")
}

// A violation that was predicted is shown as the loss that it is: in the colour of a loss, never in the good one. So it is in the list of
// verdicts, in the run itself, and in the live page. A run as a whole has neither colour, because some of its variants violate on purpose.
func TestAPredictedViolationIsNeverGreen(t *testing.T) {
	judged := func(name string, v lab.Verdict, violations int) lab.VariantJudgement {
		j := lab.VariantJudgement{Name: name, Verdict: v, Trials: 3, Violations: violations}
		if violations > 0 {
			j.Expect, j.Violation = lab.Sometimes, &history.Violation{What: "an update is lost"}
		}
		return j
	}
	run := lab.Saved{Experiment: lab.Experiment{ID: "L99"}, Judgement: lab.Judgement{
		Experiment: "L99", Verdict: lab.AsExpected, Variants: []lab.VariantJudgement{
			judged("kept", lab.AsExpected, 0), judged("lost", lab.AsExpected, 3),
			judged("broken", lab.Unexpected, 1), judged("idle", lab.Inconclusive, 0),
		},
	}}
	run.Record.Experiment = "L99"
	verdicts := regexp.MustCompile(`<strong class="verdict ([^"]+)"><svg [^>]+><use href="#v-([^"]+)"/></svg>([^<]+)</strong>`)
	class := map[string]string{
		"no violation in 3 trials, as predicted": "no-violation", "violation in 3 of 3 trials, as predicted": "violation",
		"violation in 1 of 3 trials, unexpected": "unexpected", "no violation in 3 trials, inconclusive": "inconclusive",
		"as predicted": "as-predicted",
	}
	for name, write := range map[string]func(io.Writer) error{
		"a run": func(w io.Writer) error { return Run(w, run, "") }, "a lab": func(w io.Writer) error { return Lab(w, "", []lab.Saved{run}) },
		"the live page": func(w io.Writer) error { return errors.Join(Outcome(w, run), Verdicts(w, run)) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		for _, found := range verdicts.FindAllStringSubmatch(b.String(), -1) {
			if seen[found[3]] = true; class[found[3]] != found[1] || found[2] != found[1] {
				t.Errorf("%s: %q has the class %q and the sign %q, want %q", name, found[3], found[1], found[2], class[found[3]])
			}
		}
		if len(seen) != len(class) {
			t.Errorf("%s shows only %v", name, seen)
		}
	}
}

// Everything in a history is escaped.
func TestEscaping(t *testing.T) {
	const evil = `<script>alert(1)</script>"'&]]>-->`
	holds := history.Event{Timeline: evil, Key: evil, Owner: evil, Process: evil, Text: evil, Proof: evil}
	var events []history.Event
	for _, kind := range []history.Kind{
		history.Request, history.Grant, history.Fault, history.Write, history.Write, history.Note, history.Measure, evil,
	} {
		e := holds
		e.Kind = kind
		events = append(events, e)
	}
	e := made(history.Counter, events...)
	e.Record.Command, e.Record.Build, e.Record.Machine = evil, evil, evil
	e.Record.Variants[1].Trials[0].Err = evil
	e.Judgement = e.Experiment.Judge(e.Record)
	page := render(t, e)
	if got := strings.Count(page, "<script>"); got != 1 {
		t.Errorf("there are %d scripts", got)
	}
	lacks(t, page, "alert(1)</script>", `"'&]]>`)
	wants(t, page, "&lt;script&gt;")
}

// A page requests nothing, and its policy says so.
func TestSelfContained(t *testing.T) {
	page := render(t, entry(t, "L03-foreign-unlock"))
	wants(t, page, "default-src &#39;none&#39;")
	lacks(t, page, "http:", "https:", "@import", "<link", "<img", "src=", "ZgotmplZ")
}

// The report of a run that was interrupted says so, and draws what was recorded.
func TestInterrupted(t *testing.T) {
	e := entry(t, "L03-foreign-unlock")
	e.Record.Interrupted = true
	e.Record.Variants = e.Record.Variants[:1]
	e.Judgement = e.Experiment.Judge(e.Record)
	wants(t, render(t, e), "it was interrupted", "this variant did not run", "what was recorded until then")
}

func TestNothingRecorded(t *testing.T) {
	e := made(history.Counter)
	e.Record.Variants = nil
	e.Judgement = e.Experiment.Judge(e.Record)
	page := render(t, e)
	wants(t, page, "inconclusive", "there is nothing to draw", "this variant did not run")
	lacks(t, page, "<figure")
}

// A variant that did not run has a sentence at the verdict, and no section.
func TestVariantsThatAreLeftOut(t *testing.T) {
	e := made(history.Counter)
	for i := range e.Record.Variants {
		e.Record.Variants[i].LeftOut = "needs etcd"
	}
	e.Judgement = lab.Judgement{Experiment: e.Experiment.ID, Verdict: lab.AsExpected}
	for _, v := range e.Experiment.Variants {
		left := lab.VariantJudgement{Name: v.Name, LeftOut: "needs etcd", Why: "left out: it needs etcd"}
		e.Judgement.Variants = append(e.Judgement.Variants, left)
	}
	page := render(t, e)
	wants(t, page, "Left out: 2 of 2 variants of ", ": each needs etcd")
	lacks(t, page, "it needs etcd", `data-variant=`)
}

// Of hundreds of events some are drawn, and the page says how many.
func TestHundredsOfEvents(t *testing.T) {
	wants(t, render(t, made(history.Counter, views(666, 19)...)), "80 of 1333 events are drawn")
}

// Of many timelines those of the violation are drawn, and the server.
func TestHundredsOfTimelines(t *testing.T) {
	events := views(300, 1)
	for i := range events[:len(events)-1] {
		events[i].Timeline = events[i].Owner
	}
	events[500].Value, events[501].Value = 200, 201 // as view 200 did
	e := made(history.Counter, events...)
	picture := drawing.Draw(e.Record.Events, e.Judgement.Variants[1].Violation, drawing.InReport)
	var names []string
	for _, l := range picture.Timelines {
		names = append(names, l.Name)
	}
	for _, want := range []string{"view 200", "view 250", "redis"} {
		if !strings.Contains(strings.Join(names, ","), want) {
			t.Errorf("%s is not among the timelines %q", want, names)
		}
	}
	if len(names) > drawing.MostTimelines {
		t.Errorf("%d timelines are drawn", len(names))
	}
}

func TestMeasures(t *testing.T) {
	var events []history.Event
	for i, way := range []string{"spin", "sleep", "subscribe"} {
		value := int64(900 / (i + 1))
		for _, v := range []int64{value + 50, value - 1, value} { // the median is shown
			events = append(events, lab.Count.Of("commands per acquisition").Event(way, v))
		}
	}
	wants(t, render(t, made(history.Exclusion, events...)),
		">commands per acquisition</th>", "<td>spin</td><td class=\"n\">900 (899 to 950)</td>")
}
