package live

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

// The list shows twelve experiments on a projector, and is filtered while somebody types. A way back leads to the same list.
func TestTheListOfExperimentsInChromium(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := serving(t)
	b := chrome.New(t)
	b.Open(base+"/ui/experiments", projector)
	const seen = `[...document.querySelectorAll(".experiments > li")].filter((card) => {
		const box = card.getBoundingClientRect();
		return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
	}).length`
	if n := chrome.Ask[int](b, seen); n < 12 {
		t.Errorf("a projector shows %d experiments", n)
	}
	b.Do(chromedp.SendKeys("[name=text]", "Non-owner unlock"), chromedp.WaitNotVisible("[href$='/P1-no-lock']"))
	b.Do(chromedp.WaitVisible("[href$='/L03-foreign-unlock']"))
	if n, says := chrome.Ask[int](b, seen), chrome.Ask[string](b, `shown.textContent`); says != fmt.Sprintf("%d of 95", n) {
		t.Errorf("%d experiments are seen, and the page says %q", n, says)
	}
	b.Do(chromedp.Click("[href$='/L03-foreign-unlock']"), chromedp.WaitVisible("#run-it"))
	chrome.Ask[bool](b, `history.back() === undefined`)
	b.Do(chromedp.WaitVisible("#filter"), chromedp.WaitNotVisible("[href$='/P1-no-lock']"))
}

// While a run is replayed, its buttons and its drawing stay where they are, and the drawing has more than half of a projector.
func TestAReplayInChromium(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	s, base := serving(t)
	do(t, http.MethodPost, base+"/ui/quiz/L01/run", nil, nil)
	testenv.Eventually(t, "the run has ended", func() bool { return !s.isBusy("L01-no-expiry-run") && len(savedRuns(t, base)) == 1 })
	b := chrome.New(t)
	b.Open(base+savedRuns(t, base)[0]+"/2", projector)
	const place = `JSON.stringify([".tools .button", ".picture", ".picture .drawing"].map(
		(of) => document.querySelector(of).getBoundingClientRect()))`
	first := chrome.Ask[string](b, place)
	for event := 2; event <= 5; event++ {
		b.Do(chromedp.KeyEvent(kb.ArrowRight), chromedp.WaitVisible(fmt.Sprintf(`//p[contains(., "Event %d of")]`, event)))
		if now := chrome.Ask[string](b, place); now != first {
			t.Errorf("event %d moves %s to %s", event, first, now)
		}
	}
	if height := chrome.Ask[float64](b, `document.querySelector(".picture").clientHeight / innerHeight`); height < 0.55 {
		t.Errorf("the drawing has %.0f %% of the height", 100*height)
	}
}

// No text of these pages is too small: 16 px on a projector, 13 px on a phone.
func TestNoTextOfTheCatalogueIsSmall(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	s, base := serving(t)
	do(t, http.MethodPost, base+"/ui/quiz/L03/run", nil, nil)
	press(t, base+deletes, "A", "A", "A", "…", "B", "A")
	testenv.Eventually(t, "the run has ended", func() bool { return !s.isBusy("L03-foreign-unlock-run") })
	_, page := get(t, base+"/ui/experiments/L03")
	replay := replayed.FindString(page)
	if replay == "" {
		t.Fatalf("no run can be replayed: %s", page)
	}
	b := chrome.New(t)
	const small = `[...document.querySelectorAll("body *")].filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
		&& e.checkVisibility() && e.getBoundingClientRect().width > 1
		&& parseFloat(getComputedStyle(e).fontSize) * e.currentCSSZoom < %d)
		.map((e) => e.localName + ": " + e.textContent).slice(0, 5).join("; ")`
	for _, path := range []string{
		"/ui/experiments", "/ui/experiments/L03", replay + "?event=9", "/ui/steps", "/ui/steps/L03/1", "/ui/locks", "/ui/nothing",
	} {
		for _, on := range []struct {
			chrome.View
			least int
		}{{projector, 16}, {phone, 13}} {
			b.Open(base+path, on.View)
			if texts := chrome.Ask[string](b, fmt.Sprintf(small, on.least)); texts != "" {
				t.Errorf("%s, %d pixels wide: below %d px is %s", path, on.Width, on.least, texts)
			}
		}
	}
}
