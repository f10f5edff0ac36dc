package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/experiments/try"
	"locklab/internal/testenv"
)

const (
	templates = "../../examples/locks/template-"
	rungs     = templates + "python/"
)

// The exit status is the worst row's, and the page and the JSON name the rows.
func TestLabTry(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	if _, err := exec.LookPath("python3"); err != nil {
		testenv.Skip(t, "python3 is missing, for the naive locks in Python")
	}
	for _, c := range []struct {
		name, rung, only string
		code             int
		state            string
	}{
		{"the first rung holds", "rung1_setnx.py", "T12", exitOK, "holds"},
		{"the first rung is violated", "rung1_setnx.py", "T03", exitUnexpected, "violated"},
		{"the second rung, too", "rung2_ttl.py", "T03", exitUnexpected, "violated"},
		{"the third rung is mended", "rung3_owner.py", "T03", exitOK, "holds"},
		{"the fourth rung has no token", "rung4_renewal.py", "T11", exitInconclusive, "not claimed"},
		{"the fifth rung has one", "rung5_token.py", "T11", exitOK, "holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			page := filepath.Join(t.TempDir(), "try.html")
			var got output
			for range 3 { // on a busy machine a row may be inconclusive
				got = app(t.Context(), "lab", "try", "--only", c.only, "--name", "mine", "--out", page, "--json", "--", "python3", rungs+c.rung)
				if !strings.Contains(got.out, `"inconclusive"`) {
					break
				}
			}
			var card struct {
				Rows         []struct{ ID, State string }
				Name, Report string
			}
			if err := json.Unmarshal([]byte(got.out), &card); err != nil || got.code != c.code || len(card.Rows) != 1 {
				t.Fatalf("exit %d, want %d; %v: %s%s", got.code, c.code, err, got.err, got.out)
			}
			if row := card.Rows[0]; row.State != c.state || !strings.HasPrefix(row.ID, c.only) || card.Report != page || card.Name != "mine" {
				t.Errorf("%+v, want %s", card, c.state)
			}
		})
	}
}

// Each template speaks the protocol, and is the lock with which the exercise begins: its key has no expiry.
func TestTheTemplatesAreTried(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	compiled := filepath.Join(t.TempDir(), "mylock")
	for name, argv := range map[string][]string{
		"python": {"python3", rungs + "mylock.py"}, "node": {"node", templates + "node/mylock.js"}, "go": {compiled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "go" {
				if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", compiled, templates+"go").CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, text)
				}
			} else if _, err := exec.LookPath(argv[0]); err != nil {
				testenv.Skip(t, argv[0]+" is missing, for a template of a lock")
			}
			store := t.TempDir()
			var got output
			for range 3 { // on a busy machine a row may be inconclusive
				got = app(t.Context(), append([]string{"lab", "try", "--store", store, "--only", "T02,T12", "--"}, argv...)...)
				if got.code != exitInconclusive {
					break
				}
			}
			words := strings.Join(strings.Fields(got.out), " ")
			if got.code != exitUnexpected || !strings.Contains(words, "T02-dead-holder: violated: ") ||
				!strings.Contains(words, "1 hold, 1 violated") {
				t.Fatalf("exit %d: %s%s", got.code, got.err, got.out)
			}
			cards, err := try.Saved(store)
			page := filepath.Join(store, "try", "my-lock-in-"+name+"-t02-t12.html")
			if err != nil || len(cards) != 1 || cards[0].Name != "my lock in "+name || cards[0].Report != page {
				t.Errorf("saved are %+v, %v", cards, err)
			}
		})
	}
}

func TestLabTryMisuse(t *testing.T) {
	wantSentence(t, app(t.Context(), "lab", "try", "./mylock", "--only", "T03"), exitUsage, "after --, and flags before it")
	wantSentence(t, app(t.Context(), "lab", "try", "--out", "x.json", "--", "true"), exitUsage, "--out is x.json", "try.html")
	wantSentence(t, app(t.Context(), "lab", "try"), exitUsage, "app lab try -- ./mylock", "docs/protocol.md")
	wantSentence(t, app(t.Context(), "lab", "try", "--only", "T99", "--", "true"), exitUsage, "T99", "--list")
	wantSentence(t, app(t.Context(), "lab", "try", "--parallel", "0", "--", "true"), exitUsage, "--parallel is 0; allowed is from 1 to 8")
	wantSentence(t, app(t.Context(), "lab", "try", "--", "./no-such-lock"), exitUnavailable, "no-such-lock")
	wantSentence(t, app(t.Context(), "lab", "try", "--", "true"), exitUnavailable, "hello")
	if got := app(t.Context(), "lab", "try", "--list"); got.code != exitOK || !strings.Contains(got.out, "T05-pause") ||
		!strings.Contains(got.out, "Why it matters") {
		t.Errorf("exit %d: %s%s", got.code, got.err, got.out)
	}
	for _, page := range []string{filepath.Join(wrote(t, ""), "x", "try.html"), t.TempDir()} {
		err := (&labTryCommand{Out: page}).finish(t.Context(), new(try.Scorecard), streams{io.Discard, io.Discard})
		if e := (exitError{}); !errors.As(err, &e) || e.code != exitUnavailable {
			t.Errorf("a page that cannot be written: %v", err)
		}
	}
}
