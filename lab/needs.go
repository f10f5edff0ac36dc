package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/lab/servers"
)

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

func (n Need) program() servers.Program { return servers.ProgramNamed(string(n)) }

// met reports whether this machine has the program.
func (n Need) met() bool { return n.program().Missing() == nil }

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
	for _, sentence := range MissingFor(all) {
		err = errors.Join(err, errors.New(sentence))
	}
	return err
}

// MissingFor has a sentence for each program that this machine does not have.
func MissingFor(all []Experiment) (sentences []string) {
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

// InContainers are the ids of the experiments that can run in containers.
func InContainers(all []Experiment) (ids []string) {
	for _, e := range all {
		if e.Docker > 0 {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
