package scorecard

import "slices"

// Step is a step of the exercise: a lock is mended until it keeps one promise more. docs/exercise.md has the exercise.
type Step struct {
	Name   string // of the rung that the step leads to
	Defect string // of the rung before
	Rows   []string
	Claims []string // in the hello: without them a row of this step is not tried
	Task   string
}

// Exercise is the way from SETNX and DEL to a lock that keeps all promises of one server of Redis.
var Exercise = []Step{
	{
		Name: "expiry", Defect: "A dead holder locks the key for ever.", Rows: []string{"T02", "T07", "T09"},
		Task: "Set an expiry together with the key: SET key owner NX PX lease.",
	},
	{
		Name: "owner", Defect: "A late release deletes the next holder's key.", Rows: []string{"T03", "T08"},
		Task: "Delete the key only when it has your owner. One script compares and deletes.",
	},
	{
		Name: "renewal", Defect: "Work longer than the lease has two holders.", Rows: []string{"T04", "T06", "T19"},
		Claims: []string{"renews", "tells_loss", "extends"},
		Task:   "Set the expiry again when the key has your owner. One script compares and does PEXPIRE. It returns 0 when the lock is lost.",
	},
	{
		Name: "token", Defect: "A paused holder writes after its successor.", Rows: []string{"T05", "T11"}, Claims: []string{"tokens"},
		Task: "Return a number that is larger at each grant: the server's TIME, in the script that sets the key. A counter would begin again " +
			"after a restart without data.",
	},
}

// Next is the first step whose rows do not all hold. done: all do.
func (c *Scorecard) Next() (next Step, done bool) {
	for _, step := range Exercise {
		for _, id := range step.Rows {
			chosen, err := Chosen([]string{id})
			if err != nil || !slices.ContainsFunc(c.Rows, func(row Score) bool { return row.ID == chosen[0].ID && row.State == Holds }) {
				return step, false
			}
		}
	}
	return Step{}, true
}
