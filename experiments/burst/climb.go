package burst

import (
	"slices"
	"sync"
)

// Climb is how far the counter has come while the bursts of a plan go on, as the answers tell. Nobody is asked: that would disturb the
// burst. Its Confirmed is for [Plan.Confirmed].
type Climb struct {
	mu sync.Mutex
	by map[[2]string]Climbed // by version and instance
}

// Climbed is how far an instance has come.
type Climbed struct {
	Answers int
	Newest  int64 // largest value that it wrote
}

// Confirmed counts an answer.
func (c *Climb) Confirmed(version string, w Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = make(map[[2]string]Climbed)
	}
	at := [2]string{version, w.Instance}
	c.by[at] = Climbed{c.by[at].Answers + 1, max(c.by[at].Newest, w.Value)}
}

// Instances are those that have answered.
func (c *Climb) Instances() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := range c.by {
		if !slices.Contains(names, at[1]) {
			names = append(names, at[1])
		}
	}
	slices.Sort(names)
	return names
}

// At is how far an instance has come with a version.
func (c *Climb) At(version, instance string) Climbed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[[2]string{version, instance}]
}
