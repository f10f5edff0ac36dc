package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/report/outcome"
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
	got := app(t.Context(), "lab", "show", "l03")
	words := strings.Join(strings.Fields(got.out), " ")
	for _, e := range claims.All() {
		if e.ID != "L03-foreign-unlock" {
			continue
		}
		for _, want := range []string{
			e.Claim, e.Says, e.Errata[0].What, e.How, e.Anomaly, e.Variants[0].Name + " (control) no violation",
			"lab run L03-foreign-unlock",
		} {
			if !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%q is missing in:\n%s", want, got.out)
			}
		}
	}
	wantSentence(t, app(t.Context(), "lab", "show", "L3"), exitUsage, "L03-foreign-unlock")
	wantSentence(t, app(t.Context(), "lab", "show", "nothing-like-it"), exitUsage, "app lab list")
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
	for _, want := range []string{
		"script (control)", "no violation in 1 trial", "violation in 1 of 1 trial",
		"both wrote 2: one update is lost", "│ write 2", "Saved:   " + store, "lab run L03 l03-foreign-unlock --trials 1 --embedded --seed 7",
		"Verdict: as predicted",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in:\n%s", want, got.out)
		}
	}
	if want := "1/1 L03-foreign-unlock: DEL, trial 1 of 1\n"; !strings.Contains(got.err, want) || strings.Contains(got.err, "\x1b") {
		t.Errorf("the progress is %q", got.err)
	}
	saved := filepath.Join(store, "L03-foreign-unlock")
	for _, path := range []string{saved, store, filepath.Join(saved, "latest"), filepath.Join(saved, "latest", "run.json")} {
		again := app(t.Context(), "lab", "check", path, loadtoolData+"pview-v1.csv.jtl")
		if again.code != exitOK || !strings.Contains(again.out, "violation in 1 of 1 trial") || !strings.Contains(again.out, "pview-v1.csv.jtl") {
			t.Errorf("%s: exit %d: %s%s", path, again.code, again.err, again.out)
		}
	}
	if got := app(t.Context(), "lab", "matrix", "--store="+store); got.code != exitOK ||
		!strings.Contains(got.out, "unlock by a non-owner: L03-foreign-unlock: violated (") {
		t.Errorf("exit %d: %s%s", got.code, got.err, got.out)
	}
	history := filepath.Join(saved, "latest", "history.jsonl")
	if err := os.Truncate(history, 50); err != nil { // in the middle of a line
		t.Fatal(err)
	}
	if again := app(t.Context(), "lab", "check", saved); again.code != exitInconclusive ||
		!strings.Contains(again.out, "history.jsonl is damaged or cut short") {
		t.Errorf("damaged: exit %d: %s", again.code, again.out)
	}
}

func TestLabRunMisuse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "app lab list"},
		{"L3", exitUsage, "L03-foreign-unlock"},
		{"L03 --all", exitUsage, "drop one of the two"},
		{"--all --quick", exitUsage, "drop one of the two"},
		{"--article A9", exitUsage, "A0, A1, A2, A3, A4"},
		{"L03 --trials=-1", exitUsage, "--trials is -1; must be from 1 to 1000"},
		{"L03 --parallel 0", exitUsage, "--parallel"},
		{"L03 --seed x", exitUsage, "--seed"},
		{"L03 --out=", exitUsage, "--out is empty"},
		{"F01 --on moon", exitUsage, "--on"},
		{"F01 --on docker --embedded", exitUsage, "drop one of the two"},
		{"F01 --on docker --dir " + filepath.Dir(file), exitUsage, "a checkout of Locklab"},
		{"L03 --on docker", exitUsage, "F01-master-slave, F02-sentinel, F03-cluster, F11-partition"},
		{"L03 --out " + file, exitUnavailable, "cannot be saved"},
		{"L03 --out " + file + "/store", exitUnavailable, "cannot be saved"},
	} {
		t.Run(c.args, func(t *testing.T) {
			wantSentence(t, app(t.Context(), append([]string{"lab", "run"}, strings.Fields(c.args)...)...), c.code, c.want)
		})
	}
}

// Without Docker, app lab run --on docker fails before the first trial and says what to do.
func TestLabRunWithoutDocker(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	got := app(t.Context(), "lab", "run", "F01", "--on", "docker", "--dir", "../..")
	if got.code != exitUnavailable || !strings.Contains(got.err, "docker is not on the PATH: install Docker") ||
		strings.Contains(got.err, "trial 1") {
		t.Errorf("%d: %s", got.code, got.err)
	}
}

// A group leaves out experiments that cannot run here, unless LAB_REQUIRE=all is set.
func TestLabRunWithMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	named := app(t.Context(), "lab", "run", "D01")
	wantSentence(t, named, exitUnavailable, "D01-database-lock needs mariadbd", "apt-get install mariadb-server")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	t.Setenv("LAB_REQUIRE", "")
	got := app(stopped, "lab", "run", "--all", "--embedded", "--out="+t.TempDir())
	if got.code != exitInterrupted || !strings.Contains(got.err, "no experiment was begun") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
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

// A run that cannot be saved is still judged, and an unexpected verdict decides the exit code.
func TestLabRunNotSaved(t *testing.T) {
	c := labRunCommand{Out: t.TempDir()}
	for _, v := range []struct {
		verdict lab.Verdict
		code    int
	}{{lab.AsExpected, exitUnavailable}, {lab.Inconclusive, exitUnavailable}, {lab.Unexpected, exitUnexpected}} {
		var out strings.Builder
		run := lab.Result{NotSaved: "no space left on device"}
		run.Judgement = lab.Judgement{Experiment: "X", Verdict: v.verdict}
		result := &lab.Results{Runs: []lab.Result{run}, Verdict: v.verdict}
		err := c.finish(t.Context(), result, streams{&out, &out})
		if e := (exitError{}); !errors.As(err, &e) || e.code != v.code ||
			!strings.Contains(err.Error(), "X is judged and not saved: no space left") {
			t.Errorf("%s: %v", v.verdict, err)
		}
		if !strings.Contains(out.String(), "Verdict: "+outcome.Whole(v.verdict).Words) {
			t.Errorf("no verdict: %s", out.String())
		}
	}
}
