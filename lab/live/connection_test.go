package live

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	cdp "github.com/chromedp/cdproto/page"

	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

// listening serves a page at an address until it is stopped.
func listening(t *testing.T, addr string, handler http.Handler) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	stop = func() {
		if server.Close() == nil {
			<-ended
		}
	}
	t.Cleanup(func() { _ = server.Close() })
	return stop
}

// connection is what the page says of its connection.
func connection(b *chrome.Browser) string {
	b.T.Helper()
	return chrome.TryAsk[string](b, `document.querySelector("#connection").textContent`)
}

// count waits until the page counts so many participants.
func count(b *chrome.Browser, participants string) {
	b.T.Helper()
	testenv.Eventually(b.T, "the page has "+participants+" participants", func() bool {
		return chrome.TryAsk[string](b, `document.querySelector("#class .number")?.textContent || ""`) == participants
	})
}

var desk = chrome.View{Width: 1280, Scheme: "light"}

// The program behind nginx is gone for a moment, and nginx answers 502. The page says that it may show an old state, and goes on when the
// program is back. A program that was restarted knows nothing of the page, so the page is loaded again.
func TestThePageGoesOnAfterA502(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for name, restarts := range map[string]bool{"the network was down": false, "the program was restarted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, addr := chrome.New(t), testenv.FreeAddr(t)
			s, base := teaching(t)
			stop := listening(t, addr, s.Handler())
			proxy := behindNginx(t, "http://"+addr, "proxy_set_header Host "+addr)
			b.Open(proxy+"/ui/class", desk)
			joined(t, base, "Ana")
			count(b, "1")
			chrome.Ask[bool](b, `window.first = true`)
			stop()
			testenv.Eventually(t, "nginx has answered 502 to the page", func() bool { return b.HasComplained("502") })
			if says := connection(b); !strings.Contains(says, "connection is lost") {
				t.Errorf("the page says %q", says)
			}
			if restarts {
				s, base = teaching(t)
				joined(t, base, "Cid")
			}
			listening(t, addr, s.Handler())
			joined(t, base, "Ben")
			count(b, "2")
			testenv.Eventually(t, "the page says no more of its connection", func() bool { return connection(b) == "" })
			if kept := chrome.Ask[bool](b, `window.first === true`); kept == restarts {
				t.Errorf("restarted: %t, and the page is the same: %t", restarts, kept)
			}
		})
	}
}

// Whatever answers in the program's place, or does not answer at all, the page asks again. Its clock goes a hundred times as fast.
func TestThePageAsksAgain(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	silent := func(w http.ResponseWriter, r *http.Request) { // as after a laptop has slept: nobody is at the other end
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no page", code) }
	}
	instead := []http.HandlerFunc{
		status(http.StatusUnauthorized), status(http.StatusNotFound), status(http.StatusTooManyRequests), status(http.StatusBadGateway),
		status(http.StatusGatewayTimeout), status(http.StatusOK), status(http.StatusNoContent), silent,
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	s, base := teaching(t)
	var asked atomic.Int32
	addr := testenv.FreeAddr(t)
	listening(t, addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ui/events" {
			if n := int(asked.Add(1)); n <= len(instead) {
				instead[n-1](w, r)
				return
			}
		}
		s.Handler().ServeHTTP(w, r)
	}))
	b := chrome.New(t)
	chrome.Call(b, cdp.AddScriptToEvaluateOnNewDocument, cdp.AddScriptToEvaluateOnNewDocumentParams{
		Source: `const slow = setTimeout; window.setTimeout = (what, ms) => slow(what, ms / 100)`,
	})
	b.Open("http://"+addr+"/ui/class", desk)
	joined(t, base, "Ana")
	count(b, "1")
}

// A browser has six connections for one program. Eight windows that all are seen load and show what changes; those that do not stay
// connected say so. One that is used again does, and so do all when there are few.
func TestEightWindowsOfOneBrowser(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	_, base := teaching(t)
	first := chrome.New(t)
	windows := []*chrome.Browser{first}
	for range 7 {
		windows = append(windows, first.Window())
	}
	for _, w := range windows {
		ctx, cancel := context.WithTimeout(w.Context, longestLook) // a window that gets no connection would wait for longer
		defer cancel()
		w.Context = ctx
		w.Open(base+"/ui/class", desk)
	}
	joined(t, base, "Ana")
	for _, w := range windows {
		count(w, "1")
	}
	wait := func(what string, many ...bool) {
		t.Helper()
		for i, want := range many {
			testenv.Eventually(t, what, func() bool { return strings.Contains(connection(windows[i]), "many windows") == want })
		}
	}
	wait("the first four windows say why they are late", true, true, true, true, false, false, false, false)
	chrome.Ask[bool](first, `dispatchEvent(new Event("focus"))`)
	wait("the window that was used is connected", false, true, true, true, true, false, false, false)
	for _, w := range windows[4:] {
		w.Open("about:blank", desk)
	}
	wait("the windows that are left are connected", false, false, false, false)
}

// A page asks for the parts that it shows, and for no other, whoever looks at it.
func TestAPageAsksForThePartsThatItShows(t *testing.T) {
	t.Parallel()
	_, alone := burstPage(t, nil, noInstances)
	_, base := burstPage(t, &Class{Token: token}, noInstances)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	for _, path := range []string{
		"/ui/story", "/ui/story/3", "/ui/burst", "/ui/experiments", "/ui/experiments/L01", "/ui/steps", "/ui/steps/L01/1", "/ui/servers",
		"/ui/locks", "/ui/join", "/ui/class", "/ui/trainer",
	} {
		for who, c := range map[string]*http.Client{"the trainer": leads, "Ana": ana, "a visitor": browser(t), "nobody else": nil} {
			in := base
			if c == nil {
				c, in = http.DefaultClient, alone
			}
			_, page := send(t, c, http.MethodGet, in+path, nil, nil)
			_, list, _ := strings.Cut(page, `data-parts="`)
			list, _, _ = strings.Cut(list, `"`)
			for part := range strings.FieldsSeq(list) {
				if !strings.Contains(page, ` id="`+part+`"`) {
					t.Errorf("%s, %s: the part %s is nowhere", path, who, part)
				}
			}
		}
	}
}
