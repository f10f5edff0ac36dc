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
	page := exec.Command(self, append([]string{"lab", "serve", "--listen=127.0.0.1:0", "--out=" + t.TempDir()}, flags...)...)
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

// The whole story runs on this machine, for real. A projector shows the picture of the violation in scenes 1 to 3 without scrolling, at
// 1280 × 720.
func TestTheStory(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
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
		if picture := os.Getenv("LAB_SCREENSHOT"); picture != "" && scene == 1 { // of the README
			chrome.Keep(t, filepath.Dir(picture), filepath.Base(picture), chrome.Value(b, chromedp.CaptureScreenshot()))
		}
		b.Calm(func(asked string) bool { return strings.HasPrefix(asked, base+"/ui/") || asked == "data:," })
	}
	// A run goes on: the page ends all the same.
	if answer, err := http.PostForm(base+"/ui/experiments/L11/run", url.Values{}); err != nil || answer.StatusCode != http.StatusOK {
		t.Error(answer, err)
	} else {
		answer.Body.Close()
	}
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
