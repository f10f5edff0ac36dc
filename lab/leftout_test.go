package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/history"
)

// A variant whose server is missing is left out and says which one. The experiment is judged by the others.
func TestAVariantWithoutItsServerIsLeftOut(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	acts := func(_ context.Context, t *Trial) { t.Note("A", "it ran") }
	e := Experiment{
		ID: "L99-left", Check: func([]history.Event) []history.Violation { return nil },
		Variants: []Variant{
			{Name: "control", Run: acts}, {Name: "cache", Needs: []Need{Memcached}, Run: acts}, {Name: "other", Trials: 1, Run: acts},
		},
	}
	r := Run(t.Context(), e, Options{}).Record
	j := e.Judge(r)
	if j.Verdict != AsExpected || j.Why != "" {
		t.Errorf("%s: %s", j.Verdict, j.Why)
	}
	left := j.Variants[1]
	if left.Verdict != Inconclusive || left.Why != "left out: it "+left.LeftOut || left.Seen() != "left out" ||
		len(r.Variants[1].Trials) != 0 {
		t.Errorf("%+v", left)
	}
	if n := []int{len(r.Variants[0].Trials), len(r.Variants[2].Trials)}; n[0] != 3 || n[1] != 1 {
		t.Errorf("%v trials, want 3 and 1", n)
	}
	for _, says := range []string{"needs memcached", "apt-get install memcached"} {
		if !strings.Contains(left.LeftOut, says) {
			t.Errorf("%q does not say %q", left.LeftOut, says)
		}
	}
}

// A variant that needs a redis-server is left out of a run with miniredis, also where the program is there.
func TestAVariantForARealServerIsLeftOutWithMiniredis(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	acts := func(_ context.Context, t *Trial) { t.Note("A", "it ran") }
	e := Experiment{
		ID: "L99-real", Check: func([]history.Event) []history.Violation { return nil },
		Variants: []Variant{{Name: "control", Run: acts}, {Name: "real", Needs: []Need{RedisServer}, Run: acts}},
	}
	for real, trials := range map[bool]int{true: 3, false: 0} {
		r := Run(t.Context(), e, Options{Real: real}).Record
		if left := r.Variants[1]; len(left.Trials) != trials || (left.LeftOut == "") != real || e.Judge(r).Verdict != AsExpected {
			t.Errorf("real %v: %+v, %+v", real, left, e.Judge(r))
		}
	}
}

// What many variants lack is said once, with how many of each experiment lack it.
func TestAReasonThatVariantsShareIsSaidOnce(t *testing.T) {
	const etcd, slow = "needs etcd", "is slow"
	j := func(id string, reasons ...string) (j Judgement) {
		j.Experiment = id
		for _, why := range reasons {
			j.Variants = append(j.Variants, VariantJudgement{LeftOut: why})
		}
		return j
	}
	first, second := j("L98", "", etcd, slow, etcd), j("L99", "", etcd)
	got := strings.Join(VariantsLeftOut(first, second, j("L97", "", "")), "\n")
	const want = "2 of 4 variants of L98, 1 of 2 variants of L99: each needs etcd\n1 of 4 variants of L98: each is slow"
	if ran, all := first.Ran(); got != want || ran != 1 || all != 4 {
		t.Errorf("%s; %d of %d ran", got, ran, all)
	}
}
