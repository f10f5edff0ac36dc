package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

func TestLabExplore(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, c := range []struct {
		name  string
		args  string
		code  int
		want  []string
		avoid []string
	}{
		{
			"the bounds of the experiment", "L03", exitOK,
			[]string{
				"no violation in all 21384 interleavings", "violation in 62 of 136 interleavings",
				"1/4 every interleaving of SET NX PX, script\n2/4 every interleaving of v3, its scripts; 21384 tried so far\n",
				"A A A … B A B B B", `app lab step L03 --lock "SET NX PX, DEL" --clients AB --moves "A A A … B A B B B"`, "DEL → 1",
			},
			[]string{"not claimed", "unexpected"},
		},
		{"without expiries", "L03 --clients AB --expiries 0", exitOK, []string{
			"no violation in all 8 interleavings", "not claimed",
			"as predicted",
		}, []string{"  violation in"}},
		{"lost replies", "l12 --clients AB --expiries 0", exitOK, []string{"A? B", "SETNX → the reply is lost"}, nil},
		{
			"actors of a cache", "C4", exitOK,
			[]string{
				"violation in 1 of 10 interleavings", "violation in 1 of 20 interleavings", "no violation in all 10 interleavings",
				"one delete: the shortest complete interleaving in which the item is old\n\n  R R W W R\n", "  R R W W W R\n", "app lab run C4",
				"violation in 2 of 6 interleavings", "update and set by two writers: the shortest complete interleaving", "\n\n  A B B A\n",
			},
			[]string{"W W R R R", "inconclusive"},
		},
		{"fixed interleavings", "C4 --deaths 1", exitUsage, []string{"C4-delayed-double-delete", "--deaths"}, nil},
		{"no steps", "L05", exitUsage, []string{"L05-lease-overrun has no lock that is a list of steps", "L03-foreign-unlock"}, nil},
		{"no such clients", "L03 --clients AC", exitUsage, []string{`but got "AC"`}, nil},
		{"too many deaths", "L03 --deaths 9", exitUsage, []string{"--deaths is 9", "from 0 to 3"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := app(t.Context(), append([]string{"lab", "explore"}, strings.Fields(c.args)...)...)
			if got.code != c.code {
				t.Errorf("exit %d, want %d", got.code, c.code)
			}
			for _, text := range c.want {
				if !strings.Contains(got.out+got.err, text) {
					t.Errorf("%q is missing in:\n%s%s", text, got.out, got.err)
				}
			}
			for _, text := range c.avoid {
				if strings.Contains(got.out, text) {
					t.Errorf("unwanted %q in:\n%s", text, got.out)
				}
			}
		})
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

func TestLabExploreIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := app(ctx, "lab", "explore", "L03"); got.code != exitInterrupted || !strings.Contains(got.err, "interrupted") || got.out != "" {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}
