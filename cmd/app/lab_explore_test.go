package main

import (
	"encoding/json"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// Locks that are lists of steps, and actors of a cache. What is found has a command that shows it.
func TestLabExplore(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for args, want := range map[string][]string{
		"L03 --clients AB": {
			"no violation in all 630 interleavings", "violation in 62 of 136 interleavings", "A A A … B A B B B",
			`app lab step L03 --lock "SET NX PX, DEL" --clients AB --moves "A A A … B A B B B"`, "DEL → 1",
		},
		"L03 --clients AB --expiries 0": {"no violation in all 8 interleavings", "not claimed", "as predicted"},
		"l12 --clients AB --expiries 0": {"A? B", "SETNX → the reply is lost"},
		"C4":                            {"violation in 1 of 10 interleavings", "\n\n  R R W W R\n", "app lab run C4"},
	} {
		got := app(t.Context(), append([]string{"lab", "explore"}, strings.Fields(args)...)...)
		wantText(t, got, exitOK, want...)
		if len(want) == 5 && !strings.Contains(got.err, "2/4 every interleaving of v3, its scripts; 620 tried so far\n") {
			t.Errorf("the progress is %q", got.err)
		}
	}
}

func TestLabExploreAsJSON(t *testing.T) {
	got := app(t.Context(), "lab", "explore", "L01", "--clients", "AB", "--json")
	var result struct {
		Verdict string
		Locks   []struct {
			Lock, Expect, Verdict, Shortest string
			Interleavings, Violating        int
			Events                          []struct{ Timeline, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitOK {
		t.Fatalf("exit %d, %v: %s%s", got.code, err, got.out, got.err)
	}
	last := result.Locks[len(result.Locks)-1]
	if last.Lock != "SETNX, DEL" || last.Expect != "violation" || last.Shortest != "A A† B" || last.Violating == 0 ||
		last.Violating >= last.Interleavings || len(last.Events) == 0 || last.Events[0].Timeline == "" {
		t.Errorf("%+v", last)
	}
	if first := result.Locks[0]; first.Interleavings != 620 || first.Violating != 0 || first.Expect != "no violation" ||
		result.Verdict != "as expected" {
		t.Errorf("%+v", result)
	}
}
