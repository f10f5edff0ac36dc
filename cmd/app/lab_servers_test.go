//go:build unix

package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

// post sends a form and returns the status and the body of the response.
func post(t *testing.T, address string, form url.Values) (int, string) {
	t.Helper()
	answer, err := http.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body)
}

// smallestText is the size of the smallest text that is seen, in pixels.
const smallestText = `Math.min(...[...document.querySelectorAll("main *")].filter((e) =>
	e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim())).map((e) => {
		const svg = e.closest("svg"), scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
		return parseFloat(getComputedStyle(e).fontSize) * scale;
	}))`

// During a load of v3, a person kills the master from the page. The plot shows the gap and the failover as they happen, and keeps them
// after the load. The picture has the new master. The page fits a projector and a phone, and is accessible.
func TestTheLivePageShowsAFailover(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	base := livePage(t, "--topology=sentinel")
	b := chrome.New(t)
	eventually := func(what, condition string) {
		t.Helper()
		testenv.Eventually(t, what, func() bool { return chrome.Ask[bool](b, condition) })
	}
	b.Open(base+"/ui/servers", chrome.View{Width: 1280, Height: 720, Scheme: "light"})
	press := func(what string) {
		t.Helper()
		b.TabTo(what)
		b.Do(chromedp.KeyEvent(kb.Enter))
	}
	press("#servers .button")
	eventually("the replicas are in sync",
		`document.querySelectorAll(".wires .copies:not(.down)").length === 3 && !!document.querySelector(".deeds")`)
	press("form[action$=load] .button")
	eventually("some seconds are drawn", `document.querySelectorAll(".wide .rates .median").length > 3`)
	const lowest = `Math.max(...["#of-sentinel-3", ".wide .rates"].map((e) => document.querySelector(e).getBoundingClientRect().bottom))`
	if low := chrome.Ask[float64](b, lowest); low > 720 {
		t.Errorf("the picture or the plot ends at %.0f of 720 pixels", low)
	}
	if size := chrome.Ask[float64](b, smallestText); size < 16 {
		t.Errorf("on a projector there is text of %.1f pixels", size)
	}
	press("[aria-label='kill master']")
	const happened = `[...document.querySelectorAll(".wide .rates .moment")].map((e) => e.textContent).reverse().join()`
	eventually("the plot has the failover", `/^kill master,replica-. is a master$/.test(`+happened+`)`)
	eventually("views are answered again", `(() => {
		const [failover, kill] = [...document.querySelectorAll(".wide .rates .moment-line")].map((e) => e.getBoundingClientRect().x);
		const after = [...document.querySelectorAll(".wide .rates .amount")].filter((e) => e.getBoundingClientRect().x > failover);
		return kill < failover && after.length > 3;
	})()`)
	if n := chrome.Ask[int](b, `document.querySelectorAll(".wide .rates .failed:not(.lost)").length`); n == 0 {
		t.Error("the plot has no failed request")
	}
	eventually("the picture has the failover", `
		/^[\d:]+ master was killed\. replica-. is the master since [\d:]+ \([\d.]+ s\)\.$/
			.test(document.querySelector("#newest").innerText.trim())
		&& /ended/.test(document.querySelector("#of-master").textContent) && document.querySelectorAll(".serverbox.master").length === 1
		&& [1, 2, 3].every((n) => /reports → replica-/.test(document.querySelector("#of-sentinel-" + n).textContent))`)
	b.Shoot("failover-1280")
	press("[form=stop-load]")
	eventually("the load has results",
		`/not judged.* kill master, replica-. is a master\..*were confirmed/s.test(document.querySelector("#load").innerText)`)
	if text := chrome.Ask[string](b, happened); !strings.HasPrefix(text, "kill master,replica-") {
		t.Errorf("after the load, the plot has %q", text)
	}
	b.Accessible("the servers, wide")
	b.Open(base+"/ui/servers", chrome.View{Name: "failover-390", Width: 390, Scheme: "dark"})
	if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("it is %d pixels too wide", over)
	}
	if size := chrome.Ask[float64](b, smallestText); size < 13 {
		t.Errorf("on a phone there is text of %.1f pixels", size)
	}
	if low := chrome.Ask[float64](b, `Math.min(...[...document.querySelectorAll(".deeds button")].map((e) => e.offsetHeight))`); low < 40 {
		t.Errorf("on a phone there is a button of %.0f pixels", low)
	}
	b.Accessible("the servers, narrow")
	b.Calm(func(asked string) bool { return strings.HasPrefix(asked, base+"/ui/") || asked == "data:," })
}
