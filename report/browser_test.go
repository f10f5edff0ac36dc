package report

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

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
