package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab/live/story"
	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// Each page of the repository has an address of its own, and each page that docs/README.md names is in the menu.
func TestPagesOfThisRepository(t *testing.T) {
	b, err := readBook("../..")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for source, p := range b.pages {
		if other := sources[p.url]; other != "" {
			t.Errorf("%s and %s are both at %s", source, other, p.url)
		}
		sources[p.url] = source
	}
	if source := sources["experiments/L03/"]; source != "docs/experiments/L03-foreign-unlock.md" {
		t.Errorf("experiments/L03/ is %q", source)
	}
	data, err := b.data("")
	if err != nil {
		t.Fatal(err)
	}
	inMenu := map[string]bool{}
	for _, groups := range data.Menus {
		for _, g := range groups {
			for _, l := range g.Links {
				inMenu[l.URL] = true
			}
		}
	}
	for _, found := range inlineLink.FindAllStringSubmatch(b.pages[contents].body, -1) {
		if url := b.pages[b.resolve(contents, found[2])].url; !inMenu[url] {
			t.Errorf("%s is not in the menu", found[0])
		}
	}
	for source, p := range b.pages {
		if experiment.MatchString(source) && !inMenu[p.url] {
			t.Errorf("%s is not in the menu", source)
		}
	}
}

// Only an earlier site is removed. A folder of somebody else's stays as it is, although it looks like one.
func TestOnlyASiteIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	theirs := filepath.Join(dir, "static", "style.css")
	if err := put(theirs, nil); err != nil {
		t.Fatal(err)
	}
	if err := clean(dir); err == nil {
		t.Error("a folder that is no site is removed")
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	if err := put(filepath.Join(dir, marker), nil); err != nil {
		t.Fatal(err)
	}
	if err := clean(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(theirs); err == nil {
		t.Error("the earlier site is not removed")
	}
}

func TestDeadLinksAreFound(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		`<a href="../b/#part">`:                              "",
		`<a href="#here">`:                                   "",
		`<a href="https://example.org/">`:                    "",
		`<img src="../a.svg">`:                               "",
		`<link rel="icon" href="data:,">`:                    "",
		`<a href="../b/#other">`:                             "no heading",
		`<a href="../c/">`:                                   "no file",
		`<a href="../b">`:                                    "no file",
		`<a href="../../outside.html">`:                      "no file",
		`<img src="../b.svg">`:                               "no file",
		`<a href="/b/">`:                                     "depends on where",
		`<a href="//example.org/">`:                          "depends on where",
		`<script src="https://example.org/a.js"></script>`:   "another host",
		`<link rel="stylesheet" href="https://example.org">`: "another host",
	} {
		dir := filepath.Join(t.TempDir(), "site")
		write := map[string]string{"a/index.html": `<p id="here">` + link, "b/index.html": `<h2 id="part">`, "a.svg": "", "../outside.html": ""}
		for name, content := range write {
			if err := put(filepath.Join(dir, name), []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		err := checkLinks(dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", link, err)
		}
	}
}

// A link of a page to nothing is an error that names both.
func TestADeadLinkFailsTheBuild(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	t.Parallel()
	root := t.TempDir()
	for source, text := range map[string]string{
		contents:       "# All\n\n**Group.** [Page](page.md) · [Experiments](experiments/README.md)\n",
		"docs/page.md": "# Page\n\n[nothing](nothing.md)\n",
		experiments:    "# The experiments\n",
	} {
		if err := put(filepath.Join(root, source), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	err := writeDocs(t.Context(), options{root: root, out: filepath.Join(root, "site")})
	if err == nil || !strings.Contains(err.Error(), "docs/page.md") || !strings.Contains(err.Error(), "nothing.md") {
		t.Errorf("the error is %v", err)
	}
}

// site is the site of this repository.
var site = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "site-test-")
	if err != nil {
		return "", err
	}
	testenv.AtEnd(func() error { return os.RemoveAll(dir) })
	return dir, write(context.Background(), options{root: "../..", out: dir})
})

// Each link, anchor and picture of the site leads to something in it, and nothing comes from another host.
func TestLinksOfTheSite(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	t.Parallel()
	dir, err := site()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkLinks(dir); err != nil {
		t.Error(err)
	}
}

// A reader finds a page by the keyboard alone, below any path of a server, and no page asks another host.
func TestSearchInChromium(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	dir, err := site()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/below/", http.FileServer(http.Dir(dir))))
	defer server.Close()
	b := chrome.New(t)
	b.Open(server.URL+"/below/docs/glossary/", chrome.View{Width: 1280, Height: 720, Scheme: "light"})
	search(b, "delayed double delete")
	b.Accessible("results")
	b.Do(chromedp.KeyEvent(kb.Enter))
	arrives(b, server.URL+"/below/experiments/C4/")
	search(b, "fencing token")
	second := chrome.Ask[string](b, `document.querySelectorAll(".found a")[1].href`)
	b.Do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	arrives(b, second)
	for _, c := range []struct{ from, query, first string }{
		{"", "lock expires while working", "experiments/L05/"}, // no page has all of these words
		{"story/4/", "fencing token", "docs/glossary/#"},
		{"steps/", "how to run it", "docs/"},
		{"docs/", "which lock should I use in Go with Redis Sentinel", "docs/choose/"},
		{"docs/", "install", "docs/start/"},
		{"docs/", "stop the world", "experiments/L11/"},
	} {
		b.Open(server.URL+"/below/"+c.from, chrome.View{Width: 1280, Height: 720, Scheme: "light"})
		search(b, c.query)
		if first := chrome.Ask[string](b, `document.querySelector(".found a").href`); !strings.HasPrefix(first, server.URL+"/below/"+c.first) {
			t.Errorf("from %q, %q finds %s first", c.from, c.query, first)
		}
	}
	b.Calm(func(url string) bool { return strings.HasPrefix(url, server.URL) || strings.HasPrefix(url, "data:") })
}

// search types into the search field, and waits for results.
func search(b *chrome.Browser, text string) {
	b.T.Helper()
	b.Do(chromedp.KeyEvent("/"))
	for _, letter := range text {
		b.Do(chromedp.KeyEvent(string(letter)))
	}
	const found = `document.querySelectorAll(".found a").length > 1 && !document.querySelector(".found p").textContent.includes("…")`
	testenv.Eventually(b.T, "results", func() bool { return chrome.Ask[bool](b, found) })
}

// arrives waits until a page has loaded.
func arrives(b *chrome.Browser, url string) {
	b.T.Helper()
	testenv.Eventually(b.T, url, func() bool {
		return chrome.TryAsk[string](b, `document.readyState === "complete" ? location.href : ""`) == url
	})
}

// drawn is how much of the height of the screen the drawing has.
const drawn = `[...document.querySelectorAll("lock-stage svg")].find((s) => s.checkVisibility())
	.getBoundingClientRect().height / innerHeight`

// A reader goes from the first page through the whole story, and is told after each guess whether it was right.
func TestStoryInChromium(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	dir, err := site()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/below/", http.FileServer(http.Dir(dir))))
	defer server.Close()
	b := chrome.New(t)
	for shift, view := range []chrome.View{
		{Width: 1280, Height: 720, Scheme: "light"}, {Width: 390, Height: 844, Scheme: "dark"}, {Width: 1024, Height: 768, Scheme: "light"},
	} {
		b.Open(server.URL+"/below/", view)
		b.Do(chromedp.Click(".go .button"))
		for i, scene := range story.Scenes {
			at := fmt.Sprintf("%s/below/story/%d/", server.URL, i+1)
			arrives(b, at)
			guess := (i + shift) % len(scene.Choices)
			b.Do(chromedp.KeyEvent(string(rune('a' + guess))))
			arrives(b, fmt.Sprintf("%s%c/?", at, 'a'+guess))
			says := chrome.Ask[string](b, `document.querySelector(".answer").textContent`)
			if right := strings.HasPrefix(says, "Right."); right != (guess == scene.Right()) || !strings.Contains(says, scene.Ends) {
				t.Errorf("scene %d, guess %d: %s", i+1, guess, says)
			}
			if plays := `document.querySelector("lock-stage").dataset.steps.length > 100`; !chrome.Ask[bool](b, plays) {
				t.Errorf("scene %d has no drawing", i+1)
			}
			if part := chrome.Ask[float64](b, drawn); part < 0.3 {
				t.Errorf("scene %d: the drawing has %.2f of a screen of %d x %d", i+1, part, view.Width, view.Height)
			}
			b.Do(chromedp.Click("a.next"))
		}
		arrives(b, server.URL+"/below/story/")
		b.Accessible("the end of the story")
		b.Calm(func(url string) bool { return strings.HasPrefix(url, server.URL) || strings.HasPrefix(url, "data:") })
	}
}

// Pages of each kind keep the rules of accessibility, and are as wide as the screen.
func TestPagesInChromium(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	dir, err := site()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	b := chrome.New(t)
	for _, page := range []string{
		"", "docs/", "docs/compare/", "docs/libraries/", "docs/decisions/0001-packages-and-imports/", "experiments/", "experiments/L03/",
		"story/4/", "story/4/b/",
	} {
		for _, view := range []chrome.View{{Width: 1280, Height: 720, Scheme: "light"}, {Width: 390, Height: 844, Scheme: "dark"}} {
			b.Open(server.URL+"/"+page, view)
			b.Accessible(page + " " + view.Scheme)
			if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s is %d px wider than a screen of %d", page, over, view.Width)
			}
			b.Calm(func(url string) bool { return strings.HasPrefix(url, server.URL) || strings.HasPrefix(url, "data:") })
		}
	}
}
