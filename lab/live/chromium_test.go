package live

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	qr "github.com/piglig/go-qr"

	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
	"locklab/versions"
)

// Two screens by keyboard alone: a burst, wide and light, which is seen again slowly and stopped, and an experiment, narrow and dark.
// Nothing moves that was not pressed, no rule of accessibility is violated, and the page asks nobody else.
func TestBurstAndExperimentInChromium(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	s, base := bursting(t, nil)
	s.bursts.plan.Users = 60
	b := chrome.New(t)
	for of, drive := range map[string]func(*chrome.Browser, string){"burst": sendBurst, "experiment": runExperiment} {
		drive(b, base)
		b.Accessible(of)
		b.Still()
		if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s: it is %d pixels too wide", of, over)
		}
		if !chrome.Ask[bool](b, `window.first === true`) {
			t.Errorf("%s: the page was loaded again", of)
		}
		b.Calm(func(url string) bool { return strings.HasPrefix(url, base+"/ui/") || url == "data:," })
		b.Shoot(of)
	}
}

// sendBurst guesses, sends a burst, sees it again, and stops that.
func sendBurst(b *chrome.Browser, base string) {
	b.T.Helper()
	b.Open(base+"/ui/burst", chrome.View{Name: "burst-before", Width: 1280, Height: 1440, Scheme: "light"})
	chrome.Ask[bool](b, `window.first = true`)
	b.TabTo("[name=guess]")
	b.Do(chromedp.KeyEvent("10"))
	b.TabTo("#run-it")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".card .first"))
	b.Shoot("burst-runs")
	b.Do(chromedp.WaitVisible(".answer"), chromedp.WaitVisible(".finals"), chromedp.WaitVisible("#run-it:enabled"))
	if text := chrome.Ask[string](b, `document.querySelector("main").textContent`); !strings.Contains(text, "You guessed 10, it") {
		b.T.Errorf("the guess is not beside the result: %s", text)
	}
	b.TabTo("#again-it")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#stop-it"), chromedp.WaitVisible(".card .first"))
	b.Shoot("burst-again")
	b.TabTo("#stop-it")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#run-it:enabled"))
}

