package claims

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/internal/testenv"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", fmt.Sprint(max(3, runtime.GOMAXPROCS(0)))) // they wait most of the time; -parallel changes it
	testenv.Main(m)
}

// Every experiment that needs no app is as expected. One that draws from its seed is so with each of three, unless that takes long. CI also
// runs the experiments that are not slow, by the command and with another seed. Those that measure run alone in this package, but
// other packages are tested simultaneously. A run that shows nothing then is repeated.
func TestExperiments(t *testing.T) {
	for _, e := range All() {
		if onInstances(e) {
			continue // cmd/app has them
		}
		t.Run(e.ID, func(t *testing.T) {
			for _, need := range e.Needs {
				testenv.Needs(t, testenv.ByName(string(need)))
			}
			if err := experiments.LeftOut([]experiments.Experiment{e}); err != nil && testenv.RequireAll() {
				t.Fatal(err)
			} else if err != nil {
				t.Log(err)
			}
			if !e.Alone {
				t.Parallel()
			}
			seeds := uint64(1)
			if draws(t, e) && e.Takes <= 10*time.Second {
				seeds = 3
			}
			for seed := range seeds {
				r := experiments.Run(t.Context(), e, experiments.Options{Seed: seed, Trials: 1, Real: testenv.RedisServer.Met()})
				j := e.Judge(r)
				for again := 0; again < 2 && j.Verdict == experiments.Inconclusive; again++ {
					t.Logf("seed %d: %s: on a busy machine a run may show nothing; once more", seed, j.Why)
					j = e.Judge(experiments.Run(t.Context(), e, experiments.Options{Seed: seed, Trials: 1, Real: testenv.RedisServer.Met()}))
				}
				if j.Verdict != experiments.AsExpected {
					t.Errorf("seed %d: %s: %s", seed, j.Verdict, j.Why)
				}
			}
		})
	}
}

// draws reports whether anything in the experiment is left to its seed.
func draws(t *testing.T, e experiments.Experiment) bool {
	number, _, _ := strings.Cut(strings.ToLower(e.ID), "-")
	files, err := filepath.Glob(number + "_*.go") // one: TestAClaimIsOneFile
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no file: %v", e.ID, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte(".Rand."))
}
