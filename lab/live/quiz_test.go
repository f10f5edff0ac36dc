package live

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

// wantText waits until an element of a page has a text.
func wantText(b *chrome.Browser, of, text string) {
	b.T.Helper()
	testenv.Eventually(b.T, of+" says "+text, func() bool {
		return strings.Contains(chrome.Ask[string](b, `document.querySelector("`+of+`")?.textContent || ""`), text)
	})
}

// Two trainers' browsers show the same form of a burst. What somebody has changed in it stays, with the focus, when the other one asks for
// another plan; what nobody has changed follows.
func TestTwoBrowsersDoNotOverwriteEachOther(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	cfg := config(t.TempDir())
	cfg.Class, cfg.Address, cfg.Service = &Class{Token: token}, "http://lab.example:8070", noInstances
	_, base := serve(t, cfg)
	b, other := chrome.New(t), trains(t, base)
	b.Open(base+"/ui/trainer", desk)
	b.Do(chromedp.SendKeys("input[name=token]", token+kb.Enter), chromedp.WaitVisible(".invite"))
	b.Open(base+"/ui/burst", desk)
	b.Do(chromedp.WaitVisible("#plan"), chromedp.SetValue("#users", "44"), chromedp.Click("#version-v0"))
	send(t, other, http.MethodPost, base+"/ui/burst", url.Values{"users": {"100"}, "drivers": {"6"}, "version": {"v0", "v3"}}, nil)
	testenv.Eventually(t, "what nobody has changed follows", func() bool {
		return chrome.Ask[string](b, `document.querySelector("#drivers").value`) == "6"
	})
	const kept = `document.querySelector("#users").value + document.querySelector("#version-v0").checked +
		document.querySelector("#version-v1").checked + document.activeElement.id`
	if now := chrome.Ask[string](b, kept); now != "44falsefalseversion-v0" {
		t.Errorf("the form is now %q", now)
	}
	b.Do(chromedp.Click("#plan button"))
	wantText(b, ".question p", "44 clients open the page")
}

// An error stands beside its field, with the script of the page and without it. The next attempt removes it.
func TestAnErrorStandsBesideItsField(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := burstPage(t, nil, noInstances)
	const says = `id="wrong-users" class="wrong-field" role="alert">Users is 7; it must be even`
	if status, page := do(t, http.MethodPost, base+"/ui/burst", plan("7", "v3"), nil); status != http.StatusBadRequest ||
		!strings.Contains(page, says) {
		t.Errorf("without script: %d %s", status, page)
	}
	b := chrome.New(t)
	b.Open(base+"/ui/burst", desk)
	b.Do(chromedp.WaitVisible("#plan"), chromedp.SetValue("#users", "7"), chromedp.Click("#run-it"))
	wantText(b, "#wrong-users", "Users is 7; it must be even")
	b.Accessible("an error beside its field")
	b.Do(chromedp.SetValue("#users", "8"), chromedp.SendKeys("[name=guess]", "9"), chromedp.Click("#run-it"))
	wantText(b, "#wrong-guess", "Guess a number from 0 to 8")
	const others = `document.querySelector("#wrong-users").textContent + document.querySelector("#connection").textContent`
	if text := chrome.Ask[string](b, others); text != "" {
		t.Errorf("the page still says %q", text)
	}
	b.Open(base+"/ui/story/3", desk)
	b.Do(chromedp.WaitVisible(".choices"))
	chrome.Ask[bool](b, `(document.querySelector("#guess-0").value = "9") === "9"`)
	b.Do(chromedp.Click("#guess-0"))
	wantText(b, "#wrong-guess", "Choose one of the answers")
}

// A participant's page goes where the trainer goes, but not while somebody types, and not after “Stay here”. What somebody has opened and
// chosen on a page stays when others guess.
func TestAPhoneFollowsTheTrainer(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	cfg := config(t.TempDir())
	cfg.Class, cfg.Address, cfg.Service = &Class{Token: token}, "http://lab.example:8070", noInstances
	_, base := serve(t, cfg)
	leads, b := trains(t, base), chrome.New(t)
	at := func(quiz string) { t.Helper(); b.Do(chromedp.WaitVisible("#" + quiz)) }
	shows := func(path string) {
		t.Helper()
		testenv.Eventually(t, "the phone has a link to "+path, func() bool {
			return chrome.Ask[string](b, `document.querySelector("#now a")?.pathname || ""`) == path
		})
	}
	opens := func(path string) { send(t, leads, http.MethodGet, base+path, nil, nil) }
	b.Open(base+"/ui/join", phone)
	b.Do(chromedp.SendKeys("input[name=name]", "Ana"+kb.Enter), chromedp.WaitVisible(".you"))
	opens("/ui/story/5")
	at("scene-5")
	opens("/ui/burst")
	at("burst")
	b.Do(chromedp.WaitVisible("#guess"), chromedp.SendKeys("#guess input", "12"))
	opens("/ui/story/2")
	shows("/ui/story/2")
	send(t, joined(t, base, "Ben"), http.MethodPost, base+"/ui/quiz/burst/guess", url.Values{"guess": {"3"}}, nil)
	wantText(b, ".guesses", "1 of 2 have guessed")
	if typed := chrome.Ask[string](b, `document.querySelector("#guess input").value + location.pathname`); typed != "12/ui/burst" {
		t.Errorf("while Ana types she has %q", typed)
	}
	b.Do(chromedp.SendKeys("#guess input", kb.Enter))
	at("scene-2") // when the guess is sent
	b.Do(chromedp.Click("#stay"))
	opens("/ui/story/3")
	shows("/ui/story/3") // and the page would have gone there already
	if path := chrome.Ask[string](b, "location.pathname"); path != "/ui/story/2" {
		t.Errorf("she wants to stay, and is at %s", path)
	}
	b.Do(chromedp.Click("#stay"))
	at("scene-3")
	b.Open("about:blank", phone) // it is not connected
	opens("/ui/story/6")
	b.Open(base+"/ui/story/3", phone)
	at("scene-6")
	b.Do(chromedp.Click("nav.bar .next")) // nothing leads back whoever goes elsewhere
	at("scene-7")
	shows("/ui/story/6")
	b.Open(base+"/ui/story/2", phone)
	if path := chrome.Ask[string](b, "location.pathname"); path != "/ui/story/2" {
		t.Errorf("she went to another scene, and is at %s", path)
	}
}
