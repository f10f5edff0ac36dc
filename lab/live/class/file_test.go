package class

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// opened is the class of a file, as a program that starts reads it.
func opened(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What a class has outlives the program, which may be killed at any moment: nothing is written at its end.
func TestAClassIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store", "class.json")
	f := opened(t, path)
	for _, name := range []string{"Ana", "Ben"} {
		if err := f.Join(name, "", "the secret of "+name, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	ana, _ := f.Of("the secret of Ana")
	ben, _ := f.Of("the secret of Ben")
	f.SignIn("the secret of the trainer")
	for _, question := range []string{"told", "ran"} {
		f.Questions.Guess(question, ana.ID, "1")
		f.Questions.Guess(question, ben.ID, "2")
		f.Questions.Close(question)
		f.Questions.Ended(question)
		f.Questions.Answered(question, "1", func(guess string) bool { return guess == "1" })
	}
	good, _ := f.Questions.Tell("told")
	f.Score("told", good)
	f.Questions.Guess("open", ana.ID, "3")
	f.Questions.Describe("open", "666 users")
	f.Questions.Close("runs")
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}

	f = opened(t, path)
	if again, is := f.Of("the secret of Ana"); !is || again != ana {
		t.Errorf("Ana was %+v, and is %+v", ana, again)
	}
	if !f.Trains("the secret of the trainer") || f.Trains("another") || f.Trains("") {
		t.Error("the trainer is not the one who signed in")
	}
	if of := f.Questions.Of("told", ana.ID); of.Open || !of.Told || of.Mine != "1" || of.Guesses != 2 || of.Showed != "1" {
		t.Errorf("a question that was told is %+v", of)
	}
	for question, guess := range map[string]string{"ran": "1", "open": "3", "runs": ""} {
		if of := f.Questions.Of(question, ana.ID); !of.Open || of.Runs || of.Told || of.Showed != "" || of.Mine != guess {
			t.Errorf("a question that was not told (%s) is %+v", question, of)
		}
	}
	if about := f.Questions.Of("open", "").About; about != "666 users" {
		t.Errorf("the question is about %q", about)
	}
	f.Questions.Reopen("told") // it is asked once more, and the program ends again
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
	f = opened(t, path)
	f.Score("told", map[string]bool{ben.ID: true})
	if all := f.Places(ben.ID); all[0] != (Place{1, "Ana", 1, 1, false}) || all[1] != (Place{2, "Ben", 0, 1, true}) {
		t.Errorf("the points are %+v", all)
	}
}

// Only the owner of the file reads it, and no secret of a browser is in it.
func TestAFileKeepsNoSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "class.json")
	f := opened(t, path)
	if err := f.Join("Ana", "", "the secret of Ana", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	f.SignIn("the secret of the trainer")
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "secret of") || !strings.Contains(string(text), "Ana") {
		t.Errorf("%v: %s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: the file has the mode %v", err, info.Mode())
	}
}

// A program that ends after an answer was shown, and before it was scored, has scored it when it starts again.
func TestWhatWasToldIsScored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "class.json")
	f := opened(t, path)
	if err := f.Join("Ana", "", "ana", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	ana, _ := f.Of("ana")
	f.Questions.Guess("scene", ana.ID, "1")
	f.Questions.Close("scene")
	f.Questions.Ended("scene")
	f.Questions.Answered("scene", "1", func(string) bool { return true })
	f.Questions.Tell("scene")
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f = opened(t, path)
		if all := f.Places(""); all[0].Right != 1 || all[0].All != 1 {
			t.Errorf("Ana has %+v", all[0])
		}
		if err := f.Save(); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that is damaged stays as it is. The error names it, and says what to do.
func TestADamagedFileIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "class.json")
	for _, text := range []string{
		"", "{", "[]", `{"People": {"Participants": [{"Name": "Ana"}]}}`, `{"People": {"Participants": [null]}}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%q: %v", text, err)
		}
		if is, err := os.ReadFile(path); err != nil || string(is) != text {
			t.Errorf("the file had %q, and has %q: %v", text, is, err)
		}
	}
}

// What cannot be saved is said until it can.
func TestAFailureToSaveIsSaid(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	f := opened(t, filepath.Join(dir, "class.json"))
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	if f.Save() == nil || f.NotSaved() == nil {
		t.Error("a failure is not said")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(); err != nil || f.NotSaved() != nil {
		t.Error("the failure is over, and still said:", err)
	}
}

// Of two programs with one file the second one to save says so, each time, and does not overwrite what the other has saved.
func TestTwoProgramsDoNotOverwriteEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "class.json")
	first, second := opened(t, path), opened(t, path)
	for i, name := range []string{"Ana", "Ben"} {
		if err := first.Join(name, "", name, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		if err := first.Save(); err != nil {
			t.Fatal(err)
		}
		second.SignIn("a trainer")
		if err := second.Save(); err == nil || second.NotSaved() == nil {
			t.Errorf("save %d of the second program says nothing", i)
		}
	}
	if again := opened(t, path); again.Size() != 2 || again.Trains("a trainer") {
		t.Errorf("the file has %d participants", again.Size())
	}
}
