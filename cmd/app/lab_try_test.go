package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/lab/scorecard"
	"locklab/lab/testenv"
)

const templates = "../../examples/locks/template-"

// programs are the locks of the exercise in each language: the arguments of app lab try -- and the build command, if there is one.
var programs = map[string]struct {
	build         []string
	needs         string // compiler or interpreter
	mylock, rungs []string
}{
	"python": {nil, "python3", []string{"python3", templates + "python/mylock.py"}, []string{"python3", templates + "python/rungs.py"}},
	"node":   {nil, "node", []string{"node", templates + "node/mylock.js"}, []string{"node", templates + "node/rungs.js"}},
	"java": {
		[]string{"javac", "-d", "DIR", templates + "java/Lab.java", templates + "java/MyLock.java", templates + "java/Rungs.java"},
		"javac",
		[]string{"java", "-cp", "DIR", "MyLock"},
		[]string{"java", "-cp", "DIR", "Rungs"},
	},
	"go": {[]string{"go", "build", "-o", "DIR/", templates + "go/..."}, "go", []string{"DIR/template-go"}, []string{"DIR/rungs"}},
}

// buildTemplates builds the programs of a language, and returns the commands of its lock and of its rungs.
func buildTemplates(t *testing.T, language string) (mylock, rungs []string) {
	t.Helper()
	p, dir := programs[language], t.TempDir()
	if _, err := exec.LookPath(p.needs); err != nil {
		testenv.Skip(t, p.needs+" is missing")
	}
	inDir := func(words []string) (all []string) {
		for _, word := range words {
			all = append(all, strings.ReplaceAll(word, "DIR", dir))
		}
		return all
	}
	if build := inDir(p.build); build != nil {
		if text, err := exec.CommandContext(t.Context(), build[0], build[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return inDir(p.mylock), inDir(p.rungs)
}

// runTry runs app lab try --json. It repeats an inconclusive run, up to three times, because the machine may be busy.
func runTry(t *testing.T, args ...string) (got output, states map[string]scorecard.State) {
	t.Helper()
	for range 3 {
		if got = app(t.Context(), append([]string{"lab", "try", "--json"}, args...)...); got.code != exitInconclusive {
			break
		}
	}
	card, states := new(scorecard.Scorecard), make(map[string]scorecard.State)
	if err := json.Unmarshal([]byte(got.out), card); err != nil {
		t.Fatalf("exit %d, %v: %s", got.code, err, got.err)
	}
	for _, row := range card.Rows {
		states[row.ID[:3]] = row.State
	}
	return got, states
}

// A lock of which nothing was tested is inconclusive. The page and the JSON have the names of the flags.
func TestLabTry(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	_, rungs := buildTemplates(t, "python")
	page := filepath.Join(t.TempDir(), "try.html")
	got, states := runTry(t, append([]string{"--only", "T11", "--name", "mine", "--out", page, "--"}, append(rungs, "3")...)...)
	var card struct{ Name, Report string }
	if err := json.Unmarshal([]byte(got.out), &card); err != nil || got.code != exitInconclusive || len(states) != 1 {
		t.Fatalf("exit %d, want %d; %v: %s%s", got.code, exitInconclusive, err, got.err, got.out)
	}
	if _, err := os.Stat(page); err != nil || card.Report != page || card.Name != "mine" {
		t.Errorf("%+v, %v", card, err)
	}
}

// Each rung of the exercise keeps what it fixed, and fails the test that the next rung fixes. All rungs run in Python. The second and the
// last one run in every language; make test has those of Python. The worst row decides the exit code.
func TestRungs(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	wants := map[string]map[string]scorecard.State{
		"1": {"T07": scorecard.Violated, "T03": scorecard.Violated},
		"2": {"T07": scorecard.Holds, "T03": scorecard.Violated},
		"3": {"T03": scorecard.Holds, "T04": scorecard.NotClaimed},
		"4": {"T04": scorecard.Holds, "T06": scorecard.Holds, "T11": scorecard.NotClaimed},
		"5": {"T03": scorecard.Holds, "T05": scorecard.Holds, "T11": scorecard.Holds, "T19": scorecard.Holds},
	}
	for language := range programs {
		t.Run(language, func(t *testing.T) {
			if language != "python" {
				testenv.Check(t, testenv.Whole)
			}
			t.Parallel()
			_, rungs := buildTemplates(t, language)
			for rung, want := range wants {
				middle := rung != "2" && rung != "5"
				if middle && language != "python" {
					continue
				}
				t.Run(rung, func(t *testing.T) {
					if middle {
						testenv.Check(t, testenv.Whole)
					}
					t.Parallel()
					only := strings.Join(slices.Sorted(maps.Keys(want)), ",")
					got, states := runTry(t, append([]string{"--store", t.TempDir(), "--only", only, "--"}, append(rungs, rung)...)...)
					code := exitOK
					if slices.Contains(slices.Collect(maps.Values(want)), scorecard.Violated) {
						code = exitUnexpected
					}
					if !maps.Equal(states, want) || got.code != code {
						t.Errorf("exit %d, %v; want %d, %v: %s", got.code, states, code, want, got.out)
					}
				})
			}
			c := exec.CommandContext(t.Context(), rungs[0], append(rungs[1:], "6")...)
			if text, err := c.CombinedOutput(); c.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(text), "5") {
				t.Errorf("rung 6: %v: %s", err, text)
			}
		})
	}
}

// Each template is the first lock of the exercise, whose late release frees the next holder's lock. Its scorecard is saved under its name.
func TestTemplates(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for language := range programs {
		t.Run(language, func(t *testing.T) {
			if language != "python" {
				testenv.Check(t, testenv.Whole)
			}
			t.Parallel()
			mylock, _ := buildTemplates(t, language)
			store := t.TempDir()
			got, states := runTry(t, append([]string{"--store", store, "--only", "T03,T13", "--"}, mylock...)...)
			if got.code != exitUnexpected || states["T03"] != scorecard.Violated || states["T13"] != scorecard.Holds {
				t.Fatalf("exit %d: %s%s", got.code, got.err, got.out)
			}
			cards, err := scorecard.Saved(store)
			if err != nil || len(cards) == 0 || cards[0].Name != "my lock in "+language ||
				!strings.HasPrefix(cards[0].Report, filepath.Join(store, "try", "my-lock-in-"+language+"-2")) {
				t.Errorf("saved %+v, %v", cards, err)
			}
		})
	}
}

func TestLabTryList(t *testing.T) {
	wantText(t, app(t.Context(), "lab", "try", "--list"), exitOK, "T05-pause")
}
