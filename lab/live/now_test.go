package live

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/history"
	"locklab/lab/live/stage"
	"locklab/lab/report/html"
	"locklab/versions"
)

// A run of many steps keeps the newest ones of its present trial, and counts the others.
func TestARunThatGoesOnIsBounded(t *testing.T) {
	now := newRunNow(lab.Experiment{Variants: []lab.Variant{{Name: "a"}, {Name: "b"}}}, stage.Options{})
	step := func(seq int) { now.apply(lab.Stepped{Step: history.Event{Seq: seq}}) }
	now.apply(lab.Started{Trials: 5})
	now.apply(lab.TrialBegan{Variant: "a", Trial: 1, Trials: 2})
	for seq := range 5*mostSteps + 7 {
		step(seq + 1)
	}
	v := now.view()
	if len(v.Steps) != mostSteps || v.Dropped != 4*mostSteps+7 || v.Steps[mostSteps-1].Seq != 5*mostSteps+7 || cap(now.Steps) > 5*mostSteps {
		t.Errorf("%d steps are kept with a capacity of %d, and %d dropped", len(v.Steps), cap(now.Steps), v.Dropped)
	}
	now.apply(lab.TrialJudged{Variant: "a", Violation: &history.Violation{}})
	now.apply(lab.TrialBegan{Variant: "a", Trial: 2, Trials: 2})
	now.apply(lab.TrialJudged{Variant: "a"})
	now.apply(lab.TrialJudged{Variant: "b"})
	now.apply(lab.TrialJudged{Variant: "b", Err: "no server"})
	now.apply(lab.TrialJudged{Variant: "b", Err: "too late", Late: true})
	step(1)
	if v := now.view(); len(v.Steps) != 1 || v.Dropped != 0 || v.Says != "a, trial 2 of 2" || v.Over != 4 || v.All != 5 ||
		v.Found.Variant != "a" || v.Found.Trial != 1 || v.Variants[0].Seen() != "violation in 1 of 2 trials" ||
		v.Variants[1].Seen() != "no violation in 1 trial" {
		t.Errorf("the next trial: %+v", v)
	}
}

// The card of a version has what each instance wrote, in whatever order they answer. It can be seen as it was before.
// Seen again, it runs until its last answer.
func TestABurstThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := newBurstNow(burst.Plan{Users: 4, Versions: []string{"v1", "v3"}})
		for _, e := range []burst.Event{
			burst.WarmingUp{},
			burst.VersionBegan{Version: "v1", Number: 1, All: 2},
			burst.Answered{Version: "v1", Instance: "b", Value: 1, Confirmed: 1, Newest: 1},
			burst.Answered{Version: "v1", Instance: "a", Value: 1, Confirmed: 1, Newest: 1, Lost: 1},
			burst.Answered{Version: "v1", Instance: "b", Value: 2, Confirmed: 2, Newest: 2, Lost: 1},
			burst.Answered{Version: "v1", Failed: "no answer", Lost: 1},
		} {
			time.Sleep(time.Millisecond)
			now.apply(e)
		}
		v1, _ := versions.Find("v1")
		v3, _ := versions.Find("v3")
		wrote := []html.Written{{Instance: 1, Value: 1}, {Instance: 0, Value: 1}, {Instance: 1, Value: 2}}
		c := now.card(v1, always)
		if c.Lost() != 1 || !slices.Equal(c.Wrote, wrote) || c.Value() != 2 {
			t.Errorf("all: %+v", c)
		}
		c = now.card(v1, time.Microsecond)
		if c.Lost() != 0 || !slices.Equal(c.Wrote, wrote[:1]) {
			t.Errorf("after the first answer: %+v", c)
		}
		if c := now.card(v3, always); c.Wrote != nil || c.Judged != nil || now.changes("v3", always) != 0 {
			t.Errorf("before it begins: %+v", c)
		}
		if now.longest() != 3*time.Millisecond || now.progress().Number != 1 || now.changes("v1", always) != 4 {
			t.Errorf("%s, %+v, %d", now.longest(), now.progress(), now.changes("v1", always))
		}
		judged := burst.VersionJudged{}
		judged.Pageview.Version, judged.Pageview.Lost = "v1", 2
		now.apply(judged)
		if c := now.card(v1, always); c.Judged == nil || c.Judged.Pageview.Lost != 2 || now.changes("v1", always) != 5 {
			t.Errorf("judged: %+v", c)
		}
		if now.card(v1, time.Microsecond).Judged != nil {
			t.Error("it is judged before its last answer")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*slowly) // in the bubble
		defer cancel()
		s := &Server{board: newBoard()}
		if (&bursts{s: s, shown: now}).play(ctx, now); ctx.Err() != nil || !strings.Contains(s.board.get(cardPart("v1"), viewer{}), "lost 2<") {
			t.Errorf("seen again it ends with %v: %s", ctx.Err(), s.board.get(cardPart("v1"), viewer{}))
		}
	})
}

// A change is shown immediately, and at most one more in each interval. Nothing is drawn while nobody looks on. The last change is shown
// without another one.
func TestChangesAreShownAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, drawn, at := &Server{board: newBoard()}, 0, 0
		s.follow(redraw, func(changed func()) {
			for range 1000 {
				at++
				changed()
				time.Sleep(time.Millisecond)
			}
			time.Sleep(redraw)
			if text := s.board.get("run", viewer{}); text != "1000" {
				t.Errorf("after the last change the page shows %s", text)
			}
		}, func() { s.board.putMade("run", func() string { drawn++; return strconv.Itoa(at) }) })
		if versions := s.board.parts["run"].version; versions > int(time.Second/redraw)+2 || drawn != 1 {
			t.Errorf("%d texts in a second, and %d were drawn for one look", versions, drawn)
		}
	})
}

// A text is made once for all browsers, and not at all when no browser needs it.
func TestATextIsMadeWhenABrowserNeedsIt(t *testing.T) {
	b, made := newBoard(), 0
	text := func() string { made++; return "drawn" }
	b.putMade("run", text)
	b.putMade("run", text)
	if made != 0 {
		t.Errorf("nobody looks, and the text was made %d times", made)
	}
	_, parts, _ := b.changes([]seen{{name: "run"}})
	for range 3 {
		if line := parts[0].line(new(seen), viewer{}); line != parts[0].line(new(seen), viewer{}) || b.get("run", viewer{}) != "drawn" {
			t.Errorf("it is sent as %q", line)
		}
	}
	if made != 1 {
		t.Errorf("it was made %d times", made)
	}
	if b.put("run", ""); b.get("run", viewer{}) != "" {
		t.Error("the text was not replaced by an empty one")
	}
	each, has := part{of: func(viewer) string { return "stopped" }}, seen{name: "run"}
	if first, again := each.line(&has, viewer{}), each.line(&has, viewer{}); first == "" || again != "" {
		t.Errorf("a text is sent twice: %q, %q", first, again)
	}
	parts[0].line(&has, viewer{})
	if back := each.line(&has, viewer{}); back == "" {
		t.Error("a text that comes back after another one is not sent")
	}
}
