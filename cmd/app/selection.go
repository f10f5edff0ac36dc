package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/servers"
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

// runnable returns the chosen experiments that can run with o, and a sentence for each reason why others of a group cannot. It is an error
// when the user named one of these, when nothing is left, and when a group lacks only redis-server: then miniredis serves for many.
func (s selection) runnable(chosen []lab.Experiment, o lab.Options, embedded bool) (kept []lab.Experiment, leftOut []string, err error) {
	var left []lab.Experiment
	for _, e := range chosen {
		if o.CannotRun(e) == nil {
			kept = append(kept, e)
		} else {
			left = append(left, e)
		}
	}
	leftOut = o.Obstacles(left)
	why := errors.New(strings.Join(leftOut, "; "))
	switch {
	case len(left) == 0:
	case len(s.IDs) == 0 && len(kept) > 0 && (embedded || !lacksOnlyRedis(left, o)):
	case o.Docker != "":
		return nil, nil, usageErrorf("%w; --on docker runs only %s", why, strings.Join(lab.InContainers(claims.All()), ", "))
	case embedded && servers.RealRedis():
		return nil, nil, usageErrorf("%w; drop --embedded", why)
	case len(s.IDs) > 0 || len(kept) == 0:
		return nil, nil, unavailable(why)
	default:
		return nil, nil, unavailable(fmt.Errorf("%w; --embedded runs the %d that need none of these", why, len(kept)))
	}
	return kept, leftOut, nil
}

// lacksOnlyRedis reports whether one of the experiments could run if redis-server was there.
func lacksOnlyRedis(all []lab.Experiment, o lab.Options) bool {
	return slices.ContainsFunc(all, func(e lab.Experiment) bool {
		e.Needs = slices.DeleteFunc(slices.Clone(e.Needs), func(n lab.Need) bool { return n == lab.RedisServer })
		return o.Docker == "" && o.CannotRun(e) == nil
	})
}
