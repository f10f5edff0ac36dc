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
	RedisServer  Need = "redis-server"
	MariaDB      Need = "mariadbd"
	ZooKeeper    Need = "zookeeper" // jar files, and java
	Etcd         Need = "etcd"
	Memcached    Need = "memcached"
	ArticlesJava Need = "examples/articles" // java, and the jar files that Maven builds there
	Nginx        Need = "nginx"
)

// Here are the options of a run with the programs of this machine.
func Here() Options { return Options{Real: servers.RealRedis()} }

// ownProcesses is what an experiment needs that does not run in containers.
const ownProcesses = "servers that are processes of the lab"

// without says why a run with these options does not have n, and how to get it; empty: it has it.
func (o Options) without(n Need) string {
	program := servers.ProgramNamed(string(n))
	if old := program.TooOld(); old != nil {
		return fmt.Sprintf("%s: %v: install its own package, or that of a newer system", n, old)
	}
	missing := program.Missing()
	if missing != nil && program.Built {
		return fmt.Sprintf("%s: %v", n, missing)
	}
	if missing != nil {
		return fmt.Sprintf("%s, which is not on the PATH: %s", n, program.Install())
	}
	if n == RedisServer && !o.Real {
		return "a real redis-server, and this run uses miniredis"
	}
	return ""
}

// LeavesOut says why a run with these options leaves a variant out; empty: it does not. The experiment runs all the same.
func (o Options) LeavesOut(v Variant) string {
	for _, n := range v.Needs {
		if why := o.without(n); why != "" {
			return "needs " + why
		}
	}
	if o.Quick && v.Slow {
		return "is slow, and a quick run leaves it out"
	}
	return ""
}

// CannotRun says why these options and this machine cannot run e, and what to do; nil: they can.
func (o Options) CannotRun(e Experiment) error {
	if why := o.Obstacles([]Experiment{e}); len(why) > 0 {
		return errors.New(strings.Join(why, "; "))
	}
	return nil
}

// Obstacles has a sentence for each reason why some of these experiments cannot run, with their ids or, of more than eight, their number.
func (o Options) Obstacles(all []Experiment) (sentences []string) {
	by := make(map[string][]string)
	for _, e := range all {
		if o.Docker != "" { // the containers are all that it needs
			if e.Docker == 0 {
				by[ownProcesses] = append(by[ownProcesses], e.ID)
			}
			continue
		}
		for _, n := range e.Needs {
			if why := o.without(n); why != "" {
				by[why] = append(by[why], e.ID)
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(by)) {
		who, verb := strings.Join(by[why], ", "), "need"
		switch n := len(by[why]); {
		case n == 1:
			verb = "needs"
		case n > 8:
			who = fmt.Sprintf("%d experiments", n)
		}
		sentences = append(sentences, fmt.Sprintf("%s %s %s", who, verb, why))
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
