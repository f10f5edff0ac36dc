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

	"locklab/internal/testenv"
	"locklab/internal/testenv/chrome"
)

// post sends a form, and returns what the page answers.
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

// With the keyboard alone a person starts the instances and a load, breaks an instance, restarts it, and reads what the load left. Nothing
// moves on the page that the person did not press for.
func TestTheServersOfTheLivePage(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	base := livePage(t, "--topology=master-slave", "--cut")
	b := chrome.New(t)
	press := func(what string) {
		t.Helper()
		for range 200 {
			b.Do(chromedp.KeyEvent(kb.Tab))
			if chrome.Ask[bool](b, `document.activeElement.matches("`+what+`")`) {
				b.Do(chromedp.KeyEvent(kb.Enter))
				return
			}
		}
		t.Fatalf("Tab does not reach %s", what)
	}
	eventually := func(what, condition string) {
		t.Helper()
		testenv.Eventually(t, what, func() bool { return chrome.Ask[bool](b, condition) })
	}
	b.Open(base+"/ui/servers", chrome.View{Width: 1280, Scheme: "light"})
	press("#faults .button")
	eventually("the replicas are in sync", `document.querySelectorAll(".box.replica").length === 3 && !!document.querySelector(".deeds")`)
	// Readiness tries each lock, and a picture of that moment is higher.
	eventually("no lock of the start is left", `!document.querySelector(".box .lock")`)
	const place = `document.querySelector("#faults").offsetTop`
	before := chrome.Ask[int](b, place)
	stays := func() {
		t.Helper()
		if now := chrome.Ask[int](b, place); now != before {
			t.Errorf("the load has moved the buttons below it from %d to %d", before, now)
		}
	}
	press("form[action$=load] .button")
	eventually("the lock is in the picture", `/lock:pview.*token/s.test(document.querySelector(".box.master").innerText)`)
	eventually("answers are drawn", `document.querySelectorAll(".rates .amount:not([height='0'])").length > 1`)
	stays()
	press(".faults li:nth-child(2) button[aria-label^=kill]")
	eventually("an instance has ended", `document.querySelector(".faults li:nth-child(2) .state").textContent === "ended"`)
	row := chrome.Ask[string](b, `document.querySelector(".faults li:nth-child(2)").id`)
	if in := chrome.Ask[string](b, `document.activeElement.id`); in != row+"-3" {
		t.Errorf("after the kill the focus is on %q", in)
	}
	eventually("its requests fail", `/newest failure: status 502/.test(document.querySelector("#load").innerText)`)
	stays()
	b.Shoot("servers-1280")
	b.Do(chromedp.KeyEvent(kb.Enter))
	eventually("the instance serves again", `/restart instance-\d: .*ended.* serves at/.test(document.querySelector(".proofs").innerText)`)
	press("form[action$=stop] button")
	eventually("the load tells",
		`/not judged.* kill instance-2, restart instance-2\..*Lost: 0\./s.test(document.querySelector("#load").innerText)`)
	stays()
	b.Calm(func(asked string) bool { return strings.HasPrefix(asked, base+"/ui/") || asked == "data:," })
	b.Open(base+"/ui/servers", chrome.View{Name: "servers-390", Width: 390, Scheme: "dark"})
	if over := chrome.Ask[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("it is %d pixels too wide", over)
	}
	// A load goes on: the page ends all the same.
	if status, body := post(t, base+"/ui/servers/load", url.Values{"version": {"v4"}, "clients": {"4"}}); status != http.StatusOK {
		t.Error(status, body)
	}
	eventually("v4 is counted", `/v4, 4 clients: .*[1-9]\d* confirmed/.test(document.querySelector("#load").innerText)`)
}
