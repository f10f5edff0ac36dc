package loadtool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testenv"
)

// shell is a tool that runs a script. In it $0 is the file that the tool writes, and $1 is the id of the run.
func shell(script string) Tool {
	return Tool{
		"shell", func(_ Burst, file, run string) []string { return []string{"sh", "-c", script, file, run} },
		func(Burst) []string { return []string{"SUMMARY_TEXT=" + views.summary(nil)} },
	}
}

// wantFiles wants these files in a folder, and nothing beside them.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%v: in the folder are %q, want %q", err, names, want)
	}
}

// A tool's record is that of this run. A file of another run or of a failed tool is not judged, and none is left.
func TestAToolRuns(t *testing.T) {
	const text = `printf %s "$SUMMARY_TEXT" | sed "s/\"id\":\"x\"/\"id\":\"ID\"/" >"$0"`
	for _, c := range []struct{ name, script, says string }{
		{"of this run", strings.Replace(text, "ID", "$1", 1), ""},
		{"a format without ids", strings.Replace(text, "ID", "", 1) + "; exit 99", ""},
		{"of another run", text, "the file of another run"},
		{"no file", "exit 3", "wrote no file, so nothing is judged (exit status 3)"},
		{"nothing useful", `echo text >"$0"`, "shell (exit status 0): this is neither"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new")
			r, err := shell(c.script).Run(testenv.Context(t), Burst{File: filepath.Join(dir, "x.json")}, t.Output())
			if c.says == "" {
				wantFiles(t, dir, "x.json")
			} else {
				wantFiles(t, dir)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || err == nil && r.Users != 4 {
				t.Errorf("%d users, %v; want %q", r.Users, err, c.says)
			}
		})
	}
}

// The file of an earlier run is replaced, and so is an empty one. Anything else stays as it was, and nothing is sent.
func TestAToolReplacesItsOwnFilesOnly(t *testing.T) {
	const run = `printf %s "$SUMMARY_TEXT" | sed "s/\"id\":\"x\"/\"id\":\"$1\"/" >"$0"`
	write := func(text string) func(file string) error {
		return func(file string) error { return os.WriteFile(file, []byte(text), 0o644) }
	}
	for _, c := range []struct {
		name string
		make func(file string) error
		kept bool
	}{
		{"an earlier run", write(grabs.csv()), false},
		{"empty", write(""), false},
		{"a letter", write("dear friend"), true},
		{"a link", func(file string) error { return os.Symlink("nowhere", file) }, true},
		{"a folder", func(file string) error { return os.Mkdir(file, 0o755) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "x.json")
			if err := c.make(file); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(file)
			_, err := shell(run).Run(testenv.Context(t), Burst{File: file}, t.Output())
			after, _ := os.Lstat(file)
			wantFiles(t, dir, "x.json")
			same := after != nil && before.Mode() == after.Mode() && before.Size() == after.Size()
			if errors.Is(err, ErrFile) != c.kept || (err != nil) != c.kept || same != c.kept {
				t.Errorf("the same file is there: %t; %v", same, err)
			}
		})
	}
}

// A tool that is missing removes no file. One that is interrupted leaves none.
func TestAToolThatDoesNotEnd(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.json")
	missing := Tool{"x", func(Burst, string, string) []string { return []string{"no-such-program"} }, nil}
	if err := os.WriteFile(file, []byte(views.csv()), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Run(testenv.Context(t), Burst{File: file}, t.Output()); err == nil || !strings.Contains(err.Error(), "app doctor") {
		t.Errorf("a tool that is missing: %v", err)
	}
	wantFiles(t, dir, "x.json")
	ctx, cancel := context.WithCancel(testenv.Context(t))
	begun := make(chan error, 1)
	go func() {
		_, err := shell(`trap 'exit 0' INT; touch "${0%/*}"/../begun; while :; do sleep 0.01; done`).Run(ctx, Burst{File: file}, t.Output())
		begun <- err
	}()
	testenv.Eventually(t, "the tool runs", func() bool {
		_, err := os.Stat(filepath.Join(dir, "begun"))
		return !errors.Is(err, fs.ErrNotExist)
	})
	cancel()
	if err := <-begun; !errors.Is(err, context.Canceled) {
		t.Errorf("a tool that was interrupted: %v", err)
	}
	wantFiles(t, dir, "begun")
}
