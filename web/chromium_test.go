package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/experiments"
	"locklab/internal/testenv"
	"locklab/internal/testenv/chrome"
	"locklab/versions"
)

// tabTo presses Tab until what has the focus is what is asked for. A person has no other way to it.
func tabTo(b *chrome.Browser, what string) {
	b.T.Helper()
	for range 60 {
		b.Do(chromedp.KeyEvent(kb.Tab))
		if chrome.Ask[bool](b, `document.activeElement.matches(`+strconv.Quote(what)+`)`) {
			return
		}
	}
	b.T.Fatalf("Tab does not reach %s", what)
}

// The two screens by keyboard alone, wide and light, then narrow and dark: a burst, which is seen again slowly and stopped, and an
// experiment. Nothing moves that was not pressed, no rule of accessibility is violated, and the page asks nobody else.
func TestBurstAndExperimentInChromium(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	_, base := bursting(t, nil)
	b := chrome.New(t)
	for _, v := range []chrome.View{
		{Name: "1280", Width: 1280, Height: 1440, Scheme: "light"}, {Name: "390", Width: 390, Scheme: "dark"},
	} {
		t.Run(v.Name, func(t *testing.T) {
			defer func(outer *testing.T) { b.T = outer }(b.T)
			b.T = t
			wellMade := func(of string) {
				t.Helper()
				b.Accessible(of)
				b.Still()
				if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("%s: it is %d pixels too wide", of, over)
				}
				if !chrome.Ask[bool](b, `window.first === true`) {
					t.Errorf("%s: the page was loaded again", of)
				}
				b.Calm(func(url string) bool { return strings.HasPrefix(url, base+"/ui/") || url == "data:," })
				b.Shoot(of + "-" + v.Name)
			}
			sendBurst(b, base, v)
			wellMade("burst")
			runExperiment(b, base, map[int64]string{1280: "L03-foreign-unlock", 390: "L01-no-expiry"}[v.Width], v)
			wellMade("experiment")
		})
	}
}

// sendBurst guesses, sends a burst, sees it again, and stops that.
func sendBurst(b *chrome.Browser, base string, v chrome.View) {
	b.T.Helper()
	b.Open(base+"/ui/burst", chrome.View{Name: "burst-before-" + v.Name, Width: v.Width, Height: v.Height, Scheme: v.Scheme})
	chrome.Ask[bool](b, `window.first = true`)
	tabTo(b, "[name=guess]")
	b.Do(chromedp.KeyEvent("100"))
	tabTo(b, "#run-it")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".card .wrote-0"))
	b.Shoot("burst-runs-" + v.Name)
	b.Do(chromedp.WaitVisible(".answer"), chromedp.WaitVisible(".finals"), chromedp.WaitVisible("#run-it:enabled"))
	if n := chrome.Ask[int](b, `document.querySelectorAll(".finals .newest").length`); n != len(versions.Defaults()) {
		b.T.Errorf("%d dots of the newest run", n)
	}
	if text := chrome.Ask[string](b, `document.querySelector("#burst-guesses").textContent`); !strings.Contains(text, "You guessed 100") {
		b.T.Errorf("the guess is not beside the result: %s", text)
	}
	const beside = `[...document.querySelectorAll(".card dd")].filter((e) =>
		e.getBoundingClientRect().right > e.closest(".card").getBoundingClientRect().right).length`
	if n := chrome.Ask[int](b, beside); n > 0 {
		b.T.Errorf("%d numbers stand beside their card", n)
	}
	tabTo(b, "#again-it")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#stop-it"), chromedp.WaitVisible(".card .wrote-0"))
	b.Shoot("burst-again-" + v.Name)
	tabTo(b, "#stop-it")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#run-it:enabled"))
}

