package play

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"locklab/lab/claims"
	"locklab/lab/live"
	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// mostBytes is what a reader loads at most to play.
const mostBytes = 5_000_000

// A reader plays a lock from files: to a violation, and along the shortest one. Nothing is asked of another host, and little is loaded.
func TestALockIsPlayedFromFiles(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	dir := t.TempDir()
	search := os.CopyFS(dir, os.DirFS("../hugo/static"))
	if err := errors.Join(search, live.WriteStory(dir, claims.All()), Write(t.Context(), dir)); err != nil {
		t.Fatal(err)
	}
	code, err := os.Stat(filepath.Join(dir, "static", "play.wasm.gzip"))
	if err != nil || code.Size() > mostBytes {
		t.Fatalf("%v: the lab has %d bytes, and may have %d", err, code.Size(), mostBytes)
	}
	server := httptest.NewServer(http.StripPrefix("/below", http.FileServer(http.Dir(dir))))
	t.Cleanup(server.Close)
	b := chrome.New(t)
	for _, v := range []chrome.View{
		{Name: "play-wide", Width: 1280, Height: 1440, Scheme: "light"}, {Name: "play-narrow", Width: 390, Scheme: "dark"},
	} {
		b.Open(server.URL+"/below/steps/", v)
		b.Do(chromedp.Click(`[href$="/L03/1/"]`), chromedp.WaitVisible("#key-A:enabled"))
		b.Still()
		b.Do(chromedp.Click("#key-A"), chromedp.WaitVisible("#move-1"))
		presses(b, "a", "a", "t", "b", "a")
		says(b, "Violation: a client deleted another client's lock.")
		b.Shoot(v.Name)
		presses(b, "r", "s")
		b.Do(chromedp.WaitVisible(".rest"))
		for chrome.Ask[bool](b, `!!document.querySelector(".rest")`) {
			presses(b, "n")
		}
		says(b, "Violation: a client deleted another client's lock.")
		if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s: it is %d pixels too wide", v.Name, over)
		}
		const above = `document.querySelector(".moves").getBoundingClientRect().bottom -
			document.querySelector(".play .tools").getBoundingClientRect().top`
		if covered := chrome.Ask[float64](b, above); covered > 0 {
			t.Errorf("%s: the buttons cover %.0f pixels of the moves", v.Name, covered)
		}
		b.Accessible(v.Name)
		b.Calm(func(url string) bool { return strings.HasPrefix(url, server.URL+"/below/") || url == "data:," })
	}
}

// presses presses buttons by their keys, each when the one before has changed the play.
func presses(b *chrome.Browser, keys ...string) {
	b.T.Helper()
	const changes = `window.changes ??= (document.addEventListener("changed", () => window.changes++), 0)`
	for _, key := range keys {
		before := chrome.Ask[int](b, changes)
		b.Do(chromedp.KeyEvent(key))
		testenv.Eventually(b.T, "the play changes by "+key, func() bool { return chrome.Ask[int](b, changes) > before })
	}
}

// says waits until the outcome has a text.
func says(b *chrome.Browser, want string) {
	b.T.Helper()
	testenv.Eventually(b.T, want, func() bool {
		return strings.Contains(chrome.Ask[string](b, `document.querySelector(".outcome").textContent`), want)
	})
}
