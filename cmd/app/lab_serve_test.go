//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"locklab/lab/testenv"
	"locklab/lab/testenv/chrome"
)

// livePage starts app lab serve as a process and returns its URL. The process gets a Ctrl-C at the end of the test.
func livePage(t *testing.T, flags ...string) (base string) {
	t.Helper()
	base, _ = livePageProcess(t, flags...)
	return base
}

func livePageProcess(t *testing.T, flags ...string) (base string, pid int) {
	t.Helper()
	page := process(t, append([]string{"lab", "serve", "--listen=127.0.0.1:0", "--no-browser", "--out=" + t.TempDir()}, flags...)...)
	page.Env = append(os.Environ(), "GOGC=100") // its memory is that of a user's page: .ci/test sets another value
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
			t.Errorf("app lab serve: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Scan()
	_, host, found := strings.Cut(lines.Text(), "http://")
	if !found {
		t.Fatalf("no URL in %q", lines.Text())
	}
	return "http://" + strings.TrimSuffix(host, "/ui/"), page.Process.Pid
}

// The command opens the page in a browser, or the trainer's page with --class. With --no-browser it opens none.
func TestLabServeOpensABrowser(t *testing.T) {
	testenv.Slow(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux uses xdg-open")
	}
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	script := "#!/bin/sh\necho \"$1\" >" + opened + ".new && mv " + opened + ".new " + opened + "\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":0")
	t.Run("--no-browser", func(t *testing.T) { livePage(t) })
	if _, err := os.Stat(opened); err == nil {
		t.Error("--no-browser opens a browser")
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

// If there is a screen but no browser, the user gets the URL. Without a screen there is no message.
func TestOpenBrowserWithoutABrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux uses xdg-open")
	}
	const url = "http://127.0.0.1:1"
	installed := t.TempDir()
	if err := os.WriteFile(filepath.Join(installed, "xdg-open"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, screen, want string }{
		{installed, "DISPLAY", ""}, {installed, "WAYLAND_DISPLAY", ""}, {t.TempDir(), "", ""}, {t.TempDir(), "DISPLAY", url},
	} {
		for _, screen := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"} {
			t.Setenv(screen, map[bool]string{true: ":0"}[screen == c.screen])
		}
		t.Setenv("PATH", c.path)
		var stderr bytes.Buffer
		openBrowser(t.Context(), streams{io.Discard, &stderr}, url)
		if got := stderr.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: printed %q", c, got)
		}
	}
}

// A person plays the whole story with the keyboard, on a projector, where nothing scrolls. Every scene really runs. The end shows the
// guesses and leads back.
func TestTheStory(t *testing.T) {
	testenv.Check(t, testenv.Page)
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer) // scene 6 kills a master
	base := livePage(t)
	b := chrome.New(t)
	b.Open(base+"/ui/", chrome.View{Width: 1280, Height: 720, Scheme: "light", Moves: true})
	for scene := 1; scene <= 7; scene++ {
		b.Do(chromedp.WaitVisible(fmt.Sprintf(`//h1[contains(., "%d of 7")]`, scene)), chromedp.WaitVisible(".choices button:enabled"))
		playScene(b, scene, map[bool]string{false: "b"}[scene%2 == 0])
		b.Accessible(fmt.Sprint("scene ", scene))
		if over := chrome.Ask[int](b, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
			t.Errorf("scene %d scrolls by %d pixels", scene, over)
		}
		b.Shoot(fmt.Sprint("story-", scene))
		b.Do(chromedp.KeyEvent(kb.ArrowRight))
	}
	b.Do(chromedp.WaitVisible(".summary"))
	const guesses = `document.querySelectorAll(".summary tbody tr").length - document.body.textContent.split("not played yet").length + 1`
	if n := chrome.Ask[int](b, guesses); n != 7 {
		t.Errorf("the end of the story has %d scenes", n)
	}
	b.Accessible("the end of the story")
	b.Do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.WaitVisible(`//h1[contains(., "7 of 7")]`), chromedp.WaitVisible(".ends .answer"))
	b.Calm(func(asked string) bool { return strings.HasPrefix(asked, base+"/ui/") || asked == "data:," })
	// The page must end although a run is in progress.
	if answer, err := http.PostForm(base+"/ui/quiz/L11/run", url.Values{}); err != nil || answer.StatusCode != http.StatusOK {
		t.Error(answer, err)
	} else {
		answer.Body.Close()
	}
}

