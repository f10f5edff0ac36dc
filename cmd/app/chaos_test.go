//go:build unix

package main

import (
	"os"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/internal/testenv"
)

func TestChaosTry(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d, _ := time.ParseDuration(os.Getenv("CHAOS_FOR"))
	if d == 0 {
		d = 8 * time.Second
	}
	for name, v := range map[string]experiments.Variant{
		"v3 views":  {Run: kit.Chaos{Version: "v3", For: d}.Views},
		"v4 views":  {Run: kit.Chaos{Version: "v4", For: d}.Views},
		"v3 orders": {Run: kit.Chaos{Version: "v3", For: d}.Orders},
		"v4 orders": {Run: kit.Chaos{Version: "v4", For: d}.Orders},
		"sentinel orders": {Run: kit.Chaos{Version: "v3", For: d, Topology: "sentinel"}.Orders},
	} {
		t.Run(name, func(t *testing.T) {
			v.Name = "it"
			e := experiments.Experiment{Variants: []experiments.Variant{v}}
			r := experiments.Run(t.Context(), e, experiments.Options{Trials: 1, Seed: 7, Real: true, App: []string{self, "serve"}})
			t.Log(len(r.Events), r.Variants[0].Trials)
			for _, e := range r.Events {
				if e.Kind == history.Fault || e.Kind == history.Measure || e.Kind == history.Final {
					t.Log(e)
				}
			}
			refused := map[string]int{}
			for _, e := range r.Events {
				if e.Kind == history.Refuse || e.Kind == history.Note {
					refused[e.Text[:min(len(e.Text), 160)]]++
				}
			}
			n := 0
			for text, c := range refused { if n < 6 { t.Log(c, text) }; n++ }
			tokens := map[uint64][]history.Event{}
			dup := 0
			for _, e := range r.Events {
				if e.Kind == history.Write && e.Token > 0 {
					tokens[e.Token] = append(tokens[e.Token], e)
					if l := tokens[e.Token]; len(l) > 1 {
						if dup++; dup < 5 { t.Log("SAME TOKEN", l) }
					}
				}
			}
			t.Log("same tokens:", dup)
			found := append(history.Counter(r.Events), history.Winners(r.Events)...)
			for _, f := range found[:min(3, len(found))] {
				t.Error(f.What)
			}
			t.Log(len(found), "violations")
		})
	}
}
