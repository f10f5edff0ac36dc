package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/lab"
)

// selection chooses experiments: by their ids, or a group of them.
type selection struct {
	IDs     []string `arg:"" optional:"" name:"id" completion-predictor:"experiment" help:"Ids of the experiments, such as L03. See app lab list."`
	All     bool     `help:"Run every experiment."`
	Quick   bool     `help:"Run every experiment and variant that is not slow, with one trial per variant unless --trials is set."`
	Article string   `placeholder:"A2" help:"Run the experiments of one article, A0 to A4; with --quick, only those that are not slow."`
}

var articles = lab.Articles{"A0", "A1", "A2", "A3", "A4"}

// choose returns the selected experiments of the catalogue, each once.
func (s selection) choose(c lab.Catalogue) (chosen []lab.Experiment, err error) {
	group := s.All || s.Quick || s.Article != ""
	switch {
	case len(s.IDs) == 0 && !group:
		return nil, errors.New("no experiment selected; give ids, or use --quick, --all or --article A2 (see app lab list)")
	case len(s.IDs) > 0 && group:
		return nil, fmt.Errorf("%s cannot be combined with --all, --quick or --article; drop one of the two", s.IDs[0])
	case s.All && (s.Quick || s.Article != ""):
		return nil, errors.New("--all cannot be combined with --quick or --article; drop one of the two")
	case s.Article != "" && !slices.Contains(articles, strings.ToUpper(s.Article)):
		return nil, fmt.Errorf("--article is %q; must be one of %s", s.Article, articles)
	case group:
		chosen = lab.Filter{Article: strings.ToUpper(s.Article), Quick: s.Quick}.Of(c)
	}
	for _, id := range s.IDs {
		e, err := c.Find(id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(other lab.Experiment) bool { return other.ID == e.ID }) {
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no experiment matches; app lab list shows them all")
	}
	return chosen, nil
}

// keepEmbedded returns the experiments that run without redis-server, and the ids of the others. It fails if the user named one of the
// others, or if nothing is kept.
func (s selection) keepEmbedded(chosen []lab.Experiment) (kept []lab.Experiment, left []string, err error) {
	return s.keep(chosen, "--embedded", "a real redis-server is needed; drop --embedded", func(e lab.Experiment) bool {
		return !slices.Contains(e.Needs, lab.RedisServer)
	})
}

// keepContained does the same for experiments that run in containers. all is the catalogue.
func (s selection) keepContained(all, chosen []lab.Experiment) (kept []lab.Experiment, left []string, err error) {
	reason := "in containers, only these run: " + strings.Join(lab.InContainers(all), ", ")
	return s.keep(chosen, "--on docker", reason, func(e lab.Experiment) bool { return e.Docker > 0 })
}

func (s selection) keep(
	chosen []lab.Experiment, flag, reason string, fits func(lab.Experiment) bool,
) (kept []lab.Experiment, left []string, err error) {
	for _, e := range chosen {
		if fits(e) {
			kept = append(kept, e)
		} else {
			left = append(left, e.ID)
		}
	}
	if len(left) > 0 && (len(s.IDs) > 0 || len(kept) == 0) {
		return nil, nil, fmt.Errorf("%s cannot run %s: %s", flag, strings.Join(left, ", "), reason)
	}
	return kept, left, nil
}

// checkPrograms returns an error if a program that the experiments need is missing. If that is redis-server, which hasRedis reports, the
// error says how many experiments would run with --embedded.
func (s selection) checkPrograms(chosen []lab.Experiment, hasRedis bool) error {
	err := lab.Missing(chosen)
	if err == nil {
		return nil
	}
	if kept, left, e := s.keepEmbedded(chosen); e == nil && len(left) > 0 && !hasRedis && lab.Missing(kept) == nil {
		err = fmt.Errorf("%w; --embedded runs the %d that do not need it", err, len(kept))
	}
	return err
}

// dropMissing drops the experiments of a group that need a program which this machine lacks, and returns a sentence for each such program.
// It keeps experiments that the user named, and those that need only redis-server: [selection.checkPrograms] reports both.
func (s selection) dropMissing(chosen []lab.Experiment) (kept []lab.Experiment, missing []string) {
	if len(s.IDs) > 0 {
		return chosen, nil
	}
	var left []lab.Experiment
	for _, e := range chosen {
		e.Needs = slices.DeleteFunc(slices.Clone(e.Needs), func(n lab.Need) bool { return n == lab.RedisServer })
		if lab.Missing([]lab.Experiment{e}) != nil {
			left = append(left, e)
		}
	}
	kept = slices.DeleteFunc(slices.Clone(chosen), func(e lab.Experiment) bool {
		return slices.ContainsFunc(left, func(other lab.Experiment) bool { return other.ID == e.ID })
	})
	return kept, lab.MissingFor(left)
}
