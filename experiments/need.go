package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// installs says how to get what an experiment needs.
var installs = map[Need]string{
	RedisServer: "apt-get install redis-server (or brew install redis)",
}

// Missing returns an error that names what e needs and this machine has not got, with the command that installs it.
func (e Experiment) Missing() error { return Missing([]Experiment{e}) }

// Missing is the same for several: each program that is missing, and who needs it.
func Missing(all []Experiment) (err error) {
	var needs []Need
	by := make(map[Need][]string)
	for _, e := range all {
		for _, n := range e.Needs {
			if !slices.Contains(needs, n) {
				needs = append(needs, n)
			}
			by[n] = append(by[n], e.ID)
		}
	}
	for _, n := range needs {
		if _, missing := exec.LookPath(string(n)); missing != nil {
			verb := "needs"
			if len(by[n]) > 1 {
				verb = "need"
			}
			err = errors.Join(err, fmt.Errorf("%s %s %s, which is not on the PATH: %s", strings.Join(by[n], ", "), verb, n, cmp.Or(installs[n], "install it")))
		}
	}
	return err
}
