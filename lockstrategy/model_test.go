package lockstrategy_test

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/history"
	"locklab/lockstrategy/locktest/model"
)

func number(t testing.TB, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

func TestModel(t *testing.T) {
	first, runs := number(t, "MODEL_SEED", 1), number(t, "MODEL_RUNS", 300)
	var done, grants atomic.Int64
	began := time.Now()
	for seed := first; seed < first+runs; seed++ {
		p := model.NewProgram(seed, true)
		events := model.Run(t, p, func(b lockstrategy.Backends) (*lockstrategy.Opened, error) { return lockstrategy.Open("redis", b) }, true)
		r := history.Judge(events, history.Terms{Lease: p.Lease})
		grants.Add(int64(r.Grants))
		done.Add(1)
		if r.Verdict != history.Supported {
			t.Errorf("seed %d: %s %s", seed, r.Verdict, r.Why)
			for _, v := range r.Violations {
				t.Errorf("%s %s: %s\n%s", v.Check, v.Key, v.What, v.Slice(events))
			}
			if os.Getenv("ALL") != "" {
				for _, e := range events { fmt.Println(e) }
			}
			return
		}
	}
	t.Logf("%d runs, %d grants, %s", done.Load(), grants.Load(), time.Since(began))
}
