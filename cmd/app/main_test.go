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

	"locklab/lab/servers"
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

func TestHelpHasVariablesAndDefaults(t *testing.T) {
	got := app(t.Context(), "serve", "--help")
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	text := strings.Join(strings.Fields(got.out), " ")
	want := map[string]string{
		"listen": "127.0.0.1:8080", "instance": "its port", "topology": "single", "redis": "127.0.0.1:6379",
		"sentinel-master": "lab", "redis-password": "none", "redlock": "none", "database": "sqlite:locklab.db",
		"lease": "10s", "wait": "30s", "order-think": "100ms", "admin-token": "none",
		"start-timeout": "5s", "log-format": "text", "log-level": "info",
	}
	for _, kind := range servers.Backends() {
		want[kind.Name] = "none"
	}
	for flag, value := range want {
		variable := "$LAB_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
		_, after, found := strings.Cut(text, "--"+flag+"=")
		description, _, hasVariable := strings.Cut(after, "("+variable+")")
		if !found || !hasVariable || !strings.Contains(description, value) {
			t.Errorf("--%s: the help does not have %s and %q: %s", flag, variable, value, description)
		}
	}
}

func TestNoCommand(t *testing.T) {
	got := app(t.Context())
	if got.code != 64 || !strings.Contains(got.err, "serve") || !strings.Contains(got.err, "demo") {
		t.Fatalf("exit %d: %s", got.code, got.err)
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
