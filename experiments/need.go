package experiments

import (
	"fmt"
	"os/exec"
)

// installs says how to get what an experiment needs.
var installs = map[Need]string{
	RedisServer: "apt-get install redis-server (or brew install redis)",
	Docker:      "the engine: https://docs.docker.com/engine/install/",
	Faketime:    "apt-get install faketime",
}

// Missing returns an error that names what e needs and this machine has not got, with the command that installs it.
func (e Experiment) Missing() error {
	for _, n := range e.Needs {
		if _, err := exec.LookPath(string(n)); err != nil {
			return fmt.Errorf("%s needs %s, which is not on the PATH: %s", e.ID, n, installs[n])
		}
	}
	return nil
}
