package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/experiments"
)

// selection says which experiments are meant: some by their ids, or a group.
type selection struct {
	IDs     []string `arg:"" optional:"" name:"id" completion-predictor:"experiment" help:"Experiments; the number is enough: L03. app lab list shows all."`
	All     bool     `help:"Run every experiment."`
	Quick   bool     `help:"Run every experiment and variant that is not slow, a trial of each variant unless --trials says otherwise."`
	Article string   `placeholder:"A2" help:"Article whose experiments to run, A0 to A4 (default: all articles); with --quick only the quick ones."`
}

var articles = experiments.Articles{"A0", "A1", "A2", "A3", "A4"}

// choose returns the experiments of the catalogue that are meant, each once. An error names the flag of app lab run that is wrong.
func (s selection) choose(c experiments.Catalogue) (chosen []experiments.Experiment, err error) {
	group := s.All || s.Quick || s.Article != ""
	switch {
	case len(s.IDs) == 0 && !group:
		return nil, errors.New("name experiments, or --quick, --all or --article A2; app lab list shows what there is")
	case len(s.IDs) > 0 && group:
		return nil, fmt.Errorf("%s is named together with --all, --quick or --article; drop one of the two", s.IDs[0])
	case s.All && (s.Quick || s.Article != ""):
		return nil, errors.New("--all is given with --quick or --article; drop one of the two")
	case s.Article != "" && !slices.Contains(articles, strings.ToUpper(s.Article)):
		return nil, fmt.Errorf("--article is %q; allowed are %s", s.Article, articles)
	case group:
		chosen = experiments.Filter{Article: strings.ToUpper(s.Article), Quick: s.Quick}.Of(c)
	}
	for _, id := range s.IDs {
		e, err := c.Find(id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(other experiments.Experiment) bool { return other.ID == e.ID }) {
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no experiment is of that kind; app lab list shows what there is")
	}
	return chosen, nil
}

// embedded keeps the experiments that run without a redis-server. The others are in left. It is an error when one of them was named, or
// when all of them need one.
func (s selection) embedded(chosen []experiments.Experiment) (kept []experiments.Experiment, left []string, err error) {
	return s.keep(chosen, "--embedded", "needs a real redis-server; drop one of the two", func(e experiments.Experiment) bool {
		return !slices.Contains(e.Needs, experiments.RedisServer)
	})
}

// contained keeps the experiments that run in containers, as [selection.embedded] does. all is the catalogue.
func (s selection) contained(all, chosen []experiments.Experiment) (kept []experiments.Experiment, left []string, err error) {
	why := "runs on processes only; in containers run " + strings.Join(experiments.InContainers(all), ", ")
	return s.keep(chosen, "--on docker", why, func(e experiments.Experiment) bool { return e.Docker > 0 })
}

func (s selection) keep(
	chosen []experiments.Experiment, flag, why string, fits func(experiments.Experiment) bool,
) (kept []experiments.Experiment, left []string, err error) {
	for _, e := range chosen {
		if fits(e) {
			kept = append(kept, e)
		} else {
			left = append(left, e.ID)
		}
	}
	if len(left) > 0 && (len(s.IDs) > 0 || len(kept) == 0) {
		return nil, nil, fmt.Errorf("%s is given, and %s %s", flag, strings.Join(left, ", "), why)
	}
	return kept, left, nil
}

// missing is [experiments.Missing] with a way out: how many of the experiments run without the redis-server that real says is there.
func (s selection) missing(chosen []experiments.Experiment, real bool) error {
	err := experiments.Missing(chosen)
	if err == nil {
		return nil
	}
	if kept, left, e := s.embedded(chosen); e == nil && len(left) > 0 && !real && experiments.Missing(kept) == nil {
		err = fmt.Errorf("%w; --embedded runs the %d that need none", err, len(kept))
	}
	return err
}

// able keeps the experiments of a group whose needs this machine has. missing has a sentence for each need that it has not. Experiments
// that are named by their ids are all kept, and so are those that need a redis-server: [selection.missing] tells of these.
func (s selection) able(chosen []experiments.Experiment) (kept []experiments.Experiment, missing []string) {
	if len(s.IDs) > 0 {
		return chosen, nil
	}
	var left []experiments.Experiment
	for _, e := range chosen {
		e.Needs = slices.DeleteFunc(slices.Clone(e.Needs), func(n experiments.Need) bool { return n == experiments.RedisServer })
		if experiments.Missing([]experiments.Experiment{e}) != nil {
			left = append(left, e)
		}
	}
	kept = slices.DeleteFunc(slices.Clone(chosen), func(e experiments.Experiment) bool {
		return slices.ContainsFunc(left, func(other experiments.Experiment) bool { return other.ID == e.ID })
	})
	return kept, experiments.MissingFor(left)
}
