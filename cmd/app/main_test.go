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

// process returns a command that runs the program as a process.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(self, args...)
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
	for _, c := range []struct{ args, note string }{
		{"burst --versions=v3 http://" + at, "nothing was judged"},
		{"burst http://127.0.0.1:1", "nothing was judged"},
		{"demo --embedded --versions=v3", "nothing was judged"},
		{"doctor " + only("files"), "nothing was checked"},
		{"lab check " + jtl(t, "v3", 2, 2), "nothing was judged"},
		{"lab serve --embedded --listen=127.0.0.1:0 --out=" + t.TempDir(), "the server did not start"},
	} {
		got := app(ctx, strings.Fields(c.args)...)
		if got.code != 130 || got.out != "" || !strings.HasSuffix(got.err, "app: interrupted: "+c.note+"\n") {
			t.Errorf("%s: exit %d: %s%s", c.args, got.code, got.out, got.err)
		}
	}
}