// runExperiment finds an experiment in the list, guesses, and runs it.
func runExperiment(b *chrome.Browser, base string) {
	b.T.Helper()
	b.Open(base+"/ui/experiments", chrome.View{Width: 390, Scheme: "dark"})
	b.TabTo("[name=article]")
	b.Do(chromedp.KeyEvent("A2"), chromedp.WaitNotVisible("[href$='/P1-no-lock']"))
	b.Shoot("experiments")
	b.TabTo("[href$='/L01-no-expiry']")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".choices"))
	b.Do(chromedp.WaitVisible("#run-it:enabled"))
	chrome.Ask[bool](b, `window.first = true`)
	b.Shoot("experiment-before")
	b.TabTo("#guess-1")
	b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".banner.as-predicted"), chromedp.WaitVisible(".seen[open] .drawing"))
	if says := chrome.Ask[string](b, `document.querySelector(".answer").textContent`); !strings.HasPrefix(says, "Not (b)") {
		b.T.Errorf("it does not say what was right: %s", says)
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

// Every page, before and after a run, in both colour schemes and widths: axe-core finds no violation, and nothing is too wide.
func TestEveryPageIsAccessible(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	s, base := teaching(t)
	leads := trains(t, base)
	joined(t, base, "Ana")
	do(t, http.MethodGet, base+"/ui/story/3", nil, nil)
	for _, quiz := range []string{"scene-3", "scene-4", "L01"} {
		send(t, leads, http.MethodPost, base+"/ui/quiz/"+quiz+"/run", nil, nil)
	}
	for _, part := range []string{"scene-3-run", "scene-4-run", "L01-no-expiry-run"} {
		testenv.Eventually(t, part+" has ended", func() bool { return !s.isBusy(part) })
	}
	for _, quiz := range []string{"scene-3", "L01"} { // scene 4 waits for its trainer
		send(t, leads, http.MethodPost, base+"/ui/quiz/"+quiz+"/show", nil, nil)
	}
	b := chrome.New(t)
	for _, path := range []string{
		"/ui/", "/ui/story/1", "/ui/story/3", "/ui/story/4", "/ui/story",
		"/ui/experiments", "/ui/experiments/L01", "/ui/experiments/L03", "/ui/experiments/L0x",
		savedRuns(t, base)[0], savedRuns(t, base)[0] + "/4?event=5",
		"/ui/steps", "/ui/steps/L03/1", "/ui/burst", "/ui/servers", "/ui/locks", "/ui/class", "/ui/join", "/ui/trainer",
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

// screens3 are the browsers of a class: the trainer's at the projector, a phone and a laptop.
type screens3 struct {
	trainer, phone, laptop *chrome.Browser
}

var (
	projector = chrome.View{Width: 1280, Height: 720, Scheme: "light", Moves: true}
	phone     = chrome.View{Width: 390, Height: 780, Scheme: "dark"}
	laptop    = chrome.View{Width: 1280, Height: 800, Scheme: "dark"}
)

// A class of 60 with three browsers. The trainer leads by keys. All connections are lost, an instance is killed, and somebody comes late:
// each guess and each answer is there, and everybody goes on. On the projector no scene scrolls, and no state of it breaks a rule of
// accessibility. The QR code can be read from the screen.
func TestAClassInChromium(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	const people = 58 // and two browsers
	cfg := config(t.TempDir())
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	cfg.Service, cfg.Versions, cfg.Options.App = instancesOf(t), versions.DefaultNames(), []string{app.Of(t), "serve"}
	s, server := served(t, cfg)
	base := server.URL
	b := screens3{chrome.New(t), chrome.New(t), chrome.New(t)}
	b.trainer.Open(base+"/ui/trainer", projector)
	b.trainer.Do(chromedp.SendKeys("input[name=token]", token+kb.Enter), chromedp.WaitVisible(".invite .code"))
	wantCode(t, b.trainer, "http://lab.example:8070/ui/join")
	join := func(of *chrome.Browser, v chrome.View, name string) {
		of.Open(base+"/ui/join", v)
		of.Do(chromedp.SendKeys("input[name=name]", name+kb.Enter), chromedp.WaitVisible(".lobby .you"))
	}
	join(b.phone, phone, "Ana")
	join(b.laptop, laptop, "Ben")
	clients := make([]*http.Client, people)
	for i := range clients {
		clients[i] = joined(t, base, fmt.Sprintf("participant %d", i))
	}
	all := func(path, form string) {
		t.Helper()
		for i, c := range clients {
			if status, body := send(t, c, http.MethodPost, base+path, url.Values{form: {fmt.Sprint(i % 3)}}, nil); status != http.StatusOK {
				t.Fatal(status, body)
			}
		}
	}
	b.trainer.Do(chromedp.WaitVisible(`//h2/span[text() = "60"]`))
	b.trainer.Shoot("class-1280")
	b.trainer.Open(base+"/ui/story/1", projector)
	b.follow(sceneName(0))
	for scene := 1; scene <= 4; scene++ {
		quiz := "/ui/quiz/" + sceneName(scene-1)
		if scene > 1 {
			b.trainer.Do(chromedp.KeyEvent(kb.ArrowRight))
			b.follow(sceneName(scene - 1))
		}
		b.phone.Do(chromedp.KeyEvent("a"))
		b.laptop.Do(chromedp.KeyEvent("c"))
		all(quiz+"/guess", "choice")
		b.trainer.Do(chromedp.WaitVisible(`//p[contains(., "60 of 60 have guessed")]`))
		b.wellMade(t, scene, "open")
		if scene == 3 {
			server.CloseClientConnections()
		}
		b.trainer.Do(chromedp.KeyEvent("r"))
		b.trainer.Do(chromedp.WaitVisible(".after legend"), chromedp.WaitVisible(".views"))
		if text := chrome.Ask[string](b.trainer, `document.body.textContent`); strings.Contains(text, "20 of 60") {
			t.Error("the projector has the guesses before the trainer shows them")
		}
		all(quiz+"/answer", "choice")
		for _, of := range []*chrome.Browser{b.phone, b.laptop} {
			of.Do(chromedp.WaitVisible(".views"), chromedp.WaitVisible(".after button:enabled"))
			// A person scrolls to a button that the bar at the bottom covers.
			chrome.Ask[bool](of, `document.querySelector(".after button").scrollIntoView({ block: "center", behavior: "instant" }) === undefined`)
			of.Do(chromedp.Click(".after li:first-child button"))
		}
		b.trainer.Do(chromedp.WaitVisible(`//p[contains(., "60 of 60 have answered")]`))
		b.wellMade(t, scene, "ran")
		b.trainer.Do(chromedp.KeyEvent("s"))
		for _, of := range []*chrome.Browser{b.trainer, b.phone, b.laptop} {
			of.Do(chromedp.WaitVisible(".ends .answer"))
		}
		b.wellMade(t, scene, "told")
		for _, of := range []*chrome.Browser{b.trainer, b.phone, b.laptop} {
			of.Forget() // it complained of the connection that was lost
		}
	}
	if says := chrome.Ask[string](b.phone, `document.querySelector(".answer").textContent`); !strings.HasPrefix(says, "Not (a): ") {
		t.Errorf("Ana reads %q", says)
	}
	b.trainer.Do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.WaitVisible(`//h1[contains(., "The holder dies")]`))
	b.trainer.Do(chromedp.WaitVisible(".ends .answer"))

	// An instance is killed. The burst that meets it proves nothing, and the class goes on.
	b.trainer.Open(base+"/ui/burst", projector)
	b.trainer.Do(chromedp.WaitVisible(".question"))
	leads := trains(t, base)
	send(t, leads, http.MethodPost, base+"/ui/burst", plan("100", "v1", "v3"), nil)
	all("/ui/quiz/burst/guess", "guess")
	send(t, leads, http.MethodPost, base+"/ui/quiz/burst/run", nil, nil)
	b.trainer.Do(chromedp.WaitEnabled("#show-it"))
	b.trainer.Do(chromedp.KeyEvent("s"), chromedp.WaitVisible(`//p[contains(., "of 58 guesses are within a tenth")]`))
	s.bench.Instances().Instances[1].Kill()
	send(t, leads, http.MethodPost, base+"/ui/quiz/burst/run", nil, nil)
	b.trainer.Do(chromedp.WaitVisible(`//p[contains(., "requests failed") or contains(., "did not run")]`))
	b.trainer.Accessible("a burst without an instance")

	late := joined(t, base, "late")
	for _, part := range []string{"scene-4", "scene-1"} {
		looksAs(t, late, base, part).until(part, `class="answer`)
	}
	b.phone.Open(base+"/ui/class", phone)
	if line := chrome.Ask[string](b.phone, `document.querySelector(".rank").textContent`); !strings.HasSuffix(line, "of 8.") {
		t.Errorf("Ana has guessed four times and answered four times, and the board says %q", line)
	}
	for _, of := range []*chrome.Browser{b.trainer, b.phone, b.laptop} {
		of.Calm(func(url string) bool { return strings.HasPrefix(url, base+"/ui/") || url == "data:," })
	}
}

// follow waits until the participants are where the trainer is.
func (b screens3) follow(quiz string) {
	for _, of := range []*chrome.Browser{b.phone, b.laptop} {
		of.Do(chromedp.WaitVisible("#" + quiz))
	}
}

// wellMade fails the test when a screen breaks a rule, is too wide, or scrolls on the projector.
func (b screens3) wellMade(t *testing.T, scene int, state string) {
	t.Helper()
	for name, of := range map[string]*chrome.Browser{"trainer": b.trainer, "phone": b.phone, "laptop": b.laptop} {
		where := fmt.Sprintf("class-%s-%d-%s", name, scene, state)
		of.Accessible(where)
		if over := chrome.Ask[int](of, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s is %d pixels too wide", where, over)
		}
		of.Shoot(where)
	}
	if over := chrome.Ask[int](b.trainer, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
		t.Errorf("scene %d, %s: the projector scrolls by %d pixels", scene, state, over)
	}
}

// wantCode reads the QR code of a page from its picture.
func wantCode(t *testing.T, b *chrome.Browser, want string) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(chrome.Value(b, chromedp.CaptureScreenshot())))
	if err != nil {
		t.Fatal(err)
	}
	if says, err := qr.Decode(picture); err != nil || says != want {
		t.Errorf("the camera of a phone reads %q: %v", says, err)
	}
}

