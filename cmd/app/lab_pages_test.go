package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// Without runs nothing is written, because pages would lose the results of earlier runs.
func TestPagesNeedRuns(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	dir := t.TempDir()
	store, file, empty, damaged := filepath.Join(dir, "store"), filepath.Join(dir, "README.md"), filepath.Join(dir, "empty"),
		filepath.Join(dir, "damaged")
	const before = "<!-- matrix: x -->\n<!-- /matrix -->\n"
	for _, made := range []string{empty, filepath.Join(damaged, "L03-foreign-unlock", "latest"), filepath.Join(dir, "docs", "experiments")} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "docs", "experiments", "README.md")
	for _, name := range []string{
		file, page, filepath.Join(dir, "docs", "matrix.md"),
		filepath.Join(damaged, "L03-foreign-unlock", "latest", "run.json"),
	} {
		if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := labRun(t, "L10", "--embedded", "--trials=1", "--out="+store); got.code != exitOK {
		t.Fatalf("exit %d: %s", got.code, got.err)
	}
	one := filepath.Join(store, "L10-set-without-nx")
	for wrong, want := range map[string]string{
		filepath.Join(dir, "missing"): "lab run --all --out " + filepath.Join(dir, "missing"), empty: "no saved runs",
		damaged: "no saved runs",
		file:    "not a folder", one: "no saved runs", filepath.Join(one, "latest"): "no saved runs",
	} {
		wantSentence(t, app(t.Context(), "lab", "pages", "--store="+wrong, "--out="+filepath.Join(dir, "docs")), exitUnavailable, wrong, want,
			"--store")
		wantSentence(t, app(t.Context(), "lab", "matrix", "--write", "--store="+wrong, "--dir="+dir), exitUnavailable, wrong, want, "--store")
	}
	picture := filepath.Join(dir, "docs", "experiments", "img", "L03-foreign-unlock-1.svg")
	if err := errors.Join(os.MkdirAll(filepath.Dir(picture), 0o700), os.WriteFile(picture, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	wantSentence(t, app(t.Context(), "lab", "pages", "--store="+store, "--out="+filepath.Join(dir, "docs")), exitUnavailable, store,
		"lab run L03-foreign-unlock --out ", "nothing was written")
	for _, name := range []string{file, page, filepath.Join(dir, "docs", "matrix.md")} {
		if text, err := os.ReadFile(name); err != nil || string(text) != before {
			t.Errorf("%s was written: %v\n%s", name, err, text)
		}
	}
	wantSentence(t, app(t.Context(), "lab", "matrix", "--store="+file), exitUnavailable, file, "not a folder")
	if got := app(t.Context(), "lab", "matrix", "--store="+empty); got.code != exitOK || !strings.Contains(got.out, "no saved run") {
		t.Errorf("exit %d: %s%s", got.code, got.err, got.out)
	}
}
