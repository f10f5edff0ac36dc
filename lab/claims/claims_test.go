package claims

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// quick is the longest that an experiment may take (as its page says, for all its trials) to be a part of `go test -short`.
const quick = 4 * time.Second

// whole is the longest that one may take to run with all its variants outside of `make check`.
const whole = 8 * time.Second

// Every experiment that needs no app is as expected. One that draws from its seed is so with each of three, unless that takes long.
// `make check PART=lab` runs those that are not slow, by the command and with another seed. Experiments that measure run alone in this
// package, but other packages are tested simultaneously.
func TestExperiments(t *testing.T) {
	for _, e := range All() {
		if OnInstances(e) {
			continue // cmd/app has them
		}
		t.Run(e.ID, func(t *testing.T) {
			if e.Takes > quick {
				testenv.Slow(t)
			}
			for _, need := range e.Needs {
				testenv.Needs(t, testenv.ByName(string(need)))
			}
			for _, v := range trialtest.Sample(e, whole).Variants {
				for _, need := range v.Needs {
					if n := testenv.ByName(string(need)); !n.Met() && n.Required() {
						t.Fatal(v.Name, ": ", n.How())
					}
				}
			}
			if !e.Alone {
				t.Parallel()
			}
			seeds := uint64(1)
			if draws(t, e) && e.Takes <= 10*time.Second {
				seeds = 3
			}
			for seed := range seeds {
				trialtest.AsExpected(t, trialtest.Sample(e, whole), lab.Options{Seed: seed, Trials: 1, Real: testenv.RedisServer.Met()})
			}
		})
	}
}

// draws reports whether anything in the experiment is left to its seed.
func draws(t *testing.T, e lab.Experiment) bool {
	number := strings.ToLower(lab.Number(e.ID))
	files, err := filepath.Glob("*/" + number + "_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no file: %v", e.ID, err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(text, []byte(".Rand."))
	})
}

// The experiments of a group are sorted by their numbers: G2 comes before G11.
func TestExperimentsAreSortedByNumber(t *testing.T) {
	place := make(map[string]int)
	for i, e := range All() {
		number := lab.Number(e.ID)
		place[number] = i
	}
	for _, order := range [][]string{{"P0", "P9", "G1", "G2", "G9", "G11", "G12", "L01", "L24", "F01"}, {"R1", "R2", "R9", "R10", "S1"}} {
		for i, number := range order[1:] {
			if place[number] <= place[order[i]] {
				t.Errorf("%s does not come after %s", number, order[i])
			}
		}
	}
}
