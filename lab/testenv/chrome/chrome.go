// Package chrome drives a headless Chromium in tests.
package chrome

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab/testenv"
)

// Browser is a window of a headless Chromium with cookies of its own, and what it complained of and asked for.
type Browser struct {
	context.Context
	T *testing.T // the test that runs

	mu       sync.Mutex
	trouble  []string
	requests []string
}

// longest is the life of a window, so that a page that never shows what a test waits for does not hang the test.
const longest = 10 * time.Minute

// shared is the Chromium of all tests of a package.
var shared = sync.OnceValues(func() (context.Context, error) {
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox, chromedp.ExecPath(chromium()))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	testenv.AtEnd(func() error {
		defer stop()
		defer cancel()
		return chromedp.Cancel(ctx)
	})
	return ctx, chromedp.Do(ctx)
})

// New opens a window, which ends with the test. The test is skipped without a Chromium.
func New(t *testing.T) *Browser {
	t.Helper()
	testenv.Needs(t, testenv.Chromium)
	chromium, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return window(chromium, t, chromedp.WithNewBrowserContext())
}

// Window opens one more window, which shares cookies and connections with b.
func (b *Browser) Window() *Browser { return window(b.Context, b.T) }

func window(of context.Context, t *testing.T, options ...chromedp.ContextOption) *Browser {
	t.Helper()
	bounded, end := context.WithTimeout(of, longest)
	ctx, cancel := chromedp.NewContext(bounded, options...)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		end()
	})
	b := &Browser{Context: ctx, T: t}
	b.Do()
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	Call(b, network.Enable, network.EnableParams{})
	Call(b, log.Enable, cdp.Empty{})
	Call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return b
}

// chromium is where it is; the need is met.
func chromium() (path string) {
	for _, name := range testenv.Chromium.Programs {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	return ""
}

func (b *Browser) listen(event any) {
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

// Do runs actions.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		b.T.Fatal(err)
	}
}

// Value runs an action for its value.
func Value[T any](b *Browser, action chromedp.Action[T]) T {
	b.T.Helper()
	result, err := chromedp.Run(b, action)
	if err != nil {
		b.T.Fatal(err)
	}
	return result
}

// Call sends a command of the protocol.
func Call[P, R any](b *Browser, command cdp.Command[P, R], params P) {
	b.T.Helper()
	b.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	}))
}

// Ask evaluates an expression.
func Ask[T any](b *Browser, expression string) T {
	b.T.Helper()
	return Value(b, chromedp.Evaluate[T](expression))
}

// TryAsk is Ask for a page that another one may replace meanwhile. Until that has loaded, the answer is empty.
func TryAsk[T any](b *Browser, expression string) T {
	result, _ := chromedp.Run(b, chromedp.Evaluate[T](expression))
	return result
}

// TabTo presses Tab until what has the focus is what is asked for. A person has no other way to it.
func (b *Browser) TabTo(what string) {
	b.T.Helper()
	for range 60 {
		b.Do(chromedp.KeyEvent(kb.Tab))
		if Ask[bool](b, `document.activeElement.matches(`+strconv.Quote(what)+`)`) {
			return
		}
	}
	b.T.Fatalf("Tab does not reach %s", what)
}

// View is a screen to look at a page on.
type View struct {
	Name   string // of its picture; empty: there is none
	Width  int64
	Height int64  // 0: 800
	Scheme string // light or dark
	Moves  bool   // its user likes motion
}

// Open loads a page on a screen.
func (b *Browser) Open(url string, v View) {
	b.T.Helper()
	b.Forget()
	b.Do(chromedp.EmulateViewport(v.Width, cmp.Or(v.Height, 800)))
	motion := map[bool]string{true: "no-preference", false: "reduce"}[v.Moves]
	Call(
		b,
		emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: v.Scheme}, {Name: "prefers-reduced-motion", Value: motion},
		}},
	)
	b.Do(chromedp.Navigate(url))
	if v.Name != "" {
		b.Shoot(v.Name)
	}
}

// shifted says how much of the page has moved without a press, and what: the layout shift that browsers report.
const shifted = `((watch) => (watch.observe({ type: "layout-shift", buffered: true }), watch.takeRecords().filter((e) => !e.hadRecentInput)
	.map((e) => e.value.toFixed(4) + ": " + e.sources.map((s) => s.node && (s.node.id || s.node.className || s.node.nodeName) + " " +
	[s.previousRect, s.currentRect].map((r) => Math.round(r.x) + "," + Math.round(r.y)).join(" to ")).join("; ")).join("; ")))` +
	`(new PerformanceObserver(() => {}))`

// Still fails the test when something of the page has moved since it was opened, apart from what a press has moved.
func (b *Browser) Still() {
	b.T.Helper()
	if found := Ask[string](b, shifted); found != "" {
		b.T.Errorf("the layout has shifted: %s", found)
	}
}

// Forget forgets what the browser complained of and asked for.
func (b *Browser) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble, b.requests = nil, nil
}

// HasComplained reports whether the browser has complained of something.
func (b *Browser) HasComplained(of string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.trouble, func(text string) bool { return strings.Contains(text, of) })
}

// Calm fails the test when the browser complained, or asked for an address that is not allowed.
func (b *Browser) Calm(allowed func(url string) bool) {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.trouble) > 0 {
		b.T.Errorf("the browser says %q", b.trouble)
	}
	for _, url := range b.requests {
		if !allowed(url) {
			b.T.Errorf("the page asked for %s", url)
		}
	}
}

// Shoot keeps what is seen where LAB_SCREENSHOTS says.
func (b *Browser) Shoot(name string) {
	b.T.Helper()
	if dir := os.Getenv("LAB_SCREENSHOTS"); dir != "" {
		Keep(b.T, dir, name+".png", Value(b, chromedp.FullScreenshot(100)))
	}
}

// Keep writes a file into dir.
func Keep(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
}
