package terminal

import (
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

// A person types moves, with small letters as well, and takes them back. A line that cannot be read changes nothing. The end is told once.
func TestGame(t *testing.T) {
	play, err := explore.NewPlay(articlelock.PlainDEL, "AB")
	if err != nil {
		t.Fatal(err)
	}
	defer play.Close()
	var out strings.Builder
	g := &Game{Play: play, Out: &out, Reproduce: func(moves []explore.Move) string { return "app lab step --moves " + explore.Text(moves) }}
	g.Begin("The title", articlelock.PlainDEL, []articlelock.Lock{articlelock.PlainDEL, articlelock.Compare})
	if err := g.Ask(t.Context(), strings.NewReader("a\nu u\njump\nB\nB\na!\nB! u\n\nq\n")); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, says := range []string{
		"The title\n", "The lock: " + articlelock.PlainDEL.Name, "for --lock:\n", "  " + articlelock.Compare.Name + "\n",
		"(none)", "A   request; SET NX PX → OK; grant\n", "holds the lock", "A is taken back.\n", "There is no move to take back.\n",
		"u takes a move back, q ends\n", "A†  die\n", "    ✗ the lock stays", "B† is taken back.\n", "app lab step --moves B B A†\n",
	} {
		found := strings.Index(out.String()[at:], says)
		if found < 0 {
			t.Fatalf("there is no %q, or it comes too early:\n%s", says, out.String())
		}
		at += found
	}
	if g.End(); strings.Count(out.String(), "app lab step") != 1 {
		t.Errorf("the end is told again:\n%s", out.String())
	}
}

// An exploration has a line for each lock, and the shortest interleaving that violates. A lock of which nothing is claimed says so.
func TestExploration(t *testing.T) {
	bounds := explore.Bounds{Clients: "AB", Expiry: 1}
	e := lab.Experiment{ID: "L03-made", Claim: "The claim.", Interleavings: []lab.Interleavings{
		{Lock: articlelock.PlainDEL, Bounds: bounds, Violation: explore.NonOwnerUnlock, Expect: lab.Sometimes},
		{Lock: articlelock.Compare, Bounds: bounds, Violation: explore.NonOwnerUnlock},
	}}
	x, err := e.ExploreAll(t.Context(), func(b explore.Bounds) explore.Bounds { return b }, func(lab.Exploring) {})
	if err != nil {
		t.Fatal(err)
	}
	x.Locks[0].Command, x.Locks[1].Verdict = "app lab step L03", nil
	text := Exploration(x, Screen{})
	for _, says := range []string{
		"L03-made: The claim.\n\n", "  violation in 62 of 136 interleavings, as predicted ✓\n",
		"  no violation in all 136 interleavings, not claimed\n",
		"SET NX PX, DEL: the shortest complete interleaving in which " + string(explore.NonOwnerUnlock) + "\n\n  " + x.Locks[0].Shortest + "\n",
		"\n  app lab step L03\n",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if strings.Contains(text, "SET NX PX, script: the shortest") {
		t.Errorf("a lock without a violation has an interleaving:\n%s", text)
	}
}
