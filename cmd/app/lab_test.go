package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/testenv"
)

func TestLabList(t *testing.T) {
	got := app(t.Context(), "lab", "list")
	var list []listEntry
	programs := app(t.Context(), "lab", "list", "--json")
	if err := json.Unmarshal([]byte(programs.out), &list); err != nil || got.code != exitOK || programs.code != exitOK {
		t.Fatalf("exit %d and %d, %v", got.code, programs.code, err)
	}
	for i, e := range claims.All() {
		if !strings.Contains(got.out, e.ID) || list[i].ID != e.ID || list[i].Claim != e.Claim || list[i].Needs == nil {
			t.Errorf("%s is not listed", e.ID)
		}
		if !strings.Contains(got.out, claims.Group(e.ID)) {
			t.Errorf("the group of %s has no heading", e.ID)
		}
	}
}

func TestLabShow(t *testing.T) {
	e, err := claims.All().Find("L03")
	if err != nil {
		t.Fatal(err)
	}
	got := app(t.Context(), "lab", "show", "l03")
	got.out = strings.Join(strings.Fields(got.out), " ")
	wantText(t, got, exitOK, strings.Join(strings.Fields(e.Claim), " "), e.Variants[0].Name+" (control) no violation",
		"lab run L03-foreign-unlock")
}

// A run is saved, and the check and the matrix work from its files alone.
func TestLabRunIsSaved(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	store := filepath.Join(t.TempDir(), "store")
	got := labRun(t, "L03", "l03-foreign-unlock", "--embedded", "--trials=1", "--seed=7", "--out="+store)
	if got.code != exitOK {
		t.Fatalf("exit %d: %s\n%s", got.code, got.err, got.out)
	}
	wantText(t, got, exitOK, "script (control)", "no violation in 1 trial", "violation in 1 of 1 trial", "both wrote 2: one update is lost",
		"│ write 2", "Saved:   "+store, "Report:  "+filepath.Join(store, "L03-foreign-unlock"), "Verdict: as predicted",
		"lab run L03 l03-foreign-unlock --trials 1 --embedded --seed 7")
	if want := "1/1 L03-foreign-unlock: DEL, trial 1 of 1\n"; !strings.Contains(got.err, want) || strings.Contains(got.err, "\x1b") {
		t.Errorf("the progress is %q", got.err)
	}
	saved := filepath.Join(store, "L03-foreign-unlock")
	for _, path := range []string{saved, store, filepath.Join(saved, "latest"), filepath.Join(saved, "latest", "run.json")} {
		wantText(t, app(t.Context(), "lab", "check", path), exitOK, "violation in 1 of 1 trial")
	}
	wantText(t, app(t.Context(), "lab", "matrix", "--store="+store), exitOK, "unlock by a non-owner       0/1      ✗ ")
	history := filepath.Join(saved, "latest", "history.jsonl")
	if err := os.Truncate(history, 50); err != nil { // in the middle of a line
		t.Fatal(err)
	}
	wantText(t, app(t.Context(), "lab", "check", saved), exitInconclusive, "history.jsonl is damaged or cut short")
	file := writeTemp(t, "")
	wantSentence(t, app(t.Context(), "lab", "run", "L03", "--out", file+"/store"), exitUnavailable, "cannot be saved")
}

// Without Docker, app lab run --on docker fails before the first trial and says what to do.
func TestLabRunWithoutDocker(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("LAB_REQUIRE", "") // that of the tests would be answered first
	got := app(t.Context(), "lab", "run", "F01", "--on", "docker", "--dir", "../..")
	if got.code != exitUnavailable || !strings.Contains(got.err, "docker is not on the PATH: app doctor") ||
		strings.Contains(got.err, "trial 1") {
		t.Errorf("%d: %s", got.code, got.err)
	}
}

// A named experiment that cannot run here is an error, and so is one of a group with LAB_REQUIRE=all.
func TestLabRunWithMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	wantSentence(t, app(t.Context(), "lab", "run", "D01"), exitUnavailable, "D01-database-lock needs mariadbd",
		"apt-get install mariadb-server")
	t.Setenv("LAB_REQUIRE", "all")
	wantSentence(t, app(t.Context(), "lab", "run", "--all"), exitUnavailable, "LAB_REQUIRE=all", "mariadbd", "apt-get install mariadb-server")
}

// An interrupted run is saved, but is inconclusive.
func TestLabRunInterrupted(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	std := streams{new(strings.Builder), writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "DEL, trial 2") {
			cancel()
		}
		return len(p), nil
	})}
	code := run(ctx, []string{"lab", "run", "L03", "L04", "--parallel=1", "--embedded", "--out=" + store}, std.out, std.err)
	out := std.out.(*strings.Builder).String()
	if code != exitInterrupted || !strings.Contains(out, "L03-foreign-unlock: inconclusive: it was interrupted") ||
		!strings.Contains(out, "L04-shared-value: inconclusive: it was not begun") {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	record, err := lab.Load(filepath.Join(store, "L03-foreign-unlock", "latest"))
	if err != nil || !record.Interrupted || len(record.Events) == 0 {
		t.Errorf("saved: %v, %+v", err, record)
	}
	if again := app(t.Context(), "lab", "check", store); again.code != exitInconclusive {
		t.Errorf("judged again: exit %d: %s", again.code, again.out)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
