package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/scorecard"
	"locklab/lab/testenv"
)

// The author of an adapter sees the first step that is wrong, with the exit code that the docs name, and success is 0.
func TestLabTryCheck(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	_, rungs := buildTemplates(t, "python")
	log := filepath.Join(t.TempDir(), "lines.txt")
	got := app(t.Context(), append([]string{"lab", "try", "--embedded", "--check", "--transcript", log, "--"}, append(rungs, "5")...)...)
	wantText(t, got, exitOK, "✓ release", "Claims:  renews, tokens, tells_loss, extends", "speaks the protocol")
	if text, err := os.ReadFile(log); err != nil || !strings.HasSuffix(string(text), "\t>\t{\"type\":\"stop\"}\n") {
		t.Errorf("the transcript is %q, %v", text, err)
	}
	got = app(t.Context(), "lab", "try", "--check", "--", "sh", "-c", "echo to stderr >&2; echo connected")
	wantText(t, got, exitUsage, "✗ the program starts", `printed "connected"`, "Print the hello", "to stderr")
}

// In a CI a lock is compared with a card of before: rows that are violated as before are no failure, and a row that became worse is one.
// The JUnit file has each row, and so has the history.
func TestLabTryAgainst(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	_, rungs := buildTemplates(t, "python")
	dir := t.TempDir()
	base, report := filepath.Join(dir, "base.json"), filepath.Join(dir, "junit.xml")
	flags := []string{"--name", "mine", "--store", dir, "--only", "T07,T03"}
	try := func(rung string, more ...string) output {
		got, _ := runTry(t, append(append(append(flags, more...), "--"), append(rungs, rung)...)...)
		return got
	}
	card := try("2") // T07 holds, and T03 is violated
	if err := os.WriteFile(base, []byte(card.out), 0o600); err != nil || card.code != exitUnexpected {
		t.Fatalf("exit %d, %v: %s", card.code, err, card.err)
	}
	if got := try("2", "--against", base); got.code != exitOK || !strings.Contains(got.err, "no row changed") {
		t.Errorf("as before: exit %d: %s", got.code, got.err)
	}
	got := try("1", "--against", base, "--junit", report)
	if got.code != exitUnexpected || !strings.Contains(got.err, "worse: T07 holds → violated") {
		t.Errorf("worse: exit %d: %s", got.code, got.err)
	}
	var suite struct {
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	text, err := os.ReadFile(report)
	if err == nil {
		err = xml.Unmarshal(text, &suite)
	}
	if err != nil || len(suite.Cases) != 2 || suite.Cases[0].Failure == nil || !strings.HasPrefix(suite.Cases[0].Name, "T07-lost-acquire: ") {
		t.Errorf("%+v, %v", suite, err)
	}
	history := app(t.Context(), "lab", "try", "--history", "--json", "--store", dir, "--name", "mine")
	var past []scorecard.Past
	if err := json.Unmarshal([]byte(history.out), &past); err != nil || history.code != exitOK || len(past) < 3 {
		t.Fatalf("exit %d, %v: %s", history.code, err, history.out)
	}
	if last := past[len(past)-1]; len(last.Changes) != 1 || last.Changes[0].String() != "T07 holds → violated" {
		t.Errorf("%+v", last)
	}
}

// whenPrinted calls what when a text is printed.
type whenPrinted struct {
	strings.Builder
	text string
	what func()
}

func (w *whenPrinted) Write(p []byte) (int, error) {
	n, err := w.Builder.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.what()
	}
	return n, err
}

// A transcript is whole after Ctrl-C, too.
func TestATranscriptSurvivesCtrlC(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	_, rungs := buildTemplates(t, "python")
	log := filepath.Join(t.TempDir(), "lines.txt")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	std := &whenPrinted{text: " s)", what: interrupt}
	code := run(ctx, append([]string{
		"lab", "try", "--store", t.TempDir(), "--parallel", "1", "--only", "T03,T12", "--transcript", log, "--",
	}, append(rungs, "5")...), std, std)
	text, err := os.ReadFile(log)
	if err != nil || code != exitInterrupted {
		t.Fatalf("exit %d, %v: %s", code, err, std.String())
	}
	for _, name := range []string{"A", "B", "C"} {
		stop := "\t" + name + "\t>\t{\"type\":\"stop\"}\n"
		if !strings.Contains(string(text), stop) || !strings.HasSuffix(string(text), "\n") {
			t.Errorf("no stop of %s in %d bytes: %.3000s", name, len(text), text)
		}
	}
}
