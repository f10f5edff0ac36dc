package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// Need is a program that must be on the PATH.
type Need string

// RedisServer is the real one.
const RedisServer Need = "redis-server"

// installs says how to install what an experiment needs.
var installs = map[Need]string{
	RedisServer: "apt-get install redis-server (or brew install redis)",
}

// Missing returns an error that names each program that this machine does not have, the experiments that need it, and the
// command that installs it.
func Missing(all []Experiment) (err error) {
	by := make(map[Need][]string)
	for _, e := range all {
		for _, n := range e.Needs {
			by[n] = append(by[n], e.ID)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(by)) {
		if _, missing := exec.LookPath(string(n)); missing != nil {
			verb := "needs"
			if len(by[n]) > 1 {
				verb = "need"
			}
			install := cmp.Or(installs[n], "install it")
			err = errors.Join(err, fmt.Errorf("%s %s %s, which is not on the PATH: %s", strings.Join(by[n], ", "), verb, n, install))
		}
	}
	return err
}
