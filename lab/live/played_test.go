package live

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab"
	"locklab/lab/live/story"
	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

// fewSteps is how many a person can follow. The views of a burst need one for each number.
const fewSteps, burstSteps = 12, story.Visitors + 1

// Each scene really runs, and its drawing has a few steps. The variant that the scene is about shows its violation in one of them, and the
// control in none.
func TestEachSceneIsAFewSteps(t *testing.T) {
	t.Parallel()
	cfg := config(t.TempDir())
	for i, scene := range story.Scenes {
		run, err := scene.Recorded(cfg.Catalogue)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := scene.In(cfg.Catalogue); err != nil {
			t.Fatal(err)
		} else if len(e.Needs) == 0 {
			o := lab.Options{Trials: 1, Seed: 1, App: []string{app.Of(t), "serve"}}
			testenv.Eventually(t, "the run shows what the scene is about", func() bool {
				run = lab.Run(t.Context(), e, o).Saved
				return run.Judgement.Verdict == lab.AsExpected
			})
		}
		most := fewSteps
		if i < 2 {
			most = burstSteps
		}
		for _, r := range scene.Results(run) {
			steps, bad := r.Steps(), 0
			for _, s := range steps {
				if s.Bad {
					bad++
				}
			}
			if len(steps) < 2 || len(steps) > most || bad > 0 != (r.Violation != nil) {
				t.Errorf("scene %d, %s: %d steps, of which %d show a violation, and it has %v", i+1, r.Name, len(steps), bad, r.Violation)
			}
		}
	}
}

// misdrawn lists texts of the drawing that is seen which overlap, stand outside the window, or are smaller than so many pixels.
const misdrawn = `((least) => {
	const seen = (e) => e.textContent.trim() && e.checkVisibility() && !e.closest(".message");
	const all = [...document.querySelectorAll("lock-stage")].filter((s) => s.checkVisibility())
		.flatMap((s) => [...s.querySelectorAll("svg text")]).filter(seen)
		.map((e) => ({ e, text: e.textContent, box: e.getBoundingClientRect() }));
	const wrong = [];
	for (const [i, a] of all.entries()) {
		const size = parseFloat(getComputedStyle(a.e).fontSize) * a.e.getScreenCTM().a;
		if (size < least - 0.01) wrong.push(a.text + " has " + size.toFixed(1) + " px");
		if (a.box.left < 0 || a.box.right > innerWidth) wrong.push(a.text + " is outside");
		for (const b of all.slice(i + 1)) {
			if (Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left) > 1 &&
				Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top) > 4) wrong.push(a.text + " overlaps " + b.text);
		}
	}
	return all.length ? wrong.join("; ") : "no text is seen";
})`

// covered lists texts of the drawing that is seen which a message covers when it leaves or arrives.
const covered = `((s) => {
	const wrong = new Set();
	for (const beat of s.steps.flatMap((step) => step.beats)) {
		s.apply(beat.before);
		s.running = s.animate(beat);
		for (const part of [0.001, 0.999]) {
			for (const a of s.running) {
				a.pause();
				a.currentTime = a.effect.getComputedTiming().delay + part * a.effect.getComputedTiming().duration;
			}
			for (const m of s.querySelectorAll(".message:not(.drops)")) for (const text of s.querySelectorAll("svg text")) {
				if (!text.textContent.trim() || text.closest(".message") || !text.checkVisibility()) continue;
				const a = m.getBoundingClientRect(), b = text.getBoundingClientRect();
				if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
					Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) wrong.add(m.textContent + " covers " + text.textContent);
			}
		}
		s.stop();
	}
	s.show(s.steps.length);
	return [...wrong].join("; ");
})(document.querySelector("lock-stage"))`

const (
	high = `((s) => (s.querySelector("svg.wide").getBoundingClientRect().bottom - s.getBoundingClientRect().top) / innerHeight)` +
		`(document.querySelector("lock-stage"))`
	animations = `document.getAnimations().filter((a) => a.effect.target.closest("lock-stage")).length`
	toStep     = `((n, r) => { r.value = n; return r.dispatchEvent(new Event("input")) })(%d, document.querySelector("lock-stage input"))`
	frames     = `new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(() => then(` +
		`document.getAnimations().map((a) => a.playState + a.currentTime).join()))))`
)

// playedScenes is a live page whose scenes have run.
func playedScenes(t *testing.T, scenes ...int) (base string) {
	t.Helper()
	cfg := config(t.TempDir())
	cfg.Options.App = []string{app.Of(t), "serve"}
	s, base := serve(t, cfg)
	for _, scene := range scenes {
		do(t, http.MethodPost, fmt.Sprintf("%s/ui/quiz/scene-%d/guess", base, scene), url.Values{"choice": {"0"}}, nil)
		testenv.Eventually(t, fmt.Sprintf("scene %d has run", scene), func() bool { return !s.isBusy(runPart(sceneName(scene - 1))) })
	}
	return base
}

