package claims

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// quick is the longest that an experiment may take (as its page says, for all its trials) to be a part of `go test -short`, and to run with
// all its variants outside of `make check`.
const quick = 4 * time.Second

// Every experiment that needs no app is as expected, in its quick form. Those that are slow are a part of `make check`. Experiments that
// measure run alone in this package, but other packages are tested simultaneously.
func TestExperiments(t *testing.T) {
	for _, e := range All() {
		if OnInstances(e) {
			continue // cmd/app has them
		}
		t.Run(e.ID, func(t *testing.T) {
			if e.Takes > quick {
				testenv.Slow(t)
			}
			if e.Slow {
				testenv.Check(t, testenv.Whole)
			}
			e := trialtest.Sample(e, quick)
			for _, need := range e.Needs {
				testenv.Needs(t, testenv.ByName(string(need)))
			}
			for _, v := range e.Variants {
				for _, need := range v.Needs {
					if n := testenv.ByName(string(need)); !n.Met() && n.Required() && (n.In == "" || n.In.Runs()) {
						t.Fatal(v.Name, ": ", n.How())
					}
				}
			}
			if !e.Alone {
				t.Parallel()
			}
			o := lab.Options{Trials: 1, Quick: !testenv.Whole.Runs(), Real: testenv.RedisServer.Met()}
			if r, is := trialtest.AsExpected(t, e, o); is {
				wantProofs(t, r)
			}
		})
	}
}

// wantProofs fails unless each variant that has broken something shows nothing without the proof of its fault.
func wantProofs(t *testing.T, r lab.Result) {
	t.Helper()
	broke := make(map[string]bool)
	for i, e := range r.Record.Events {
		if e.Kind == history.Fault {
			broke[e.Variant], r.Record.Events[i].Proof = true, ""
		}
	}
	for _, v := range r.Experiment.Judge(r.Record).Variants {
		if broke[v.Name] && v.Verdict != lab.Inconclusive {
			t.Errorf("%s: its fault has no proof, and it is %s: set Fault", v.Name, v.Verdict)
		}
	}
}

// The experiments on commands alone need no redis-server.
func TestAnatomyOnMiniredis(t *testing.T) {
	testenv.Slow(t)
	if !testenv.RedisServer.Met() {
		t.Skip("without a redis-server TestExperiments does the same")
	}
	for _, id := range []string{"L01", "L02", "L04", "L08", "L10", "L12", "L21", "L25"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			e, err := All().Find(id)
			if err != nil {
				t.Fatal(err)
			}
			trialtest.AsExpected(t, trialtest.Sample(e, quick), lab.Options{Trials: 1, Quick: true})
		})
	}
}

// The experiments of a group are sorted by their numbers: G2 comes before G11.
func TestExperimentsAreSortedByNumber(t *testing.T) {
	place := make(map[string]int)
	for i, e := range All() {
		place[lab.Number(e.ID)] = i
	}
	for _, order := range [][]string{{"P0", "P9", "G1", "G2", "G9", "G11", "G12", "L01", "L24", "F01"}, {"R1", "R2", "R9", "R10", "S1"}} {
		for i, number := range order[1:] {
			if place[number] <= place[order[i]] {
				t.Errorf("%s does not come after %s", number, order[i])
			}
		}
	}
}

// A lesson leads to experiments that exist.
func TestLessonsLeadToExperiments(t *testing.T) {
	ids := regexp.MustCompile(`\b[PGLFRSCDM]\d+(?:-[a-z-]+[a-z])?`)
	for _, e := range All() {
		for _, id := range ids.FindAllString(strings.Join([]string{e.How, e.Why, e.Fix, e.Limits, e.Says, e.Elsewhere, e.Next}, " "), -1) {
			if other, err := All().Find(id); err != nil || strings.Contains(id, "-") && id != other.ID {
				t.Errorf("%s leads to %s: %v", e.ID, id, err)
			}
		}
	}
}