// runExperiment finds an experiment in the list, guesses, and runs it.
func runExperiment(b *chrome.Browser, base, id string, v chrome.View) {
	b.T.Helper()
	b.Open(base+"/ui/experiments", chrome.View{Width: v.Width, Height: v.Height, Scheme: v.Scheme})
	tabTo(b, "[name=article]")
	b.Do(chromedp.KeyEvent("A2"))
	tabTo(b, ".filter button")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("main:not(:has([href$='/P1-no-lock']))"))
	b.Shoot("experiments-" + v.Name)
	tabTo(b, "[href$='/"+id+"']")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".ticks"))
	b.Do(chromedp.WaitVisible("#run-it:enabled"))
	chrome.Ask[bool](b, `window.first = true`)
	tabTo(b, ".ticks [value='1']")
	b.Do(chromedp.KeyEvent(" "))
	b.Shoot("experiment-before-" + v.Name)
	tabTo(b, "#run-it")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".banner.as-expected"), chromedp.WaitVisible(".seen[open] .drawing"))
	if !chrome.Ask[bool](b, `document.querySelectorAll(".ticks em").length === document.querySelectorAll(".ticks input").length`) {
		b.T.Error("the guesses are not beside the results")
	}
	if says := chrome.Ask[string](b, `document.querySelector(".go").textContent`); !strings.Contains(says, "You guessed") {
		b.T.Errorf("it does not count the guesses: %s", says)
	}
	if title := chrome.Ask[string](b, `document.querySelector(".live .claim").textContent`); title == "" {
		b.T.Error("the lesson is missing")
	}
}

// A person goes through a scene with the keyboard alone: Tab to an answer, Enter, and the result is there without loading the page again.
func TestASceneInChromium(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := serving(t)
	b := chrome.New(t)
	for _, v := range []chrome.View{{Name: "scene-1280", Width: 1280, Scheme: "light"}, {Name: "scene-390", Width: 390, Scheme: "dark"}} {
		t.Run(v.Name, func(t *testing.T) {
			defer func(outer *testing.T) { b.T = outer }(b.T)
			b.T = t
			b.Open(base+"/ui/story/3", v)
			chrome.Ask[bool](b, `window.first = true`)
			for range 20 {
				b.Do(chromedp.KeyEvent(kb.Tab))
				if chrome.Ask[string](b, `document.activeElement.textContent`) == "(b) When its connection ends." {
					break
				}
			}
			b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".answer"))
			says := chrome.Ask[string](b, `document.querySelector(".answer").textContent`)
			if !strings.HasPrefix(says, "Not (b): ") {
				t.Errorf("it says %q", says)
			}
			if !chrome.Ask[bool](b, `window.first === true`) {
				t.Error("the page was loaded again")
			}
			if !chrome.Ask[bool](b, `document.activeElement.closest(".told") !== null`) {
				t.Errorf("the focus is lost: %s", chrome.Ask[string](b, `document.activeElement.outerHTML`))
			}
			const stops = `Math.max(...[...document.querySelectorAll(".result figure")].map(
				(figure) => figure.querySelectorAll(".mark[tabindex='0']").length))`
			if n := chrome.Ask[int](b, stops); n > 1 {
				t.Errorf("a drawing has %d stops of the Tab key", n)
			}
			if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("it is %d pixels too wide", over)
			}
			b.Shoot(v.Name + "-told")
			b.Calm(func(url string) bool { return strings.HasPrefix(url, base+"/ui/") || url == "data:," })
			do(t, "POST", base+"/ui/story/3/again", nil, nil)
		})
	}
}

// A browser has six connections for one program. A page that was left needs none, or the seventh page would wait.
func TestAPageThatWasLeftHasNoConnection(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	s, _ := serving(t)
	var open atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ui/events" {
			open.Add(1)
			defer open.Add(-1)
		}
		s.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	b := chrome.New(t)
	for scene := 1; scene <= 7; scene++ {
		b.Open(fmt.Sprintf("%s/ui/story/%d", server.URL, scene), chrome.View{Width: 1280, Scheme: "light"})
	}
	testenv.Eventually(t, "one connection is left, of the page that is seen", func() bool { return open.Load() == 1 })
}

