package orders

import (
	"testing"

	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestWonWhatWasLocked(t *testing.T) {
	event := func(driver, order string, kind history.Kind) history.Event {
		return history.Event{Timeline: driver, Key: order, Kind: kind}
	}
	for _, c := range []struct {
		name   string
		events []history.Event
		found  int
	}{
		{"another has won", trialtest.Numbered(event("driver 1", "order:1", history.Refuse), event("driver 2", "order:1", history.Win)), 0},
		{
			"it has won another order",
			trialtest.Numbered(event("driver 1", "order:1", history.Refuse), event("driver 1", "order:2", history.Win)), 0,
		},
		{"it has won", trialtest.Numbered(event("driver 1", "order:1", history.Refuse), event("driver 1", "order:1", history.Win)), 1},
	} {
		if found := wonWhatWasLocked(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}
