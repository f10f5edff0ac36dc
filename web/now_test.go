package web

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/history"
)

// A run of many steps keeps the newest ones of its present trial, and counts the others.
func TestARunThatGoesOnIsBounded(t *testing.T) {
	var now runNow
	step := func(seq int) { now.tell(experiments.Stepped{Step: history.Event{Seq: seq}}) }
	now.tell(experiments.TrialBegan{Variant: "a", Trial: 1, Trials: 2})
	for seq := range 5*mostSteps + 7 {
		step(seq + 1)
	}
	v := now.copy()
	if len(v.Steps) != mostSteps || v.Dropped != 4*mostSteps+7 || v.Steps[mostSteps-1].Seq != 5*mostSteps+7 || cap(now.steps) > 5*mostSteps {
		t.Errorf("%d steps are kept with a capacity of %d, and %d dropped", len(v.Steps), cap(now.steps), v.Dropped)
	}
	now.tell(experiments.TrialJudged{Variant: "a", Violation: &history.Violation{}})
	now.tell(experiments.TrialBegan{Variant: "a", Trial: 2, Trials: 2})
	now.tell(experiments.TrialJudged{Variant: "a"})
	now.tell(experiments.TrialJudged{Variant: "b"})
	now.tell(experiments.TrialJudged{Variant: "b", Err: "no server"})
	now.tell(experiments.TrialJudged{Variant: "b", Err: "too late", Late: true})
	step(1)
	if v := now.copy(); len(v.Steps) != 1 || v.Dropped != 0 || v.Says != "a, trial 2 of 2" ||
		!slices.Equal(v.Judged, []judgedSoFar{{"a", 2, 1}, {"b", 1, 0}}) {
		t.Errorf("the next trial: %+v", v)
	}
}

// The page has a column for each instance that has answered, whatever the order of the answers.
func TestABurstThatGoesOn(t *testing.T) {
	now := newBurstNow(burst.Plan{Users: 4, Versions: []string{"v1", "v3"}})
	for _, e := range []burst.Event{
		burst.WarmingUp{},
		burst.Answered{Version: "v1", Instance: "b", Value: 1, Confirmed: 1, Newest: 1},
		burst.Answered{Version: "v1", Instance: "a", Value: 1, Confirmed: 1, Newest: 1, Lost: 1},
		burst.Answered{Version: "v1", Instance: "b", Value: 2, Confirmed: 2, Newest: 2, Lost: 1},
		burst.Answered{Version: "v1", Failed: "no answer", Lost: 1},
	} {
		now.tell(e)
	}
	v := now.copy()
	if !slices.Equal(v.Instances, []string{"a", "b"}) || len(v.Rows) != 2 || v.Rows[0].Lost != 1 || v.Rows[0].By[1].Newest != 2 ||
		v.Rows[0].By[0].Newest != 1 || v.Rows[1].By[0].Confirmed != 0 || v.Says != (burst.WarmingUp{}).String() {
		t.Errorf("%+v", v)
	}
	judged := burst.VersionJudged{}
	judged.Pageview.Version, judged.Pageview.Lost = "v1", 2
	now.tell(judged)
	if v := now.copy(); v.Rows[0].Lost != 2 || !v.Rows[0].Final || v.Rows[1].Final {
		t.Errorf("judged: %+v", v.Rows)
	}
}

// A change is shown immediately, and at most one more in each interval. Nothing is drawn while nobody looks on. The last change is shown
// without another one.
func TestChangesAreShownAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, drawn, at := &Server{board: newBoard()}, 0, 0
		s.follow("run", func(changed func()) {
			for range 1000 {
				at++
				changed()
				time.Sleep(time.Millisecond)
			}
			time.Sleep(redraw)
			if text := s.board.get("run", viewer{}); text != "1000" {
				t.Errorf("after the last change the page shows %s", text)
			}
		}, func() string { drawn++; return strconv.Itoa(at) })
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
	_, parts, _ := b.changes(seen{{"run", 0}})
	for range 3 {
		if line := parts[0].line("run", viewer{}); line != parts[0].line("run", viewer{}) || b.get("run", viewer{}) != "drawn" {
			t.Errorf("it is sent as %q", line)
		}
	}
	if made != 1 {
		t.Errorf("it was made %d times", made)
	}
	if b.put("run", ""); b.get("run", viewer{}) != "" {
		t.Error("the text was not replaced by an empty one")
	}
}
