package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/experiments"
	"locklab/history"
	"locklab/internal/testenv"
)

// view is a screen to look at a page on.
type view struct {
	name   string
	width  int64
	scheme string
}

var screens = []view{{"1280-light", 1280, "light"}, {"360-light", 360, "light"}, {"1280-dark", 1280, "dark"}, {"360-dark", 360, "dark"}}

// open loads a file on a screen, and checks that nothing but it was asked for and nothing went wrong.
func (b *browser) open(file string, v view) {
	b.t.Helper()
	b.mu.Lock()
	b.trouble, b.requests = nil, nil
	b.mu.Unlock()
	b.do(chromedp.EmulateViewport(v.width, 800))
	call(
		b,
		emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}}},
	)
	b.do(chromedp.Navigate("file://" + file))
	if v.name != "" {
		b.shoot(strings.TrimSuffix(filepath.Base(file), ".html") + "-" + v.name)
	}
	b.calm(file)
}

func (b *browser) calm(file string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.trouble) > 0 {
		b.t.Errorf("%s: %q", file, b.trouble)
	}
	if len(b.requests) != 1 || b.requests[0] != "file://"+file {
		b.t.Errorf("%s: requests are %q", file, b.requests)
	}
}

// shoot keeps what is seen where LAB_SCREENSHOTS says.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("LAB_SCREENSHOTS")
	if dir == "" {
		return
	}
	keep(b.t, dir, name+".png", value(b, chromedp.FullScreenshot(100)))
}

func keep(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// saved writes pages where a browser finds them: some runs, and the lab.
func saved(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	burst := made(history.Counter, views(666, 19)...)
	for name, e := range map[string]experiments.Saved{
		"L05": entry(t, "L05-lease-overrun"), "L03": entry(t, "L03-foreign-unlock"), "burst": burst, "faults": failover(),
		"measures": measuring(),
	} {
		keep(t, dir, name+".html", []byte(render(t, e)))
	}
	var whole bytes.Buffer
	if err := Lab(&whole, append(lab(), burst, failover())); err != nil {
		t.Fatal(err)
	}
	keep(t, dir, "lab.html", whole.Bytes())
	return dir
}

func TestInChromium(t *testing.T) {
	dir, b := saved(t), newBrowser(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, v := range screens {
			t.Run(filepath.Base(file)+" "+v.name, func(t *testing.T) {
				defer func(outer *testing.T) { b.t = outer }(b.t)
				b.t = t
				b.open(file, v)
				if over := ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("it is %d pixels too wide", over)
				}
				if !ask[bool](
					b,
					`document.querySelector(".verdict").checkVisibility() && document.querySelector(".verdict").innerText.trim() !== ""`,
				) {
					t.Error("no verdict is seen")
				}
				if dark := ask[bool](b, `getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"`); dark != (v.scheme == "dark") {
					t.Errorf("the ground is dark: %v", dark)
				}
			})
		}
	}
}

// The red overlap is in the variant with the violation, and not in the control.
func TestOverlapInChromium(t *testing.T) {
	dir, b := saved(t), newBrowser(t)
	for file, violated := range map[string]string{"L05.html": "long work", "L03.html": "DEL"} {
		b.open(filepath.Join(dir, file), view{"", 1280, "light"})
		seen := func(where string) string {
			return fmt.Sprintf(
				`[...document.querySelectorAll('%s .drawing .overlap .part')].filter(e => e.getBoundingClientRect().width > 2 &&
					getComputedStyle(e).fill.includes('#hatch')).length`,
				where,
			)
		}
		if n := ask[int](b, seen(fmt.Sprintf(`[data-variant="%s"]`, violated))); n < 2 {
			t.Errorf("%s: %d overlaps are seen where there is a violation", file, n)
		}
		if n := ask[int](b, seen(`.variant.no-violation`)); n != 0 {
			t.Errorf("%s: %d overlaps are seen where there is none", file, n)
		}
		if ask[int](b, `document.querySelectorAll('.variant.no-violation .drawing').length`) == 0 {
			t.Errorf("%s: the control is not drawn", file)
		}
	}
}