// The drawing of a scene plays by itself, pauses with the space bar, and goes to any step. The answer is seen when it has played or was
// paused, and at once by a person who wants no motion.
func TestTheDrawingPlays(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	base := playedScenes(t)
	b := chrome.New(t)
	b.Open(base+"/ui/story/4", projector)
	b.Do(chromedp.WaitVisible("lock-stage svg.tall"), chromedp.KeyEvent("c"), chromedp.WaitVisible(".view:nth-of-type(1) lock-stage"))
	testenv.Eventually(t, "messages travel", func() bool { return chrome.Ask[int](b, animations) > 0 })
	answer := func() string {
		return chrome.Ask[string](b, `getComputedStyle(document.querySelector(".answer")).opacity`)
	}
	if answer() != "0" {
		t.Error("the answer is seen before the drawing has shown it")
	}
	b.Do(chromedp.KeyEvent(" "))
	if answer() != "1" {
		t.Error("a person who pauses the drawing does not see the answer")
	}
	at := chrome.Value(b, chromedp.Evaluate[string](frames, chromedp.EvalAwaitPromise))
	later := chrome.Value(b, chromedp.Evaluate[string](frames, chromedp.EvalAwaitPromise))
	if later != at || !strings.Contains(at, "paused") || strings.Contains(at, "running") {
		t.Errorf("a drawing that is paused goes on from %s to %s", at, later)
	}
	b.Do(chromedp.KeyEvent(" "))
	testenv.Eventually(t, "it goes on", func() bool {
		return chrome.Value(b, chromedp.Evaluate[string](frames, chromedp.EvalAwaitPromise)) != at
	})
	for _, n := range []int{3, 0, 9} {
		chrome.Ask[bool](b, fmt.Sprintf(toStep, n))
		shows := chrome.Ask[string](b, `document.querySelector("lock-stage .what").textContent`)
		want := chrome.Ask[string](b, fmt.Sprintf(`document.querySelectorAll("lock-stage .told li")[%d]?.firstChild.data.trim() ?? "none"`, n-1))
		if n > 0 && shows != want || chrome.Ask[int](b, animations) > 0 {
			t.Errorf("step %d shows %q in place of %q", n, shows, want)
		}
	}
	b.Do(chromedp.Click(".view:nth-of-type(1) .back"))
	if got := chrome.Ask[string](b, `document.querySelector("lock-stage input").value`); got != "8" {
		t.Errorf("a step back from 9 is %s", got)
	}
	b.Do(chromedp.Click(".view:nth-of-type(2) label"))
	testenv.Eventually(t, "the other variant plays", func() bool {
		return chrome.Ask[bool](b, `document.querySelectorAll("lock-stage")[1].plays && !document.querySelectorAll("lock-stage")[0].plays`)
	})
	b.Open(base+"/ui/story/4", chrome.View{Width: 1280, Height: 720, Scheme: "light"})
	b.Do(chromedp.WaitVisible(".view:nth-of-type(1) .told"))
	if n := chrome.Ask[int](b, animations); n > 0 || answer() != "1" {
		t.Errorf("%d animations disturb a person who wants none", n)
	}
}

// No text of a drawing overlaps another one, before the run and at each step, on a projector and on a phone, and all can be read. No
// message covers a text where it leaves or arrives. On the projector the drawing has more than half of the height.
func TestTheDrawingCanBeRead(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	scenes := []int{1, 2, 3, 4, 6, 7}
	base := playedScenes(t, scenes...)
	b := chrome.New(t)
	for screen, least := range map[chrome.View]int{projector: 16, {Width: 390, Height: 780, Scheme: "dark", Moves: true}: 13} {
		wanted := func(where string) {
			t.Helper()
			if wrong := chrome.Ask[string](b, fmt.Sprintf("%s(%d)", misdrawn, least)); wrong != "" {
				t.Errorf("%s at %d pixels: %s", where, screen.Width, wrong)
			}
		}
		b.Open(base+"/ui/story/5", screen)
		b.Do(chromedp.WaitVisible("lock-stage.waits"))
		wanted("before the run")
		for _, scene := range scenes {
			b.Open(fmt.Sprintf("%s/ui/story/%d", base, scene), screen)
			b.Do(chromedp.WaitVisible(".view:nth-of-type(1) input[type=range]"))
			steps := chrome.Ask[int](b, `Number(document.querySelector("lock-stage input").max)`)
			for n := range steps + 1 {
				chrome.Ask[bool](b, fmt.Sprintf(toStep, n))
				wanted(fmt.Sprintf("scene %d, step %d", scene, n))
			}
			b.Shoot(fmt.Sprintf("played-%d-%d", scene, screen.Width))
			if wrong := chrome.Ask[string](b, covered); wrong != "" {
				t.Errorf("scene %d at %d pixels: %s", scene, screen.Width, wrong)
			}
			if part := chrome.Ask[float64](b, high); screen == projector && part < leastHigh {
				t.Errorf("scene %d: the drawing has %.2f of the height", scene, part)
			}
		}
	}
}

