package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// A new run is taken over with --take, and its page is written; the pages of other experiments are not. Where there is no run to take,
// nothing is written. A run of fewer trials is refused.
func TestPagesTakeRuns(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	dir := t.TempDir()
	store, empty := filepath.Join(dir, "store"), filepath.Join(dir, "empty")
	const before = "<!-- matrix: x -->\n<!-- /matrix -->\n<!-- reasons: x -->\n<!-- /reasons -->\n"
	for _, made := range []string{empty, filepath.Join(dir, "docs")} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{filepath.Join(dir, "README.md"), filepath.Join(dir, "docs", "matrix.md")} {
		if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(flags ...string) {
		t.Helper()
		if got := labRun(t, append([]string{"L10", "--embedded", "--out=" + store}, flags...)...); got.code != exitOK {
			t.Fatalf("exit %d: %s", got.code, got.err)
		}
	}
	run()
	pages := func(args ...string) output {
		return app(t.Context(), append([]string{"lab", "pages", "--dir=" + dir}, args...)...)
	}
	missing := filepath.Join(dir, "missing")
	wantSentence(t, pages("--take="+missing), exitUnavailable, missing, "nothing was written", "lab run --all --out "+missing)
	wantSentence(t, pages("--take="+empty), exitUnavailable, empty, "nothing was written")
	wantSentence(t, pages("--take="+store, "L03"), exitUnavailable, store, "nothing was written")
	if got := pages("--take="+store, "L10"); got.code != exitOK || !strings.Contains(got.out, "Took over 1 of 1 runs from "+store+": L10.") {
		t.Fatalf("exit %d: %s%s", got.code, got.err, got.out)
	}
	if _, err := os.Stat(filepath.Join(dir, "docs", "experiments", "L09-waiting.md")); err != nil {
		t.Errorf("the page beside L10, which links it: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "docs", "experiments", "L10-set-without-nx.md"))
	if err != nil || !strings.Contains(string(page), "Verdict: **as predicted**") {
		t.Errorf("%v:\n%s", err, page)
	}
	run("--trials=1")
	if got := pages("--take="+store, "L10"); got.code != exitUnavailable || !strings.Contains(got.err, "ran 1 of 3 trials") {
		t.Errorf("exit %d: %s%s", got.code, got.err, got.out)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "docs", "experiments", "L10-set-without-nx.md")); !bytes.Equal(page, after) {
		t.Errorf("a run of one trial has changed the page: %v", err)
	}
}

// app lab matrix sums up what is saved, and says so where nothing is.
func TestMatrixWithoutRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeTemp(t, "a poem")
	wantSentence(t, app(t.Context(), "lab", "matrix", "--store="+file), exitUnavailable, file, "not a folder")
	wantSentence(t, app(t.Context(), "lab", "matrix", "--store="+dir), exitUnavailable, "no saved run", "lab run --quick")
}
