package lab

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/lab/history"
)

// known is the only experiment that these tests know.
var known = Experiment{
	ID: "X01-test", Claim: "a claim", Check: findViolated,
	Variants: []Variant{{Name: "control"}, {Name: "subject", Expect: Sometimes}},
}

// ran is a record of a run of it that is as expected.
func ran() Record {
	_, r := judged{expect: Sometimes, violation: true}.build()
	r.Began, r.Command = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), "app lab run X01-test"
	return r
}

func save(t testing.TB, store string, r Record) string {
	t.Helper()
	dir, err := Save(store, r, known.Judge(r))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	store := t.TempDir()
	r := ran()
	dir := save(t, store, r)
	if want := filepath.Join(store, "X01-test", "20260102T030405.006Z"); dir != want {
		t.Errorf("saved in %s, want %s", dir, want)
	}
	for _, path := range []string{dir, filepath.Join(store, "X01-test"), store} {
		runs := Runs(path)
		if len(runs) != 1 {
			t.Fatalf("%s has the runs %q", path, runs)
		}
		got, err := Load(runs[0])
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %v\n%+v\n%+v", path, err, got, r)
		}
		if s := (Catalogue{known}).Rejudge(runs[0]); s.Judgement.Verdict != AsExpected || s.Experiment.ID != known.ID {
			t.Errorf("%s: %+v", path, s.Judgement)
		}
	}
}

// Two labs may begin in the same millisecond, in one store.
func TestRunsOfTheSameMillisecond(t *testing.T) {
	store := t.TempDir()
	var saving sync.WaitGroup
	var mu sync.Mutex
	dirs := map[string]bool{}
	const labs = 20
	for range labs {
		saving.Go(func() {
			r := ran()
			dir, err := Save(store, r, Judgement{})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			dirs[dir] = true
		})
	}
	saving.Wait()
	if len(dirs) != labs {
		t.Fatalf("%d runs have %d folders", labs, len(dirs))
	}
	for dir := range dirs {
		if s := (Catalogue{known}).Rejudge(dir); s.Judgement.Verdict != AsExpected {
			t.Errorf("%s: %s", dir, s.Judgement.Why)
		}
	}
	entries, err := os.ReadDir(filepath.Join(store, "X01-test"))
	if err != nil || len(entries) != labs+1 || len(Runs(store)) != 1 {
		t.Errorf("%d runs left %d entries, %v", labs, len(entries), err)
	}
}