// leastHigh is how much of a projector the drawing has.
const leastHigh = 0.55

// In a class the drawing is as high while the class is asked what was lost, after its answers were shown, and when a person looks at these.
func TestTheDrawingIsHighInAClass(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	cfg := config(t.TempDir())
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	cfg.Options.App, cfg.Options.Real = []string{app.Of(t), "serve"}, false // scene 6 shows a recorded run
	s, base := serve(t, cfg)
	b, ana := chrome.New(t), joined(t, base, "Ana")
	b.Open(base+"/ui/trainer", projector)
	b.Do(chromedp.SendKeys("#token", token+kb.Enter), chromedp.WaitNotPresent("#token"))
	for scene := 1; scene <= len(story.Scenes); scene++ {
		wanted := func(when string) {
			t.Helper()
			part, over := chrome.Ask[float64](b, high), chrome.Ask[int](b, `document.documentElement.scrollHeight - innerHeight`)
			if part < leastHigh || over > 0 {
				t.Errorf("scene %d, %s: the drawing has %.2f of the height, and the page scrolls by %d pixels", scene, when, part, over)
			}
			b.Shoot(fmt.Sprintf("high-%d-%s", scene, when))
		}
		send(t, ana, http.MethodPost, fmt.Sprintf("%s/ui/quiz/scene-%d/guess", base, scene), url.Values{"choice": {"0"}}, nil)
		b.Open(fmt.Sprintf("%s/ui/story/%d", base, scene), projector)
		b.Do(chromedp.WaitVisible("#run-it:enabled"), chromedp.KeyEvent("r"))
		testenv.Eventually(t, "the run has ended", func() bool { return s.scene(scene-1).view(viewer{}, nil).Ended })
		b.Do(chromedp.WaitVisible(".after legend"), chromedp.WaitVisible(".view:nth-of-type(1) input[type=range]"))
		wanted("asked")
		b.Do(chromedp.KeyEvent("s"), chromedp.WaitVisible(".ends .answer"))
		wanted("told")
		b.Do(chromedp.Click(".after summary"), chromedp.WaitVisible(".after .votes"))
		wanted("looked-at")
	}
}

// torn lists what of a drawing is not that of its last step.
const torn = `((s) => {
	const last = s.steps.at(-1), seen = (e) => s.querySelector(e), looks = last.beats.at(-1).after.counter;
	const is = {
		caption: [seen(".what").textContent, last.says], counter: [s.parts("counter")[0].querySelector("[data-says]").textContent, looks.text],
		slider: [seen("input").value, seen("input").max], back: [seen(".back").disabled, false], on: [seen(".on").disabled, true],
		play: [seen(".play").firstChild.data.trim(), "Play"], plays: [s.plays, false],
	};
	const wrong = Object.entries(is).filter(([, [is, want]]) => is !== want);
	return wrong.map(([what, [is, want]]) => what + " is " + is + " and not " + want).join("; ");
})(document.querySelector("lock-stage"))`

// When the trainer shows the answers, the drawing says more, and is not played again: whether it has ended, goes on or stands at a step,
// its picture, caption, slider and buttons then show its end, until somebody presses Play.
func TestTheDrawingIsAtItsEndWithTheAnswers(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := teaching(t)
	b := chrome.New(t)
	b.Open(base+"/ui/trainer", projector)
	b.Do(chromedp.SendKeys("#token", token+kb.Enter), chromedp.WaitNotPresent("#token"))
	for _, when := range []string{
		fmt.Sprintf(toStep, 99), // the slider stops at its end
		fmt.Sprintf(toStep, 3),
		`document.querySelector("lock-stage").plays`,
	} {
		b.Open(base+"/ui/story/7", projector)
		b.Do(chromedp.WaitVisible("#run-it:enabled"), chromedp.KeyEvent("r"), chromedp.WaitVisible(".view:nth-of-type(1) input[type=range]"))
		b.Do(chromedp.WaitVisible("#show-it:enabled"))
		if !chrome.Ask[bool](b, when) {
			t.Errorf("it is not so that %s", when)
		}
		b.Do(chromedp.KeyEvent("s"), chromedp.WaitVisible(".view .shows"))
		if wrong := chrome.Ask[string](b, torn); wrong != "" {
			t.Errorf("after %s: %s", when, wrong)
		}
		b.Do(chromedp.Click(".view:nth-of-type(1) .play"))
		testenv.Eventually(t, "it plays", func() bool { return chrome.Ask[bool](b, `document.querySelector("lock-stage").plays`) })
		b.Do(chromedp.Click("#again-it"), chromedp.WaitVisible("lock-stage.waits"))
	}
}
