package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whatever is wrong with a saved run, it is inconclusive, and a sentence says why.
func TestDamagedRuns(t *testing.T) {
	edit := func(name, old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !strings.Contains(string(text), old) {
				t.Fatalf("%v: %s", err, text)
			}
			write(t, dir, name, strings.Replace(string(text), old, new, 1))
		}
	}
	whole := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { write(t, dir, name, text) }
	}
	link := func(name, target string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			remove(t, dir, name)
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	grown := func(name string, size int64) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, name), size); err != nil { // the file has a hole, and takes no space
				t.Fatal(err)
			}
		}
	}
	gone := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { remove(t, dir, name) }
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		says   string
	}{
		{"run.json is empty", whole(RunFile, ""), "run.json is damaged or cut short"},
		{"run.json is another program's", whole(RunFile, `{"metrics": {"http_reqs": 7}}`), "is not what app lab run writes"},
		{"a newer format", edit(RunFile, `"format": 3`, `"format": 4`), "has the format 4, and this program reads 3: judge it with the program"},
		{
			"an older format", edit(RunFile, `"format": 3`, `"format": 2`),
			"has the old format 2, and this program reads 3: run the experiment again with app lab run X01-test",
		},
		{"text for a number", edit(RunFile, `"seed": 0`, `"seed": "x"`), "run.json is damaged"},
		{"run.json is missing", gone(RunFile), "run.json is missing"},
		{"history.jsonl is empty", whole(historyFile, ""), "has 0 events, and should have 3"},
		{"history.jsonl is cut short", edit(historyFile, `"}`, ""), "history.jsonl is damaged or cut short"},
		{
			"history.jsonl has more", edit(historyFile, "{", `{"seq":1,"timeline":"A","kind":"note"}`+"\n{"),
			"history.jsonl is damaged or cut short",
		},
		{"run.json is a link", link(RunFile, "/etc/hostname"), "run.json is a link"},
		{"history.jsonl is larger than any", grown(historyFile, largest+1), "and no run has more than"},
		{"an unknown experiment", edit(RunFile, "X01-test", "X99-none"), `there is no experiment "X99-none"`},
		{"a variant that was removed", edit(RunFile, `"name": "subject"`, `"name": "object"`), `its variant "object"`},
		{"a trial is missing", edit(RunFile, `"number": 1`, `"number": 2`), "it recorded nothing"},
		{"the run is a file", func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Dir(dir), filepath.Base(dir), "")
		}, "run.json cannot be read: "},
		{"interrupted", edit(RunFile, `"events": 3`, `"events": 3, "interrupted": true`), "it was interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := save(t, t.TempDir(), ran())
			c.damage(t, dir)
			s := Catalogue{known}.Rejudge(dir)
			if s.Judgement.Verdict != Inconclusive || !strings.Contains(s.Judgement.Why, c.says) {
				t.Errorf("%s: %s, want %q", s.Judgement.Verdict, s.Judgement.Why, c.says)
			}
			if old := c.name == "an older format"; old && s.Experiment.ID != known.ID {
				t.Errorf("it is a run of %q", s.Experiment.ID)
			}
			if len(s.Judgement.Variants) == 0 && !s.Judgement.Void {
				t.Errorf("no variant is judged, and the run counts: %+v", s.Judgement)
			}
			_, damage := Load(dir)
			if opened := (Catalogue{known}).Open(dir).Judgement; opened.Void != (damage != nil) {
				t.Errorf("damage %v, and it is opened with the judgement %+v", damage, opened)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestRunsOfNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "report.html", "")
	if err := os.MkdirAll(filepath.Join(dir, "X01-test", "20260102T030405.006Z"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "X01-test"), filepath.Join(dir, "report.html"), filepath.Join(dir, "none")} {
		if runs := Runs(path); len(runs) != 0 {
			t.Errorf("%s has the runs %q", path, runs)
		}
	}
}

// An experiment is not left out because its newest run is not where the link leads, or there is no link.
func TestNewestRunThatIsGone(t *testing.T) {
	for name, leads := range map[string]string{"no link": "", "a link to nowhere": "nowhere"} {
		t.Run(name, func(t *testing.T) {
			store := t.TempDir()
			dir := filepath.Dir(save(t, store, ran()))
			newest := filepath.Join(dir, latest)
			remove(t, dir, latest)
			if leads != "" {
				if err := os.Symlink(leads, newest); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{store, dir} {
				if runs := Runs(path); !slices.Equal(runs, []string{newest}) {
					t.Errorf("%s has the runs %q", path, runs)
				}
			}
			if j := (Catalogue{known}).Rejudge(newest).Judgement; j.Verdict != Inconclusive || !strings.Contains(j.Why, "leads nowhere") {
				t.Errorf("%+v", j)
			}
		})
	}
}

// Whatever stands in the files, there is a verdict, and it is as expected only with a whole history.
func FuzzLoad(f *testing.F) {
	dir := save(f, f.TempDir(), ran())
	run, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		f.Fatal(err)
	}
	events, err := os.ReadFile(filepath.Join(dir, historyFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(run, events)
	f.Add(run[:len(run)/2], events)
	f.Add(run, events[:len(events)/2])
	f.Add([]byte(`{"format":3,"experiment":"X01-test","variants":null}`), []byte{})
	f.Fuzz(func(t *testing.T, run, events []byte) {
		dir := t.TempDir()
		write(t, dir, RunFile, string(run))
		write(t, dir, historyFile, string(events))
		s := Catalogue{known}.Rejudge(dir)
		if s.Judgement.Verdict != AsExpected && s.Judgement.Why == "" {
			t.Fatalf("%s, and nothing says why", s.Judgement.Verdict)
		}
		if s.Judgement.Verdict == AsExpected && (len(s.Record.Events) != s.Record.Count || s.Record.Interrupted) {
			t.Fatalf("as expected: %+v", s.Record)
		}
	})
}