// Enter alone replays a saved run: the link to the next event has the focus, and at the end that to the event before.
func TestAReplayByKeyboard(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	s, base := serving(t)
	looker := looks(t, base, "run-L03-foreign-unlock")
	do(t, http.MethodPost, base+"/ui/experiments/L03/run", nil, nil)
	looker.until("run-L03-foreign-unlock", "as expected")
	run := base + "/ui/experiments/L03-foreign-unlock/runs/" + experiments.History(s.cfg.Store, "L03-foreign-unlock")[0]
	b := chrome.New(t)
	b.Open(run+"/2", chrome.View{Width: 1280, Scheme: "light"})
	for event := 2; event <= 5; event++ {
		b.Do(chromedp.WaitVisible("a:focus"), chromedp.KeyEvent(kb.Enter))
		b.Do(chromedp.WaitVisible(fmt.Sprintf(`//p[starts-with(., "Event %d of")]`, event)))
	}
	b.Shoot("replay-1280")
}

// Every page, before and after a run, in both colour schemes and widths: axe-core finds no violation, and nothing is too wide.
func TestEveryPageIsAccessible(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	s, base := teaching(t)
	leads := trains(t, base)
	joined(t, base, "Ana")
	do(t, http.MethodGet, base+"/ui/story/3", nil, nil)
	ended := looks(t, base, "scene-3", "ask-L01-no-expiry")
	send(t, leads, http.MethodPost, base+"/ui/story/3/run", nil, nil)
	ended.until("scene-3", "A lock needs an expiry")
	send(t, leads, http.MethodPost, base+"/ui/experiments/L01/run", nil, nil)
	ended.until("ask-L01-no-expiry", "Which variants")
	testenv.Eventually(t, "the experiment has ended", func() bool { return !s.isBusy("run-L01-no-expiry") })
	b := chrome.New(t)
	for _, path := range []string{
		"/ui/", "/ui/story/1", "/ui/story/3", "/ui/experiments", "/ui/experiments/L01", "/ui/experiments/L03", "/ui/experiments/L0x",
		savedRuns(t, base)[0], savedRuns(t, base)[0] + "/4?event=5",
		"/ui/steps", "/ui/steps/L03/1", "/ui/burst", "/ui/servers", "/ui/class", "/ui/join", "/ui/trainer",
	} {
		for _, v := range []chrome.View{{Width: 1280, Scheme: "light"}, {Width: 390, Scheme: "dark"}} {
			b.Open(base+path, v)
			where := fmt.Sprintf("%s at %d pixels, %s", path, v.Width, v.Scheme)
			b.Accessible(where)
			if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s: it is %d pixels too wide", where, over)
			}
		}
	}
}

// A trainer and two participants on phones: the one guesses before the run, and the other comes after it.
func TestAClassInChromium(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := teaching(t)
	phone, laptop := chrome.View{Width: 390, Scheme: "dark"}, chrome.View{Width: 1280, Scheme: "light"}
	leads, ana, ben := chrome.New(t), chrome.New(t), chrome.New(t)
	leads.Open(base+"/ui/trainer", laptop)
	leads.Do(chromedp.SendKeys("input[name=token]", token+kb.Enter), chromedp.WaitVisible(".code"))
	join := func(b *chrome.Browser, name string) {
		b.Open(base+"/ui/join", phone)
		b.Do(chromedp.SendKeys("input[name=name]", name+kb.Enter), chromedp.WaitVisible(".board .you"))
	}
	join(ana, "Ana")
	leads.Do(chromedp.WaitVisible(".board tbody tr")) // without loading the page again
	leads.Shoot("class-1280")
	leads.Open(base+"/ui/story/3", laptop)
	ana.Do(chromedp.WaitVisible(".now a"), chromedp.Click(".now a"), chromedp.WaitVisible(".choices"))
	ana.Do(chromedp.Click(".choices li:first-child button"))
	leads.Do(chromedp.WaitVisible(".guesses"))
	chrome.Value(leads, chromedp.Poll[bool](`document.querySelector(".guesses").textContent.includes("1 of 1")`))
	leads.Do(chromedp.Click(".button:not(.next)"))
	ana.Do(chromedp.WaitVisible(".answer"))
	if says := chrome.Ask[string](ana, `document.querySelector(".answer").textContent`); !strings.HasPrefix(says, "Right. ") {
		t.Errorf("Ana reads %q", says)
	}
	ana.Shoot("class-390-told")
	join(ben, "Ben")
	ben.Do(chromedp.Click(".now a"), chromedp.WaitVisible(".answer"))
	if says := chrome.Ask[string](ben, `document.querySelector(".choices .right").textContent`); !strings.Contains(says, "1 of 1") {
		t.Errorf("late Ben reads %q", says)
	}
	ana.Open(base+"/ui/class", phone)
	if line := chrome.Ask[string](ana, `document.querySelector(".board .you").textContent`); line != "Ana11" {
		t.Errorf("the board says %q", line)
	}
	for _, b := range []*chrome.Browser{leads, ana, ben} {
		b.Calm(func(url string) bool { return strings.HasPrefix(url, base+"/ui/") || url == "data:," })
	}
}