// playScene guesses by a key, or by Tab and Enter if guess is empty. It repeats a scene whose run shows nothing, because the machine may be
// busy.
func playScene(b *chrome.Browser, scene int, guess string) {
	b.T.Helper()
	for again := 0; ; again++ {
		if guess == "" {
			b.TabTo("#guess-1")
			b.Do(chromedp.KeyEvent(kb.Enter))
		} else {
			b.Do(chromedp.KeyEvent(guess))
		}
		b.Do(chromedp.WaitVisible(".views"), chromedp.WaitVisible(".ends p.answer, .ends p.why"))
		if text := chrome.Ask[string](b, `document.querySelector(".ends").textContent`); strings.Contains(text, "Guess again") {
			if again == 2 {
				b.T.Fatalf("scene %d: %s", scene, text)
			}
			b.TabTo("#again-it")
			b.Do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(".choices button:enabled"))
			continue
		}
		break
	}
	if chrome.Ask[int](b, `document.querySelectorAll(".views .violation").length`) == 0 {
		b.T.Errorf("scene %d shows no violation", scene)
	}
	if !chrome.Ask[bool](b, `document.querySelector(".choices .guessed") !== null && document.querySelector(".choices .right") !== null`) {
		b.T.Errorf("scene %d does not compare the guess with the right answer", scene)
	}
}

// The picture of the README is a scene after its run.
func TestThePictureOfAScene(t *testing.T) {
	testenv.Check(t, testenv.Page)
	b := chrome.New(t)
	b.Open(livePage(t)+"/ui/story/4", chrome.View{Width: 1280, Height: 720, Scheme: "light"})
	b.Do(chromedp.WaitVisible(".choices button:enabled"))
	playScene(b, 4, "c")
	if picture := os.Getenv("LAB_SCREENSHOT"); picture != "" {
		chrome.Keep(t, filepath.Dir(picture), filepath.Base(picture), chrome.Value(b, chromedp.CaptureScreenshot()))
	}
}

// The error names the cause: a port in use, or a store that is not a folder.
func TestLabServeErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at, file := "--listen="+taken.Addr().String(), writeTemp(t, "")
	wantSentence(t, app(t.Context(), "lab", "serve", "--embedded", "--out="+t.TempDir(), at), exitUnavailable, taken.Addr().String(), "in use")
	wantSentence(t, app(t.Context(), "lab", "serve", "--embedded", "--out="+file, at), exitUnavailable, file, "cannot be saved")
	got := app(t.Context(), "demo", "--embedded", "--versions=v3", at)
	if got.code != exitUnavailable || got.out != "" || !strings.Contains(got.err, taken.Addr().String()) {
		t.Errorf("the demo: exit %d: %s%s", got.code, got.out, got.err)
	}
}

// With --url, bursts go to running instances. The URL may end with the slash that a browser adds.
func TestLabServeWithURL(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	asked, end := make(chan string, 10), testenv.Context(t).Done()
	at := serveLocal(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path:
		default: // the first requests are enough
		}
		http.Error(w, "not an instance", http.StatusNotFound)
	}))
	post(t, livePage(t, "--url=http://"+at+"/")+"/ui/burst", url.Values{"version": {"v3"}, "users": {"2"}, "drivers": {"2"}})
	select {
	case path := <-asked:
		if path != "/healthz" {
			t.Errorf("the first request is for %s", path)
		}
	case <-end:
		t.Error("the instances get no request")
	}
}

// The page prints the address that it was given, as a browser shows it.
func TestLabServePrintsItsAddress(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"lab.example:8070": "http://lab.example:8070", "lab.example:443": "https://lab.example", "LAB.example:80": "http://lab.example",
		"https://lab.example/": "https://lab.example", "https://lab.example:443": "https://lab.example",
		"http://lab.example:443":   "http://lab.example:443",
		"https://lab.example:8443": "https://lab.example:8443", "[2001:db8::1]:443": "https://[2001:db8::1]",
	} {
		c := labServeCommand{Class: true, Listen: "127.0.0.1:0", Address: given, Out: "store"}
		if err := c.validate(); err != nil {
			t.Errorf("%s: %v", given, err)
		}
		var out bytes.Buffer
		printAddresses(streams{&out, io.Discard}, c.Address, c.Address, c.newClass(new(net.TCPAddr)))
		for _, line := range []string{
			"Live page:     " + want + "/ui/\n", "Participants:  " + want + "/ui/join\n", "Trainer:       " + want + "/ui/trainer\n",
		} {
			if !strings.Contains(out.String(), line) {
				t.Errorf("%s prints %q, want %q", given, out.String(), line)
			}
		}
	}
}
