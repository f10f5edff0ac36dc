package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/experiments/history"
	"locklab/internal/testenv"
)

// browser is a headless Chromium, and what it complained of and asked for.
type browser struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	trouble  []string
	requests []string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	testenv.Needs(t, testenv.Chromium)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.ExecPath(chromium(t)))
	allocator, stop := chromedp.NewExecAllocator(testenv.Context(t), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		stop()
	})
	b := &browser{Context: ctx, t: t}
	b.do()
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return b
}

// chromium is where it is.
func chromium(t *testing.T) string {
	for _, name := range testenv.Chromium.Programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal(testenv.Chromium.How())
	return ""
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.trouble = append(b.trouble, fmt.Sprintf("console %s: %v", e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		b.trouble = append(b.trouble, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		b.trouble = append(b.trouble, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value runs an action for its value.
func value[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	result, err := chromedp.Run(b, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// call sends a command of the protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	}))
}

// ask evaluates an expression.
func ask[T any](b *browser, expression string) T {
	b.t.Helper()
	return value(b, chromedp.Evaluate[T](expression))
}

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
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}}})
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
	for name, e := range map[string]Entry{
		"L05": entry(t, "L05-lease-overrun"), "L03": entry(t, "L03-foreign-unlock"), "burst": burst, "faults": failover(), "measures": measuring(),
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
	b, dir := newBrowser(t), saved(t)
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
				if !ask[bool](b, `document.querySelector(".verdict").checkVisibility() && document.querySelector(".verdict").innerText.trim() !== ""`) {
					t.Error("no verdict is seen")
				}
				if dark := ask[bool](b, `getComputedStyle(document.body).backgroundColor === "rgb(20, 23, 28)"`); dark != (v.scheme == "dark") {
					t.Errorf("the ground is dark: %v", dark)
				}
			})
		}
	}
}

// The red overlap is in the arm that breaks, and not in the control.
func TestOverlapInChromium(t *testing.T) {
	b, dir := newBrowser(t), saved(t)
	for file, broken := range map[string]string{"L05.html": "long work", "L03.html": "DEL"} {
		b.open(filepath.Join(dir, file), view{"", 1280, "light"})
		seen := func(where string) string {
			return fmt.Sprintf(`[...document.querySelectorAll('%s .drawing .overlap .part')].filter(e => e.getBoundingClientRect().width > 2 && getComputedStyle(e).fill.includes('#hatch')).length`, where)
		}
		if n := ask[int](b, seen(fmt.Sprintf(`[data-arm="%s"]`, broken))); n < 2 {
			t.Errorf("%s: %d overlaps are seen where it breaks", file, n)
		}
		if n := ask[int](b, seen(`.arm.held`)); n != 0 {
			t.Errorf("%s: %d overlaps are seen where it holds", file, n)
		}
		if ask[int](b, `document.querySelectorAll('.arm.held .drawing').length`) == 0 {
			t.Errorf("%s: the control is not drawn", file)
		}
	}
}

// Every event can be reached by keys alone, and says what it is; the colours can be chosen; paper shows all.
func TestHandsOnChromium(t *testing.T) {
	b, dir := newBrowser(t), saved(t)
	b.open(filepath.Join(dir, "L05.html"), view{"", 1280, "light"})
	first := `document.querySelector('.drawing .mark[tabindex="0"]')`
	if n := ask[int](b, `document.querySelector('.drawing').querySelectorAll('[tabindex="0"]').length`); n != 1 {
		t.Errorf("a drawing has %d stops", n)
	}
	b.do(chromedp.Evaluate[chromedp.Void](first + ".focus()"))
	before := ask[string](b, `document.querySelector(".event").textContent`)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	after := ask[string](b, `document.querySelector(".event").textContent`)
	if before == after || !strings.Contains(before, "event ") || !strings.Contains(after, "event ") {
		t.Errorf("first %q, then %q", before, after)
	}
	b.do(chromedp.Click("#dark + span"))
	if ground := ask[string](b, `getComputedStyle(document.body).backgroundColor`); ground != "rgb(20, 23, 28)" {
		t.Errorf("dark is %s", ground)
	}
	b.open(filepath.Join(dir, "lab.html"), view{"", 360, "light"})
	b.do(chromedp.Click(`.verdicts a[href="#L05-lease-overrun"]`))
	if !ask[bool](b, `document.getElementById("L05-lease-overrun").open`) {
		t.Error("a link does not open its experiment")
	}
	b.open(filepath.Join(dir, "lab.html"), view{"", 1280, "dark"})
	b.print("lab.pdf")
	b.calm(filepath.Join(dir, "lab.html"))
}

func (b *browser) print(name string) {
	b.do(chromedp.Evaluate[chromedp.Void](`dispatchEvent(new Event("beforeprint"))`))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if n := ask[int](b, `document.querySelectorAll("details:not([open])").length + [...document.querySelectorAll(".theme, .event")].filter(e => e.checkVisibility()).length`); n != 0 {
		b.t.Errorf("%d things are closed, or controls, on paper", n)
	}
	paper := value(b, chromedp.PrintToPDF(chromedp.PDFPrintBackground(), chromedp.PDFPreferCSSPageSize()))
	if dir := os.Getenv("LAB_SCREENSHOTS"); dir != "" {
		keep(b.t, dir, name, paper)
	}
}