// A person plays a lock with the keyboard alone: keys press buttons, the focus stays, and nothing moves.
func TestAPlayInChromium(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := serving(t)
	b := chrome.New(t)
	for _, v := range []chrome.View{{Name: "steps-1280", Width: 1280, Scheme: "light"}, {Name: "steps-390", Width: 390, Scheme: "dark"}} {
		t.Run(v.Name, func(t *testing.T) {
			defer func(outer *testing.T) { b.T = outer }(b.T)
			b.T = t
			b.Open(base+"/ui/steps", chrome.View{Name: v.Name + "-list", Width: v.Width, Scheme: v.Scheme})
			b.Open(base+"/ui/steps/L03/1", v)
			presses := func(keys string, then string) {
				t.Helper()
				for _, k := range keys {
					b.Do(chromedp.KeyEvent(string(k)))
				}
				testenv.Eventually(t, "the page says "+then, func() bool {
					return strings.Contains(chrome.Ask[string](b, `document.querySelector(".play").textContent`), then)
				})
			}
			const places = `[...document.querySelectorAll(".play button, .outcome, .stored")].map((e) => e.getBoundingClientRect())
				.flatMap((r) => [r.top + scrollY, r.bottom + scrollY])`
			presses("r", "A wants the lock")
			chrome.Ask[bool](b, `(window.before = `+places+`, true)`)
			chrome.Ask[bool](b, `document.querySelector("[data-key=R]").focus() === undefined`)
			presses("a", "A holds the lock")
			presses("bt", "There is no key.")
			presses("u", "attempt-A")
			presses("B", "B refused") // Shift: it has ended, so nothing happens
			presses("r", "B wants the lock")
			presses("B", "B dead")
			presses("aaa", "releases the lock, wrote 1") // two keys are stored
			moved := chrome.Ask[float64](b, `Math.max(...`+places+`.map((at, i) => Math.abs(at - before[i])))`)
			if moved > 2 { // a fraction of a line is rounded
				t.Errorf("the page has moved by %.1f pixels", moved)
			}
			if key := chrome.Ask[string](b, `document.activeElement.dataset.key`); key != "R" {
				t.Errorf("the focus is on %q", key)
			}
			presses("s", "with 9 left")
			presses("nnnnnnnnn", "Violation: a client deleted another client's lock.")
			if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("it is %d pixels too wide", over)
			}
			b.Shoot(v.Name + "-violated")
			const toggle = `document.querySelector("#keys").click() === undefined`
			chrome.Ask[bool](b, `addEventListener("submit", () => { window.sent = true }) === undefined`)
			chrome.Ask[bool](b, toggle)
			b.Do(chromedp.KeyEvent("r"))
			if chrome.Ask[bool](b, `window.sent === true`) {
				t.Error("a key presses its button although the keys are off")
			}
			chrome.Ask[bool](b, toggle)
			presses("r", "No violation so far")
			b.Calm(func(url string) bool { return strings.HasPrefix(url, base+"/ui/") || url == "data:," })
		})
	}
}
