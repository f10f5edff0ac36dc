package containers

import (
	"fmt"
	"slices"
	"time"

	"locklab/versions"
)

// About how long a step takes, for the estimate of the time left.
const (
	starts = 20 * time.Second
	dies   = 15 * time.Second
)

// steps are how far Run is.
type steps struct {
	n, all      int
	done, whole time.Duration
}

func (cfg Config) plan() *steps {
	topologies, rows, tools := len(cfg.Topologies), len(kinds)*len(cfg.chosen()), time.Duration(0)
	for _, tool := range cfg.Tools {
		tools += tool.Takes
	}
	return &steps{
		all:   topologies * (2 + rows*len(cfg.Tools)),
		whole: time.Duration(topologies) * (starts + dies + time.Duration(rows)*tools),
	}
}

// begins tells of a step.
func (cfg Config) begins(takes time.Duration, format string, args ...any) {
	s := cfg.steps
	s.n++
	cfg.Tell(s.n, s.all, s.done.Seconds()/s.whole.Seconds(), fmt.Sprintf(format, args...))
	s.done += takes
}

func (cfg Config) chosen() []versions.Version {
	return slices.DeleteFunc(versions.All(), func(v versions.Version) bool { return !slices.Contains(cfg.Versions, v.Name) })
}
