package html

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

// saved writes pages where a browser finds them: some runs, and a lab.
func saved(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	paused := entry(t, "L05-lease-overrun")
	for name, e := range map[string]lab.Saved{"L05": paused, "measures": measuring()} {
		chrome.Keep(t, dir, name+".html", []byte(render(t, e)))
	}
	var whole bytes.Buffer
	if err := Lab(&whole, "", []lab.Saved{paused, made(history.Counter, views(666, 19)...), failover()}); err != nil {
		t.Fatal(err)
	}
	chrome.Keep(t, dir, "lab.html", whole.Bytes())
	return dir
}

// open loads a file on a screen, and checks that nothing but it was asked for and nothing went wrong.
func open(b *chrome.Browser, file string, v chrome.View) {
	if v.Name != "" {
		v.Name = strings.TrimSuffix(filepath.Base(file), ".html") + "-" + v.Name
	}
	b.Open("file://"+file, v)
	calm(b, file)
}

func calm(b *chrome.Browser, file string) {
	b.Calm(func(url string) bool { return url == "file://"+file })
}

// A report fits a wide screen and a phone, light and dark, and shows its verdict. The red overlap is in the variant with the violation, and
// not in the control.
func TestInChromium(t *testing.T) {
	testenv.Slow(t)
	dir, b := saved(t), chrome.New(t)
	for _, name := range []string{"lab", "measures", "L05"} {
		for _, v := range []chrome.View{{Name: "1280-dark", Width: 1280, Scheme: "dark"}, {Name: "360-light", Width: 360, Scheme: "light"}} {
			open(b, filepath.Join(dir, name+".html"), v)
			if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s, %s: it is %d pixels too wide", name, v.Name, over)
			}
			if !chrome.Ask[bool](b, `document.querySelector(".verdict").checkVisibility()`) {
				t.Errorf("%s, %s: no verdict is seen", name, v.Name)
			}
			if dark := chrome.Ask[bool](b, `getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"`); dark != (v.Scheme == "dark") {
				t.Errorf("%s, %s: the ground is dark: %v", name, v.Name, dark)
			}
		}
	}
	seen := func(where string) int {
		return chrome.Ask[int](b, fmt.Sprintf(
			`[...document.querySelectorAll('%s .drawing .overlap .part')].filter(e => e.getBoundingClientRect().width > 2 &&
				getComputedStyle(e).fill.includes('#hatch')).length`, where))
	}
	if violated, kept := seen(`[data-variant="long work"]`), seen(`.variant.no-violation`); violated < 2 || kept != 0 {
		t.Errorf("%d overlaps are seen where there is a violation, and %d where there is none", violated, kept)
	}
}

// Every event can be reached by keys alone, and says what it is; the colours can be chosen; paper shows all.
func TestHandsOnChromium(t *testing.T) {
	testenv.Slow(t)
	dir, b := saved(t), chrome.New(t)
	open(b, filepath.Join(dir, "L05.html"), chrome.View{Name: "", Width: 1280, Scheme: "light"})
	first := `document.querySelector('.drawing .mark[tabindex="0"]')`
	if n := chrome.Ask[int](b, `document.querySelector('.drawing').querySelectorAll('[tabindex="0"]').length`); n != 1 {
		t.Errorf("a drawing has %d stops", n)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](first + ".focus()"))
	before := chrome.Ask[string](b, `document.querySelector(".event").textContent`)
	b.Do(chromedp.KeyEvent(kb.ArrowRight))
	testenv.Eventually(t, "the arrow key leads to another event", func() bool {
		after := chrome.Ask[string](b, `document.querySelector(".event").textContent`)
		return before != after && strings.Contains(before, "event ") && strings.Contains(after, "event ")
	})
	b.Do(chromedp.Click("#dark + span"))
	testenv.Eventually(t, "the page is dark", func() bool {
		return chrome.Ask[string](b, `getComputedStyle(document.body).backgroundColor`) == "rgb(20, 23, 28)"
	})
	open(b, filepath.Join(dir, "lab.html"), chrome.View{Name: "", Width: 360, Scheme: "light"})
	b.Do(chromedp.Click(`.verdicts a[href="#L05-lease-overrun"]`))
	testenv.Eventually(t, "a link opens its experiment", func() bool {
		return chrome.Ask[bool](b, `document.getElementById("L05-lease-overrun").open`)
	})
	open(b, filepath.Join(dir, "lab.html"), chrome.View{Name: "", Width: 1280, Scheme: "dark"})
	printed(b, "lab.pdf")
	calm(b, filepath.Join(dir, "lab.html"))
	open(b, filepath.Join(dir, "L05.html"), chrome.View{Name: "", Width: 1280, Scheme: "light"})
	chrome.Call(b, emulation.SetEmulatedVisionDeficiency, emulation.SetEmulatedVisionDeficiencyParams{Type: "achromatopsia"})
	b.Shoot("L05-1280-colourless") // for eyes, not for checks
}

func printed(b *chrome.Browser, name string) {
	b.Do(chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("beforeprint"))`))
	chrome.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := chrome.Ask[int](b, `document.querySelectorAll("details:not([open])").length +
		[...document.querySelectorAll(".theme, .event")].filter(e => e.checkVisibility()).length`); n != 0 {
		b.T.Errorf("%d things are closed, or controls, on paper", n)
	}
	paper := chrome.Value(b, chromedp.PrintToPDF(chromedp.PDFPrintBackground(), chromedp.PDFPreferCSSPageSize()))
	if dir := os.Getenv("LAB_SCREENSHOTS"); dir != "" {
		chrome.Keep(b.T, dir, name, paper)
	}
}

// A picture of the workshop: a paused holder writes after its successor, and below it the resource that refuses that write by its token.
// `make screenshot` keeps it.
func TestThePictureOfL11(t *testing.T) {
	testenv.Slow(t)
	file, b := filepath.Join(t.TempDir(), "L11.html"), chrome.New(t)
	chrome.Keep(t, filepath.Dir(file), filepath.Base(file), []byte(render(t, pausedPair(t))))
	const width, height = 1280, 1000
	open(b, file, chrome.View{Name: "", Width: width, Scheme: "light"})
	b.Do(
		chromedp.EmulateViewport(width, height),
		chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("h4 .name")].find(n => n.innerText === "paused (v3)").scrollIntoView()`),
	)
	for _, text := range []string{"A: paused", "refused"} {
		if !chrome.Ask[bool](b, fmt.Sprintf(`[...document.querySelectorAll("svg text")].some(e => e.textContent.includes(%q) &&
			e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight)`, text)) {
			t.Errorf("%q is not in the picture", text)
		}
	}
	picture := chrome.Value(b, chromedp.CaptureScreenshot())
	if to := os.Getenv("LAB_SCREENSHOT"); to != "" {
		if len(picture) > 200_000 {
			t.Errorf("it has %d bytes; a README is opened often", len(picture))
		}
		chrome.Keep(t, filepath.Dir(to), filepath.Base(to), picture)
	}
}

// pausedPair is a run of L11 with its control and the two variants of v3: without the token, and with it.
func pausedPair(t *testing.T) lab.Saved {
	t.Helper()
	e, err := claims.All().Find("L11")
	if err != nil {
		t.Fatal(err)
	}
	e.Variants = slices.DeleteFunc(slices.Clone(e.Variants), func(v lab.Variant) bool {
		return v.Strategy != "" && v.Strategy != "v3"
	})
	return lab.Run(t.Context(), e, lab.Options{Trials: 1, Seed: 7, Build: "a test", Command: "app lab run L11"}).Saved
}