// A person plays a lock with the keyboard alone: keys press buttons, and the focus stays. The keys can be switched off.
func TestAPlayInChromium(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := serving(t)
	b := chrome.New(t)
	b.Open(base+"/ui/steps/L03/1", chrome.View{Name: "steps", Width: 390, Scheme: "dark"})
	presses := func(keys string, then string) {
		t.Helper()
		for _, k := range keys {
			b.Do(chromedp.KeyEvent(string(k)))
		}
		testenv.Eventually(t, "the page says "+then, func() bool {
			return strings.Contains(chrome.Ask[string](b, `document.querySelector(".play").textContent`), then)
		})
	}
	presses("r", "A wants the lock")
	chrome.Ask[bool](b, `document.querySelector("[data-key=R]").focus() === undefined`)
	presses("a", "A holds the lock")
	presses("bt", "There is no key.")
	presses("u", "attempt-A")
	presses("B", "B refused") // Shift: it has ended, so nothing happens
	presses("r", "B wants the lock")
	presses("B", "B dead")
	presses("aaa", "releases the lock, wrote 1") // two keys are stored
	if key := chrome.Ask[string](b, `document.activeElement.dataset.key`); key != "R" {
		t.Errorf("the focus is on %q", key)
	}
	presses("s", "6 left")
	presses("nnnnnn", "Violation: a client deleted another client's lock.")
	b.Shoot("steps-violated")
	const toggle = `document.querySelector("#keys").click() === undefined`
	chrome.Ask[bool](b, `addEventListener("submit", () => { window.sent = true }) === undefined`)
	chrome.Ask[bool](b, toggle)
	b.Do(chromedp.KeyEvent("r"))
	if chrome.Ask[bool](b, `window.sent === true`) {
		t.Error("a key presses its button although the keys are off")
	}
	chrome.Ask[bool](b, toggle)
	presses("r", "Found: 6 moves lead to a violation")
	b.Calm(func(url string) bool { return strings.HasPrefix(url, base+"/ui/") || url == "data:," })
}
