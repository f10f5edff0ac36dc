package main

import (
	"bytes"
	"context"
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
		"lease": "10s", "wait": "30s", "order-think": "100ms", "admin-token": "none",
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
	if got.code != exitUsage || !strings.Contains(got.err, "serve") || !strings.Contains(got.err, "demo") {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
}