// At 1280 pixels a drawing is seen whole. Where it is wider than the screen, the page says that one can scroll.
func TestDrawingsInChromium(t *testing.T) {
	dir, b := saved(t), newBrowser(t)
	const wider = `[...document.querySelectorAll(".picture")].filter(p => p.scrollWidth > p.clientWidth + 1).length`
	const told = `[...document.querySelectorAll(".hint")].filter(h => h.checkVisibility()).length`
	for _, file := range []string{"L03.html", "faults.html"} {
		b.open(filepath.Join(dir, file), view{"", 1280, "light"})
		if wide, told := ask[int](b, wider), ask[int](b, told); wide != 0 || told != 0 {
			t.Errorf("%s: at 1280 pixels %d drawings are cut, and %d say so", file, wide, told)
		}
		b.open(filepath.Join(dir, file), view{"", 390, "light"})
		testenv.Eventually(t, "at 390 pixels "+file+" says of each drawing that is wider that one can scroll", func() bool {
			wide := ask[int](b, wider)
			return wide > 0 && wide == ask[int](b, told)
		})
	}
}

// Every event can be reached by keys alone, and says what it is; the colours can be chosen; paper shows all.
func TestHandsOnChromium(t *testing.T) {
	dir, b := saved(t), newBrowser(t)
	b.open(filepath.Join(dir, "L05.html"), view{"", 1280, "light"})
	first := `document.querySelector('.drawing .mark[tabindex="0"]')`
	if n := ask[int](b, `document.querySelector('.drawing').querySelectorAll('[tabindex="0"]').length`); n != 1 {
		t.Errorf("a drawing has %d stops", n)
	}
	b.do(chromedp.Evaluate[chromedp.Void](first + ".focus()"))
	before := ask[string](b, `document.querySelector(".event").textContent`)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	testenv.Eventually(t, "the arrow key leads to another event", func() bool {
		after := ask[string](b, `document.querySelector(".event").textContent`)
		return before != after && strings.Contains(before, "event ") && strings.Contains(after, "event ")
	})
	b.do(chromedp.Click("#dark + span"))
	testenv.Eventually(t, "the page is dark", func() bool {
		return ask[string](b, `getComputedStyle(document.body).backgroundColor`) == "rgb(20, 23, 28)"
	})
	b.open(filepath.Join(dir, "lab.html"), view{"", 360, "light"})
	b.do(chromedp.Click(`.verdicts a[href="#L05-lease-overrun"]`))
	testenv.Eventually(t, "a link opens its experiment", func() bool {
		return ask[bool](b, `document.getElementById("L05-lease-overrun").open`)
	})
	b.open(filepath.Join(dir, "lab.html"), view{"", 1280, "dark"})
	b.print("lab.pdf")
	b.calm(filepath.Join(dir, "lab.html"))
	b.open(filepath.Join(dir, "L05.html"), view{"", 1280, "light"})
	call(b, emulation.SetEmulatedVisionDeficiency, emulation.SetEmulatedVisionDeficiencyParams{Type: "achromatopsia"})
	b.shoot("L05-1280-colourless") // for eyes, not for checks
}

func (b *browser) print(name string) {
	b.do(chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("beforeprint"))`))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := ask[int](b, `document.querySelectorAll("details:not([open])").length +
		[...document.querySelectorAll(".theme, .event")].filter(e => e.checkVisibility()).length`); n != 0 {
		b.t.Errorf("%d things are closed, or controls, on paper", n)
	}
	paper := value(b, chromedp.PrintToPDF(chromedp.PDFPrintBackground(), chromedp.PDFPreferCSSPageSize()))
	if dir := os.Getenv("LAB_SCREENSHOTS"); dir != "" {
		keep(b.t, dir, name, paper)
	}
}

// The picture of the README: two holders in a timeline, and below it the same with renewal. `make screenshot` keeps it.
func TestScreenshotOfTheReadme(t *testing.T) {
	file, b := filepath.Join(t.TempDir(), "L05.html"), newBrowser(t)
	keep(t, filepath.Dir(file), filepath.Base(file), []byte(render(t, entry(t, "L05-lease-overrun"))))
	b.open(file, view{"", 1100, "light"})
	b.do(
		chromedp.EmulateViewport(1100, 800),
		chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("h4 .name")].find(n => n.innerText === "long work").scrollIntoView()`),
	)
	if !ask[bool](b, `[...document.querySelectorAll("svg text")].some(e => e.textContent.includes("simultaneously") &&
		e.getBoundingClientRect().top > 0 && e.getBoundingClientRect().bottom < innerHeight)`) {
		t.Error("the overlap is not in the picture")
	}
	picture := value(b, chromedp.CaptureScreenshot())
	if len(picture) > 200_000 {
		t.Errorf("it has %d bytes; a README is opened often", len(picture))
	}
	if to := os.Getenv("LAB_SCREENSHOT"); to != "" {
		keep(t, filepath.Dir(to), filepath.Base(to), picture)
	}
}
