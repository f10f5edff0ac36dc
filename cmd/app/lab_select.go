package main

import (
	"fmt"
	"slices"
	"strings"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/stack"
)

// selection says which experiments are meant.
type selection struct {
	IDs     []string `arg:"" optional:"" name:"id" help:"Experiments; the number is enough: L03. app lab list shows all."`
	All     bool     `help:"Every experiment."`
	Quick   bool     `help:"Every experiment that waits for no real failover, a trial of each arm unless --trials says otherwise."`
	Article string   `placeholder:"A2" help:"Those that an article speaks of: A0 to A4; with --quick those of them that are quick."`
}

// articles are those that are reproduced here.
var articles = []string{"A0", "A1", "A2", "A3", "A4"}

// choose returns the experiments that are meant, each once.
func (s *selection) choose() (chosen []experiments.Experiment, err error) {
	group := s.All || s.Quick || s.Article != ""
	switch {
	case len(s.IDs) == 0 && !group:
		return nil, misuse("name experiments, or --quick, --all or --article A2; app lab list shows what there is")
	case len(s.IDs) > 0 && group:
		return nil, misuse("%s is named together with --all, --quick or --article; drop one of the two", s.IDs[0])
	case s.All && (s.Quick || s.Article != ""):
		return nil, misuse("--all is given with --quick or --article; drop one of the two")
	case s.Article != "" && !slices.Contains(articles, strings.ToUpper(s.Article)):
		return nil, misuse("--article is %q; allowed are %s", s.Article, strings.Join(articles, ", "))
	}
	for _, id := range s.IDs {
		e, err := claims.Find(id)
		if err != nil {
			return nil, misuse("%w", err)
		}
		if !slices.ContainsFunc(chosen, func(other experiments.Experiment) bool { return other.ID == e.ID }) {
			chosen = append(chosen, e)
		}
	}
	if group {
		chosen = slices.DeleteFunc(claims.All(), func(e experiments.Experiment) bool {
			return s.Quick && e.Slow || !strings.Contains(e.Article, strings.ToUpper(s.Article))
		})
	}
	if len(chosen) == 0 {
		return nil, misuse("no experiment is of that kind; app lab list shows what there is")
	}
	return chosen, nil
}

// embedded keeps what runs without a redis-server. One that was named and needs it is a contradiction.
func (s *selection) embedded(chosen []experiments.Experiment) (kept []experiments.Experiment, left []string, err error) {
	for _, e := range chosen {
		if slices.Contains(e.Needs, experiments.RedisServer) {
			left = append(left, e.ID)
			continue
		}
		kept = append(kept, e)
	}
	switch {
	case len(left) > 0 && len(s.IDs) > 0:
		return nil, nil, misuse("--embedded is given, and %s needs a real redis-server; drop one of the two", strings.Join(left, ", "))
	case len(kept) == 0:
		return nil, nil, misuse("--embedded is given, and every one of them needs a real redis-server: %s", strings.Join(left, ", "))
	}
	return kept, left, nil
}

// contained keeps what runs in containers.
func (s *selection) contained(chosen []experiments.Experiment) (kept []experiments.Experiment, left []string, err error) {
	for _, e := range chosen {
		if e.Docker {
			kept = append(kept, e)
		} else {
			left = append(left, e.ID)
		}
	}
	switch {
	case len(left) > 0 && len(s.IDs) > 0:
		return nil, nil, misuse("--on docker is given, and %s runs on processes only; in containers run %s", strings.Join(left, ", "), strings.Join(inContainers(), ", "))
	case len(kept) == 0:
		return nil, nil, misuse("--on docker is given, and none of them runs in containers; that do %s", strings.Join(inContainers(), ", "))
	}
	return kept, left, nil
}

// inContainers are the experiments that --on docker can run.
func inContainers() (ids []string) {
	for _, e := range claims.All() {
		if e.Docker {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// missing says what is not on this machine, before anything runs.
func (s *selection) missing(chosen []experiments.Experiment) error {
	err := experiments.Missing(chosen)
	if err == nil {
		return nil
	}
	if kept, left, e := s.embedded(chosen); e == nil && len(left) > 0 && !stack.RealRedis() && experiments.Missing(kept) == nil {
		err = fmt.Errorf("%w; --embedded runs the %d that need none", err, len(kept))
	}
	return unavailable(err)
}
