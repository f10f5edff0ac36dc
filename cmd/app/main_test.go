package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// asApp is the variable that makes this test binary run as the app, because the demo starts instances of its own binary.
const asApp = "LOCKLAB_TEST_AS_APP"

func TestMain(m *testing.M) {
	worker := slices.Contains(os.Args, "-test.fuzzworker") // go test starts this binary again for fuzzing
	if os.Getenv("LOCKLAB_STACK_ROLE") == "" && os.Getenv(asApp) != "" && !worker {
		testenv.UseNames()
		main()
	}
	testenv.ServeNames()
	os.Setenv(asApp, "1") // for the processes that the tests start
	if os.Getenv("LAB_START_TIMEOUT") == "" {
		os.Setenv("LAB_START_TIMEOUT", "30s") // the machine may be busy
	}
	testenv.Main(m)
}

// output is the result of running the program.
type output struct {
	code     int
	out, err string
}

// app runs the program in this process.
func app(ctx context.Context, args ...string) output {
	var out, err bytes.Buffer
	code := run(ctx, args, &out, &err)
	return output{code, out.String(), err.String()}
}

// program returns the file to run as the app.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// process returns a command that runs the program as a process.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(program(t), args...)
}

// wantSentence checks that a run ended with code, and printed nothing but one line of error that has every word.
func wantSentence(t *testing.T, got output, code int, words ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit %d, want %d", got.code, code)
	}
	if got.out != "" || strings.Count(got.err, "\n") != 1 {
		t.Errorf("want one line of error, got %q, %q", got.out, got.err)
	}
	for _, word := range words {
		if !strings.Contains(got.err, word) {
			t.Errorf("%q is missing in %q", word, got.err)
		}
	}
}

// wantText checks the exit code and that the output has every text.
func wantText(t *testing.T, got output, code int, texts ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit %d, want %d: %s", got.code, code, got.err)
	}
	for _, text := range texts {
		if !strings.Contains(got.out, text) {
			t.Errorf("%q is missing in:\n%s", text, got.out)
		}
	}
}

// An interrupted command ends with exit code 130 and says what that means for its result.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	at := serveLocal(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" { // interrupt the first command while it runs, and the others before they start
			interrupt()
		}
		_, _ = io.WriteString(w, `{"instance": "blue"}`)
	}))
	t.Setenv("LAB_REQUIRE", "") // a group leaves out what cannot run here, unless it is required
	for _, c := range []struct{ args, note string }{
		{"burst --versions=v3 http://" + at, "nothing was judged"},
		{"burst http://127.0.0.1:1", "nothing was judged"},
		{"demo --embedded --versions=v3", "nothing was judged"},
		{"doctor " + only("files"), "nothing was checked"},
		{"lab check " + jtl(t, "v3", 2, 2), "nothing was judged"},
		{"lab explore L03", "not every interleaving was tried, so there is no result"},
		{"lab run --all --embedded --out=" + t.TempDir(), "no experiment was begun"},
		{"lab serve --embedded --listen=127.0.0.1:0 --out=" + t.TempDir(), "the server did not start"},
	} {
		got := app(ctx, strings.Fields(c.args)...)
		if got.code != 130 || got.out != "" || !strings.HasSuffix(got.err, "app: interrupted: "+c.note+"\n") {
			t.Errorf("%s: exit %d: %s%s", c.args, got.code, got.out, got.err)
		}
	}
}
