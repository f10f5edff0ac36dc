package experiments

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/stack"
)

// Selection says which experiments are meant: some by their ids, or a group.
type Selection struct {
	IDs     []string // as [Catalogue.Find] accepts them
	All     bool
	Quick   bool   // those that are not slow
	Article string // those that it speaks of: A0 to A4, in any case; empty: any
}

var articles = Articles{"A0", "A1", "A2", "A3", "A4"}

// Choose returns the experiments of the catalogue that are meant, each once. An error names the flag of app lab run that is wrong.
func (s Selection) Choose(c Catalogue) (chosen []Experiment, err error) {
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
		chosen = Filter{Article: strings.ToUpper(s.Article), Quick: s.Quick}.Of(c)
	}
	for _, id := range s.IDs {
		e, err := c.Find(id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(other Experiment) bool { return other.ID == e.ID }) {
			chosen = append(chosen, e)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no experiment is of that kind; app lab list shows what there is")
	}
	return chosen, nil
}

// Embedded keeps the experiments that run without a redis-server. The others are in left. It is an error when one of them was named, or
// when all of them need one.
func (s Selection) Embedded(chosen []Experiment) (kept []Experiment, left []string, err error) {
	return s.keep(chosen, "--embedded", "needs a real redis-server; drop one of the two", func(e Experiment) bool {
		return !slices.Contains(e.Needs, RedisServer)
	})
}

// Contained keeps the experiments that run in containers, as [Selection.Embedded] does. all is the catalogue.
func (s Selection) Contained(all, chosen []Experiment) (kept []Experiment, left []string, err error) {
	why := "runs on processes only; in containers run " + strings.Join(InContainers(all), ", ")
	return s.keep(chosen, "--on docker", why, func(e Experiment) bool { return e.Docker > 0 })
}

func (s Selection) keep(chosen []Experiment, flag, why string, fits func(Experiment) bool) (kept []Experiment, left []string, err error) {
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

// InContainers are the ids of the experiments that can run in containers.
func InContainers(all []Experiment) (ids []string) {
	for _, e := range all {
		if e.Docker > 0 {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Missing is [Missing] with a way out: how many of the experiments run without the redis-server that real says is there.
func (s Selection) Missing(chosen []Experiment, real bool) error {
	err := Missing(chosen)
	if err == nil {
		return nil
	}
	if kept, left, e := s.Embedded(chosen); e == nil && len(left) > 0 && !real && Missing(kept) == nil {
		err = fmt.Errorf("%w; --embedded runs the %d that need none", err, len(kept))
	}
	return err
}

// Need is a program that must be on the PATH.
type Need string

// The needs of experiments and of their variants.
const (
	RedisServer Need = "redis-server"
	MariaDB     Need = "mariadbd"
	ZooKeeper   Need = "zookeeper" // jar files, and java
	Etcd        Need = "etcd"      // or a checkout and go, to build one
	Memcached   Need = "memcached"
)

func (n Need) program() stack.Program { return stack.ProgramNamed(string(n)) }

// met reports whether this machine has the program.
func (n Need) met() bool { return n.program().Missing() == nil }

// Here keeps the experiments of a group whose needs this machine has. missing has a sentence for each need that it has not. Experiments
// that are named by their ids are all kept, and so are those that need a redis-server: [Selection.Missing] tells of these.
func (s Selection) Here(chosen []Experiment) (kept []Experiment, missing []string) {
	if len(s.IDs) > 0 {
		return chosen, nil
	}
	var left []Experiment
	for _, e := range chosen {
		e.Needs = slices.DeleteFunc(slices.Clone(e.Needs), func(n Need) bool { return n == RedisServer })
		if Missing([]Experiment{e}) != nil {
			left = append(left, e)
		}
	}
	kept = slices.DeleteFunc(slices.Clone(chosen), func(e Experiment) bool {
		return slices.ContainsFunc(left, func(other Experiment) bool { return other.ID == e.ID })
	})
	return kept, missingFor(left)
}

// without says that a need is not met, and how to meet it.
func (n Need) without() string {
	if old := n.program().TooOld(); old != nil {
		return fmt.Sprintf("%s: %v: install its own package, or that of a newer system", n, old)
	}
	return fmt.Sprintf("%s, which is not on the PATH: %s", n, n.program().Install())
}

// leftOut says why this machine cannot run the variant; empty: it can.
func (v Variant) leftOut() string {
	for _, n := range v.Needs {
		if !n.met() {
			return "needs " + n.without()
		}
	}
	return ""
}

// Uses reports whether an experiment or one of its variants needs n.
func Uses(all []Experiment, n Need) bool {
	return slices.ContainsFunc(all, func(e Experiment) bool {
		return slices.Contains(e.Needs, n) || slices.ContainsFunc(e.Variants, func(v Variant) bool { return slices.Contains(v.Needs, n) })
	})
}

// LeftOut says which variants of experiments this machine cannot run, and how to change that; nil: it can run all. An experiment runs
// without them.
func LeftOut(all []Experiment) (err error) {
	for _, e := range all {
		for _, v := range e.Variants {
			if why := v.leftOut(); why != "" {
				err = errors.Join(err, fmt.Errorf("%s, %s: left out: it %s", e.ID, v.Name, why))
			}
		}
	}
	return err
}

// Missing returns an error that names each program that this machine does not have, the experiments that need it, and the
// command that installs it.
func Missing(all []Experiment) (err error) {
	for _, sentence := range missingFor(all) {
		err = errors.Join(err, errors.New(sentence))
	}
	return err
}

// missingFor has a sentence for each program that this machine does not have.
func missingFor(all []Experiment) (sentences []string) {
	by := make(map[Need][]string)
	for _, e := range all {
		for _, n := range e.Needs {
			by[n] = append(by[n], e.ID)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(by)) {
		if !n.met() {
			verb := "needs"
			if len(by[n]) > 1 {
				verb = "need"
			}
			sentences = append(sentences, fmt.Sprintf("%s %s %s", strings.Join(by[n], ", "), verb, n.without()))
		}
	}
	return sentences
}
