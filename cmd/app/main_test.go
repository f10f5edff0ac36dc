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

	"locklab/internal/testenv"
)

// asApp makes this test binary the app: the demo starts its instances from the running program.
const asApp = "LOCKLAB_TEST_AS_APP"

func TestMain(m *testing.M) {
	worker := slices.Contains(os.Args, "-test.fuzzworker") // which go test starts from here, too
	if os.Getenv("LOCKLAB_STACK_ROLE") == "" && os.Getenv(asApp) != "" && !worker {
		testenv.UseNames()
		main()
	}
	testenv.ServeNames()
	os.Setenv(asApp, "1") // for what the tests start
	if os.Getenv("LAB_START_TIMEOUT") == "" {
		os.Setenv("LAB_START_TIMEOUT", "30s") // on a busy machine servers may be late
	}
	testenv.Main(m)
}

// output is what a run of the program left.
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

// process is the program as a process of its own, not yet started.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(self, args...)
}

func TestHelpNamesEveryFlagItsVariableAndItsDefault(t *testing.T) {
	got := app(t.Context(), "serve", "--help")
	if got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	text := strings.Join(strings.Fields(got.out), " ")
	for flag, value := range map[string]string{
		"listen": "127.0.0.1:8080", "instance": "its port", "topology": "single", "redis": "127.0.0.1:6379",
		"sentinel-master": "lab", "redis-password": "none", "redlock": "none", "zookeeper": "none", "database": "sqlite:locklab.db",
		"etcd": "none", "etcd-user": "none", "etcd-password": "none",
		"lease": "10s", "wait": "30s", "order-think": "100ms", "admin-token": "none", "memcached": "none",
		"start-timeout": "5s", "log-format": "text", "log-level": "info",
	} {
		variable := "$LAB_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
		_, after, found := strings.Cut(text, "--"+flag+"=")
		description, _, _ := strings.Cut(after, " --")
		if !found || !strings.Contains(description, variable) || !strings.Contains(description, value) {
			t.Errorf("--%s: the help does not show %s and %q: %s", flag, variable, value, description)
		}
	}
}

func TestWithoutACommandItSaysWhatThereIs(t *testing.T) {
	got := app(t.Context())
	if got.code != 64 || !strings.Contains(got.err, "serve") || !strings.Contains(got.err, "demo") {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
}

// A command that is interrupted ends with 130, and says what that means for its result.
func TestAnInterruptedCommandSaysSo(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	at := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" { // the first command has begun, and the others have not
			interrupt()
		}
		_, _ = io.WriteString(w, `{"instance": "blue"}`)
	}))
	for _, c := range []struct{ args, left string }{
		{"burst --versions=v3 http://" + at, "nothing is judged"},
		{"burst http://127.0.0.1:1", "nothing is judged"},
		{"demo --embedded --versions=v3", "nothing is judged"},
		{"doctor " + only("files"), "nothing is said"},
		{"lab check " + jtl(t, "v3", 2, 2), "nothing is judged"},
		{"lab serve --embedded --listen=127.0.0.1:0 --out=" + t.TempDir(), "it did not serve"},
	} {
		got := app(ctx, strings.Fields(c.args)...)
		if got.code != 130 || got.out != "" || !strings.HasSuffix(got.err, "app: interrupted: "+c.left+"\n") {
			t.Errorf("%s: exit %d: %s%s", c.args, got.code, got.out, got.err)
		}
	}
}
