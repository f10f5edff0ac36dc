//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"locklab/internal/testenv"
	"locklab/internal/testenv/chrome"
)

// livePage starts app lab serve as a process, and ends it as Ctrl-C does.
func livePage(t *testing.T, flags ...string) (base string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	page := exec.Command(self, append([]string{"lab", "serve", "--listen=127.0.0.1:0", "--no-browser", "--out=" + t.TempDir()}, flags...)...)
	out, err := page.StdoutPipe()
	if err == nil {
		err = page.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = page.Process.Signal(syscall.SIGINT)
		defer time.AfterFunc(time.Minute, func() { _ = page.Process.Kill() }).Stop()
		if err := page.Wait(); err != nil {
			t.Errorf("app lab serve ends with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	if lines.Scan() {
		_, base, _ = strings.Cut(lines.Text(), "The live page: ")
	}
	if base == "" {
		t.Fatalf("it says %q", lines.Text())
	}
	return strings.TrimSuffix(base, "/ui/")
}

// The page is opened in a browser, that of the trainer if there is a class. With --no-browser it is not.
func TestThePageOpensABrowser(t *testing.T) {
	testenv.Slow(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux asks xdg-open")
	}
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	script := "#!/bin/sh\necho \"$1\" >" + opened + ".new && mv " + opened + ".new " + opened + "\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":0")
	t.Run("not", func(t *testing.T) { livePage(t) })
	if _, err := os.Stat(opened); err == nil {
		t.Error("--no-browser opens one")
	}
	for flag, path := range map[string]string{"--browser": "/ui/", "--class": "/ui/trainer"} {
		t.Run(flag, func(t *testing.T) {
			base := livePage(t, "--browser", flag)
			testenv.Eventually(t, "the browser is opened", func() bool {
				text, _ := os.ReadFile(opened)
				return string(text) == base+path+"\n"
			})
		})
	}
}

// The whole story runs on this machine, for real. A projector shows the picture of the violation in scenes 1 to 3 without scrolling, at
// 1280 × 720.
func TestTheStory(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer) // scene 6 kills a master
	base := livePage(t)
	b := chrome.New(t)
	for scene := 1; scene <= 7; scene++ {
		address := fmt.Sprintf("%s/ui/story/%d", base, scene)
		for again := 0; ; again++ { // on a busy machine a run may show nothing
			b.Open(address, chrome.View{Width: 1280, Scheme: "light"})
			b.Do(chromedp.EmulateViewport(1280, 720), chromedp.Click(".choices button"), chromedp.WaitVisible(".answer"))
			says := chrome.Ask[string](b, `document.querySelector(".answer").textContent`)
			if !strings.Contains(says, "shows nothing") {
				break
			}
			if again == 2 {
				t.Errorf("scene %d: %s", scene, says)
				break
			}
		}
		if chrome.Ask[int](b, `document.querySelectorAll(".result .variant.violation").length`) == 0 {
			t.Errorf("scene %d shows no violation", scene)
		}
		bottom := chrome.Ask[float64](b, `document.querySelector(".result svg.chart, .result .picture").getBoundingClientRect().bottom`)
		if scene <= 3 && bottom > 720 {
			t.Errorf("scene %d: the picture of the violation ends at %.0f", scene, bottom)
		}
		b.Shoot(fmt.Sprintf("story-%d", scene))
		b.Calm(func(asked string) bool { return strings.HasPrefix(asked, base+"/ui/") || asked == "data:," })
	}
	// A run goes on: the page ends all the same.
	if answer, err := http.PostForm(base+"/ui/experiments/L11/run", url.Values{}); err != nil || answer.StatusCode != http.StatusOK {
		t.Error(answer, err)
	} else {
		answer.Body.Close()
	}
}

// The first picture of the README is that of a burst of 666, as the page shows it after its first run. At 1280 × 720 a projector shows each
// version with its final value and its losses without scrolling.
func TestThePictureOfABurst(t *testing.T) {
	testenv.Check(t, testenv.Page)
	testenv.Needs(t, testenv.RedisServer)
	base := livePage(t)
	b := chrome.New(t)
	b.Open(base+"/ui/burst", chrome.View{Width: 1280, Scheme: "light"})
	b.Do(chromedp.EmulateViewport(1280, 720), chromedp.SendKeys("[name=guess]", "100"), chromedp.Click("#run-it"))
	b.Do(chromedp.WaitVisible(".answer"), chromedp.WaitVisible(".finals"))
	const bottom = `Math.max(...[...document.querySelectorAll(".card dl div:nth-child(4)")].map((e) => e.getBoundingClientRect().bottom))`
	if at := chrome.Ask[float64](b, bottom); at > 720 || at < 100 {
		t.Errorf("the losses end at %.0f", at)
	}
	if picture := os.Getenv("LAB_SCREENSHOT"); picture != "" {
		b.Do(chromedp.EmulateViewport(1280, 1050))
		chrome.Keep(t, filepath.Dir(picture), filepath.Base(picture), chrome.Value(b, chromedp.CaptureScreenshot()))
	}
	b.Still()
}

// Everybody who reaches the page can start runs, so it is for this machine only.
func TestTheLivePageIsForThisMachine(t *testing.T) {
	for _, c := range []struct {
		listen string
		want   []string
	}{
		{"0.0.0.0:8090", []string{"0.0.0.0:8090", "--class", "127.0.0.1:8070"}},
		{":8090", []string{"at :8090", "127.0.0.1:8070"}},
		{"example.com:8090", []string{"at example.com:8090", "127.0.0.1:8070"}},
		{"8090", []string{"--listen", "host:port"}},
	} {
		wantSentence(t, app(t.Context(), "lab", "serve", "--listen="+c.listen), exitUsage, c.want...)
	}
}