// The newest run is the latest. An interrupted one shows nothing, and does not replace a complete one. The history names all.
func TestLatestIsComplete(t *testing.T) {
	store := t.TempDir()
	for i, r := range []struct {
		interrupted bool
		latest      int // the run that latest leads to then
	}{{true, 0}, {true, 1}, {false, 2}, {true, 2}, {false, 4}} {
		record := ran()
		record.Began, record.Interrupted = record.Began.Add(time.Duration(i)*time.Hour), r.interrupted
		if dir := save(t, store, record); complete(dir) == r.interrupted {
			t.Errorf("run %d is not saved as it is", i)
		}
		want := ran().Began.Add(time.Duration(r.latest) * time.Hour)
		if got, err := Load(Runs(store)[0]); err != nil || !got.Began.Equal(want) {
			t.Errorf("after run %d the newest began at %v, want %v; %v", i, got.Began, want, err)
		}
	}
	if err := os.Mkdir(filepath.Join(store, known.ID, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := History(store, known.ID)
	if len(all) != 5 || all[0] != "20260102T070405.006Z" || all[4] != "20260102T030405.006Z" {
		t.Errorf("the history has the runs %q", all)
	}
}

// A run.json belongs to a saved run if there is a history beside it.
func TestIsRun(t *testing.T) {
	dir := save(t, t.TempDir(), ran())
	if !IsRun(dir) {
		t.Error("a saved run is none")
	}
	remove(t, dir, historyFile)
	if IsRun(dir) {
		t.Error("the summary of a load tool is a saved run")
	}
}

// A run that cannot be saved to its end is an error, and a link that was not put in its place is removed.
func TestARunThatIsSavedInPart(t *testing.T) {
	unwritable := ran()
	unwritable.Pace = Pace(math.NaN()) // JSON has no such number
	if _, err := Save(t.TempDir(), unwritable, Judgement{}); err == nil || !strings.HasPrefix(err.Error(), "save the run: json") {
		t.Errorf("a record that is no JSON: %v", err)
	}
	for _, name := range []string{latest, latest + ".20260102T030405.006Z"} {
		parent := filepath.Join(t.TempDir(), known.ID)
		if err := os.MkdirAll(filepath.Join(parent, name, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
		dir, err := Save(filepath.Dir(parent), ran(), Judgement{})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is a folder: %v", name, err)
		}
		if _, err := Load(dir); err != nil {
			t.Errorf("%s is a folder: the run is lost: %v", name, err)
		}
		entries, err := os.ReadDir(parent)
		if err != nil || len(entries) != 2 {
			t.Errorf("%s is a folder, and beside it are %v, %v", name, entries, err)
		}
	}
}

func TestWhereNothingCanBeSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, store := range []string{file, filepath.Join(file, "store")} {
		if err := Probe(store); err == nil || !strings.Contains(err.Error(), "runs cannot be saved in "+store) {
			t.Errorf("%s: %v", store, err)
		}
		if _, err := Save(store, ran(), Judgement{}); err == nil {
			t.Errorf("%s: saved", store)
		}
	}
	store := filepath.Join(t.TempDir(), "a", "b")
	if err := Probe(store); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(store); err != nil || len(entries) > 0 {
		t.Errorf("the probe left %v, %v", entries, err)
	}
}

// The judgement of a run that has ended is read as it was, without its history. Whatever is wrong with it, a sentence says what to do.
func TestTheJudgementOfASavedRun(t *testing.T) {
	dir := save(t, t.TempDir(), ran())
	remove(t, dir, historyFile)
	newest := filepath.Join(filepath.Dir(dir), latest)
	s := Catalogue{known}.Judged(newest)
	if want := known.Judge(ran()); !reflect.DeepEqual(s.Judgement, want) || s.Experiment.ID != known.ID || s.Record.Experiment != "" {
		t.Errorf("%+v, want %+v", s, want)
	}
	short := filepath.Join(filepath.Dir(filepath.Dir(dir)), Number(known.ID)) // the folder of an experiment has its whole id
	if err := os.CopyFS(filepath.Join(short, "run"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if s := (Catalogue{known}).Judged(filepath.Join(short, "run")); s.Experiment.ID != "" || !s.Judgement.Void {
		t.Errorf("in a folder with another name it is of %q: %+v", s.Experiment.ID, s.Judgement)
	}
	for _, text := range []string{
		"{", "null", "[]", `{"experiment":"X01-test","verdict":"good"}`,
		`{"experiment":"X01-test","variants":[{"expect":"luck"}]}`, `{"experiment":"X02-other"}`,
	} {
		write(t, dir, verdictFile, text)
		s := Catalogue{known}.Judged(newest)
		if s.Judgement.Verdict != Inconclusive || !s.Judgement.Void || !strings.Contains(s.Judgement.Why, "delete this file") {
			t.Errorf("%s: %+v", text, s.Judgement)
		}
	}
}

// A run that was saved before judgements were is judged when it is asked for, once.
func TestARunWithoutAJudgementIsJudgedOnce(t *testing.T) {
	dir, checked := save(t, t.TempDir(), ran()), 0
	remove(t, dir, verdictFile)
	counting := known
	counting.Check = func(events []history.Event) []history.Violation { checked++; return findViolated(events) }
	for range 2 {
		if s := (Catalogue{counting}).Judged(dir); s.Judgement.Verdict != AsExpected || s.Record.Experiment != "" {
			t.Errorf("%+v", s)
		}
	}
	if trials := 2; checked != trials {
		t.Errorf("%d trials were checked, want each of %d once", checked, trials)
	}
	for _, file := range []string{historyFile, RunFile} {
		damaged := save(t, t.TempDir(), ran())
		remove(t, damaged, verdictFile)
		remove(t, damaged, file)
		for range 2 {
			if s := (Catalogue{known}).Judged(damaged); !strings.Contains(s.Judgement.Why, file+" is missing") || has(damaged, verdictFile) {
				t.Errorf("a damaged run: %+v", s)
			}
		}
	}
}

// A run that is opened has its record, and the judgement of the day it ended. Without one it is judged, and a damaged record is said.
func TestAnOpenedRunIsNotJudgedAgain(t *testing.T) {
	dir, checked := save(t, t.TempDir(), ran()), 0
	counting := known
	counting.Check = func(events []history.Event) []history.Violation { checked++; return findViolated(events) }
	if s := (Catalogue{counting}).Open(dir); s.Judgement.Verdict != AsExpected || s.Record.Experiment != known.ID || checked != 0 {
		t.Errorf("%d trials were checked: %+v", checked, s)
	}
	remove(t, dir, verdictFile)
	if s := (Catalogue{counting}).Open(dir); s.Judgement.Verdict != AsExpected || checked == 0 {
		t.Errorf("without a judgement %d trials were checked: %+v", checked, s)
	}
	damaged := save(t, t.TempDir(), ran())
	remove(t, damaged, historyFile)
	s := (Catalogue{known}).Open(damaged)
	if s.Judgement.Verdict == AsExpected || !strings.Contains(s.Judgement.Why, "history.jsonl is missing") {
		t.Errorf("a damaged run: %+v", s)
	}
}
