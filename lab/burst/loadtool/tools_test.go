package loadtool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/burst"
	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// fake is a tool that is a shell script: as k6 it is started for each burst, and as JMeter once. In it $file is what it is to write, and
// $run is the id of the run. $summary and $samples are records of four page views of v3; the id of the first is x. A fake JMeter has played
// a burst when the script is over.
type fake struct {
	Tool
	files string // of the tool's own
}

func fakes(t *testing.T, script string) map[string]fake {
	t.Helper()
	dir, path := t.TempDir(), t.TempDir()
	plans := filepath.Join(dir, "loadtest", "jmeter")
	if err := os.MkdirAll(plans, 0o700); err != nil {
		t.Fatal(err)
	}
	// k6 gets -e SUMMARY=file -e RUN_ID=run.
	k6 := "#!/bin/sh\nfor a; do case $a in SUMMARY=*) file=${a#*=};; RUN_ID=*) run=${a#*=};; esac; done\n" + script + "\n"
	jmeter := "#!/bin/sh\nwhile IFS='\t' read -r plan file rest; do\n" + script + "\necho 'burst: played'; done\n"
	for file, text := range map[string]string{filepath.Join(path, "k6"): k6, filepath.Join(plans, "jmeter"): jmeter} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path+":"+os.Getenv("PATH"))
	t.Setenv("summary", views.summary(nil))
	t.Setenv("samples", views.csv())
	t.Setenv("dir", dir)
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := map[string]fake{"k6": {K6(dir), dir}, "JMeter": {JMeter(dir), dir}}
	for _, tool := range all {
		t.Cleanup(func() {
			if err := tool.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return all
}

// wantNothingLeft wants that the tool's temporary files are gone.
func (f fake) wantNothingLeft(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(filepath.Join(f.files, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("%s leaves %v, %v", f.Name(), left, err)
	}
}

var target = burst.Target{URL: "http://127.0.0.1:1", ByChance: true}

// A tool's record is of the burst that it was to send. Without a file, with the file of another burst, or with one that shows nothing,
// there is no record, and the failure has what the tool printed.
func TestAToolThatRecordsNothingFails(t *testing.T) {
	const write = `printf %s "$summary" | sed "s/\"id\":\"x\"/\"id\":\"ID\"/" >"$file"`
	of := func(run string) string { return strings.Replace(write, "ID", run, 1) }
	const jtl = `printf '%s\n' "$samples" >"$file"`
	for _, c := range []struct{ name, tool, script, version, says string }{
		{"of this run", "k6", of("$run") + "; exit 99", "v3", ""},
		{"of another run", "k6", "echo why;" + of("y"), "v3", "k6 wrote the file of another run"},
		{"of another version", "k6", "echo why;" + of("$run"), "v4", "k6 wrote the file of another run (pview of v3)"},
		{"no file", "k6", "echo why >&2; exit 3", "v3", "k6 wrote no file, so nothing is judged (exit status 3)"},
		{"nothing useful", "k6", `echo why; echo text >"$file"`, "v3", "k6 (exit status 0): this is neither"},
		{"of this run", "JMeter", jtl, "v3", ""},
		{"of another version", "JMeter", "echo why;" + jtl, "v4", "JMeter wrote the file of another run (pview of v3)"},
		{"no file", "JMeter", "echo why", "v3", "JMeter wrote no file, so nothing is judged (played)"},
		{"an error", "JMeter", "echo why; echo burst: it broke; continue", "v3", "JMeter wrote no file, so nothing is judged (it broke)"},
		{"the end", "JMeter", "echo why; exit 3", "v3", "JMeter wrote no file, so nothing is judged (exit status 3)"},
	} {
		t.Run(c.tool+" "+c.name, func(t *testing.T) {
			tool := fakes(t, c.script)[c.tool]
			for range 2 { // what failed once may be tried again
				b, err := tool.Views(testenv.Context(t), target, c.version, 4, nil)
				failed := (*Failure)(nil)
				switch {
				case c.says == "" && (err != nil || len(b.Writes) != 4 || !b.ByChance || !b.Shared):
					t.Errorf("%+v, %v", b, err)
				case c.says != "" && (!errors.As(err, &failed) || !strings.Contains(err.Error(), c.says) || failed.Output != "why"):
					t.Errorf("%+v, %v, and it printed %q; want %q", b, err, failed.Output, c.says)
				}
				tool.wantNothingLeft(t)
			}
		})
	}
}

// A tool that sends fewer requests than it was to send has not sent the burst.
func TestAToolThatSendsTooFewFails(t *testing.T) {
	for name, tool := range fakes(t, `printf '%s\n' "$samples" >"$file"`) {
		_, err := tool.Views(testenv.Context(t), target, "v3", 6, nil)
		if err == nil || !strings.Contains(err.Error(), "sent 4 requests and not 6") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One JMeter plays all bursts, because its start takes longer than a burst.
func TestJMeterStartsOnce(t *testing.T) {
	tool := fakes(t, `printf '%s\n' "$samples" >"$file"; echo $$ >>"$dir/processes"`)["JMeter"]
	for range 3 {
		if _, err := tool.Views(testenv.Context(t), target, "v3", 4, nil); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(tool.files, "processes"))
	if ids := strings.Fields(string(text)); err != nil || len(ids) != 3 || ids[0] != ids[2] {
		t.Errorf("the processes are %q, %v", text, err)
	}
}

// A tool that is missing says how to get it.
func TestAMissingToolIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, tool := range []Tool{K6("."), JMeter(t.TempDir())} {
		_, err := tool.Views(testenv.Context(t), target, "v3", 4, nil)
		for what, err := range map[string]error{"it is missing": tool.Missing(), "it is used": err} {
			missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound)
			if !missing || !strings.Contains(err.Error(), "loadtest/README.md says how to get it") {
				t.Errorf("%s: %s: %v", tool.Name(), what, err)
			}
		}
	}
}

// A tool that is interrupted ends, and leaves no file.
func TestAToolEndsWithItsContext(t *testing.T) {
	for name, tool := range fakes(t, `trap 'exit 0' INT; touch "$dir/begun"; while :; do sleep 0.01; done`) {
		ctx, cancel := context.WithCancel(testenv.Context(t))
		ended := make(chan error, 1)
		go func() {
			_, err := tool.Grabs(ctx, target, "v3", 4)
			ended <- err
		}()
		begun := filepath.Join(tool.files, "begun")
		testenv.Eventually(t, "the tool runs", func() bool { return os.Remove(begun) == nil })
		began := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(began) > tidyUp {
			t.Errorf("%s: after %v %v", name, time.Since(began), err)
		}
		tool.wantNothingLeft(t)
	}
}
