package class

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// After the first run of a question its answer is known: later guesses earn nothing.
func TestOnlyTheFirstRunScores(t *testing.T) {
	p := NewPeople()
	for _, id := range []string{"ana", "ben"} {
		if err := p.Join(id, "", id, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	ana, _ := p.Of("ana")
	ben, _ := p.Of("ben")
	p.Score("scene-1", map[string]bool{ana.ID: true})
	p.Score("scene-1", map[string]bool{ana.ID: false, ben.ID: true})
	all := p.Places(ben.ID)
	if all[0] != (Place{Rank: 1, Name: "ana", Right: 1, All: 1}) || all[1] != (Place{Rank: 2, Name: "ben", You: true}) {
		t.Errorf("%+v", all)
	}
}

// A guess may be changed until the run begins, and not during the run or after it.
func TestTheRunEndsTheGuesses(t *testing.T) {
	q := NewQuestions()
	q.Guess("burst", "ana", "1")
	q.Guess("burst", "ana", "2")
	q.Guess("burst", "ben", "3")
	if _, told := q.Tell("burst"); told {
		t.Error("an open question is told")
	}
	if !q.Close("burst") || q.Close("burst") {
		t.Error("a question is closed by its first run, and only by that")
	}
	if !q.Close("nobody guesses") || q.Close("nobody guesses") || q.Of("nobody guesses", "").Open {
		t.Error("a question that nobody has guessed is closed by its first run, too")
	}
	if q.Guess("burst", "ana", "4") {
		t.Error("a guess is accepted during the run")
	}
	if of := q.Of("burst", "ana"); of.Open || !of.Runs || of.Mine != "2" || of.Guesses != 2 || of.Counts["2"] != 1 || of.Counts["3"] != 1 {
		t.Errorf("during the run: %+v", of)
	}
	if _, told := q.Tell("burst"); told || q.Reopen("burst") {
		t.Error("a question is told or reopened during its run")
	}
	if !q.Ended("burst") {
		t.Error("a run that nobody disturbed does not count")
	}
	q.Answered("burst", "3", func(guess string) bool { return guess == "3" })
	q.Answered("burst", "7", func(string) bool { return true })
	if of := q.Of("burst", ""); of.Open || of.Runs || of.Mine != "" || of.Showed != "3" || of.Told {
		t.Errorf("after the run: %+v", of)
	}
	scores, told := q.Tell("burst")
	if _, again := q.Tell("burst"); again {
		t.Error("a question is told twice")
	}
	if !told || scores["ana"] || !scores["ben"] || len(scores) != 2 || !q.Of("burst", "").Told {
		t.Errorf("the scores are %v", scores)
	}
	if !q.Reopen("burst") || !q.Of("burst", "ana").Open || q.Of("burst", "ana").Guesses != 0 || q.Of("burst", "").Told {
		t.Error("a reopened question has its guesses still")
	}
}

// A run that could not begin leaves the guesses, which can be changed again. When it was not the first, the question stays closed.
func TestARunThatDoesNotBeginLeavesTheGuesses(t *testing.T) {
	q := NewQuestions()
	q.Guess("scene", "ana", "1")
	q.NotRun("scene", q.Close("scene"))
	if of := q.Of("scene", "ana"); !of.Open || of.Runs || of.Mine != "1" {
		t.Errorf("%+v", of)
	}
	q.Close("scene")
	q.Ended("scene")
	q.NotRun("scene", q.Close("scene"))
	if of := q.Of("scene", "ana"); of.Open || of.Runs {
		t.Errorf("the second run did not begin: %+v", of)
	}
}

// A question whose run goes on is asked anew when the run has ended: its guesses are of people who have gone.
func TestAllAreReopened(t *testing.T) {
	q := NewQuestions()
	q.Guess("runs", "ana", "1")
	q.Close("runs")
	q.Guess("open", "ana", "1")
	q.ReopenAll()
	if of := q.Of("runs", "ana"); of.Open || !of.Runs || of.Guesses != 0 {
		t.Errorf("during the run: %+v", of)
	}
	if of := q.Of("open", "ana"); !of.Open || of.Guesses != 0 {
		t.Errorf("a question that was open: %+v", of)
	}
	if q.Ended("runs") {
		t.Error("the run counts, although all was reopened")
	}
	if of := q.Of("runs", "ana"); !of.Open {
		t.Errorf("after the run: %+v", of)
	}
}

// A class has names that people can tell apart, and bounds.
func TestWhoMayJoinAndGuess(t *testing.T) {
	p := NewPeople()
	for _, name := range []string{"", " \t", "a\x00b", "\xff", "0123456789012345678901234"} {
		if err := p.Join(name, "", name, "192.0.2.1"); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	err := p.Join("  Ana   Maria ", "", "1", "192.0.2.1")
	ana, _ := p.Of("1")
	if err != nil || ana.Name != "Ana Maria" {
		t.Errorf("%v: the name is %q", err, ana.Name)
	}
	if err := p.Join("ana maria", "", "2", "192.0.2.1"); err == nil || p.Size() != 1 {
		t.Error("two participants have one name")
	}
	if other, is := p.Of("2"); is {
		t.Errorf("a browser that was refused is %+v", other)
	}
	if err := p.Join(strings.Repeat("ä", longestName), "", "3", "192.0.2.1"); err != nil {
		t.Errorf("a name of %d letters: %v", longestName, err)
	}
	if err := p.AllowGuess("2"); !errors.Is(err, ErrNobody) {
		t.Errorf("somebody without a name guesses: %v", err)
	}
	for range guesses.Count {
		if err := p.AllowGuess(ana.ID); err != nil {
			t.Fatal(err)
		}
	}
	var often error
	for range 20 {
		often = errors.Join(often, p.AllowGuess(ana.ID))
	}
	if !errors.Is(often, ErrOften) {
		t.Errorf("a participant guesses as often as a program can: %v", often)
	}
	other, _ := p.Of("3")
	if err := p.AllowGuess(other.ID); err != nil {
		t.Errorf("the guesses of one participant are counted as another's: %v", err)
	}
}

// A full class says so, and what to do. A name is taken back all the same.
func TestAFullClass(t *testing.T) {
	p := NewPeople()
	for i := range MostPeople {
		if err := p.Join(fmt.Sprint("p", i), "", fmt.Sprint(i), fmt.Sprint("network ", i)); err != nil {
			t.Fatal(i, err)
		}
	}
	err := p.Join("late", "", "late", "192.0.2.1")
	if err == nil || !strings.Contains(err.Error(), "begin a new class") || p.Size() != MostPeople {
		t.Errorf("the class has %d participants: %v", p.Size(), err)
	}
	first, _ := p.Of("0")
	if err := p.Join(first.Name, first.Code, "another browser", "192.0.2.1"); err != nil {
		t.Errorf("the name is lost: %v", err)
	}
}

// A wrong code takes no name, and few are tried in a minute, however often the owner of the name guesses. The owner's own guesses do not
// count as codes.
func TestCodesAreTriedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPeople()
		if err := p.Join("Ana", "", "phone", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		ana, _ := p.Of("phone")
		for range guesses.Count {
			if err := p.AllowGuess(ana.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Join("Ana", strings.ToLower(ana.Code), "laptop", "192.0.2.1"); err != nil {
			t.Errorf("after guesses the code is refused: %v", err)
		}
		for range codes.Count - 1 {
			if err := p.Join("Ana", "WRONG", "eve", "192.0.2.1"); err == nil || errors.Is(err, ErrOften) {
				t.Errorf("a wrong code: %v", err)
			}
		}
		time.Sleep(guesses.Window) // in the bubble: it costs no time
		_ = p.AllowGuess(ana.ID)
		if err := p.Join("Ana", ana.Code, "eve", "192.0.2.1"); !errors.Is(err, ErrOften) {
			t.Errorf("more codes are tried: %v", err)
		}
		time.Sleep(codes.Window)
		if err := p.Join("Ana", ana.Code, "laptop", "192.0.2.1"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		if _, is := p.Of("eve"); is || p.Size() != 1 {
			t.Error("Eve is Ana")
		}
	})
}

// A new class scores again what the class before it was told.
func TestANewClassScoresAgain(t *testing.T) {
	p := NewPeople()
	for range 2 {
		if err := p.Join("Ana", "", "phone", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		ana, _ := p.Of("phone")
		p.Score("scene-1", map[string]bool{ana.ID: true})
		if all := p.Places(""); len(all) != 1 || all[0].Right != 1 {
			t.Errorf("%+v", all)
		}
		p.Reset()
	}
}

// A participant with two pages is one that looks on, until both are closed.
func TestWhoLooksOn(t *testing.T) {
	p := NewPeople()
	for _, id := range []string{"ana", "ben"} {
		if err := p.Join(id, "", id, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	ana, _ := p.Of("ana")
	for i, c := range []struct{ more, want int }{{1, 1}, {1, 1}, {-1, 1}, {-1, 0}} {
		if p.Looks(ana.ID, c.more); p.Looking() != c.want {
			t.Errorf("step %d: %d look on", i, p.Looking())
		}
	}
	p.Looks("somebody who was removed", 1)
}

// A script cannot fill a class. People who are refused because others join at the same moment get in when they press again, and a name is
// taken back meanwhile. Another network is not concerned.
func TestJoinsAreLimitedByNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPeople()
		refused := 0
		for i := range 195 {
			if err := p.Join(fmt.Sprint("script ", i), "", fmt.Sprint(i), "192.0.2.1"); errors.Is(err, ErrCrowded) {
				refused++
			}
		}
		if p.Size() != joins.Count || refused != 195-joins.Count {
			t.Fatalf("a script joins %d times and is refused %d times", p.Size(), refused)
		}
		if err := p.Join("Ana", "", "elsewhere", "192.0.2.2"); err != nil {
			t.Error("somebody in another network is refused:", err)
		}
		first, _ := p.Of("0")
		if err := p.Join(first.Name, first.Code, "another browser", "192.0.2.1"); err != nil {
			t.Error("a name is not taken back:", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p, began := NewPeople(), time.Now()
		for i := range 30 { // all press at the same moment, and again when the page says that they may
			for p.Join(fmt.Sprint("person ", i), "", fmt.Sprint(i), "192.0.2.1") != nil {
				time.Sleep(joins.Window)
			}
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("30 people need %v to join", took)
		}
	})
}

// Whoever is removed is nobody in each browser, and may join again. The others stay.
func TestAParticipantIsRemoved(t *testing.T) {
	p, q := NewPeople(), NewQuestions()
	for _, name := range []string{"Ana", "Eve"} {
		if err := p.Join(name, "", name, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	eve, _ := p.Of("Eve")
	if err := p.Join("Eve", eve.Code, "her phone", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	q.Guess("scene", eve.ID, "1")
	id, removed := p.Remove("eve")
	q.Forget(id)
	if _, again := p.Remove("Eve"); !removed || id != eve.ID || again {
		t.Errorf("removed %v %v, again %v", removed, id, again)
	}
	for browser, want := range map[string]bool{"Ana": true, "Eve": false, "her phone": false} {
		if _, is := p.Of(browser); is != want {
			t.Errorf("the browser %q takes part: %v", browser, is)
		}
	}
	if of := q.Of("scene", ""); of.Guesses != 0 || !of.Open {
		t.Errorf("her guess counts: %+v", of)
	}
	if err := p.Join("Eve", "", "her phone", "192.0.2.1"); err != nil || len(p.Places("")) != 2 {
		t.Error("she cannot join again:", err)
	}
}

// Participants with as many right answers share a rank.
func TestRanks(t *testing.T) {
	p := NewPeople()
	right := map[string]bool{}
	for _, name := range []string{"d", "c", "b", "a"} {
		if err := p.Join(name, "", name, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		of, _ := p.Of(name)
		right[of.ID] = name == "a" || name == "c"
	}
	p.Score("scene", right)
	var got []string
	for _, of := range p.Places("") {
		got = append(got, fmt.Sprint(of.Rank, of.Name))
	}
	if all := strings.Join(got, " "); all != "1c 1a 3d 3b" {
		t.Error(all)
	}
}
