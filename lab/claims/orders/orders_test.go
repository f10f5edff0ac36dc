package orders

import (
	"testing"
	"time"

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

func TestNotServed(t *testing.T) {
	event := func(kind history.Kind, driver string, at time.Duration) history.Event {
		return history.Event{Kind: kind, Timeline: driver, At: at}
	}
	asked := event(history.Request, "driver 1", time.Second)
	for _, c := range []struct {
		name  string
		then  history.Event
		found int
	}{
		{"answered in time", event(history.Note, "driver 1", time.Second+httpWait), 0},
		{"answered too late", event(history.Note, "driver 1", time.Second+httpWait+1), 1},
		{"refused", event(history.Refuse, "driver 1", 2*time.Second), 1},
		{"the data are read late", event(history.Win, "driver 1", 2*httpWait), 0},
		{"no driver", event(history.Note, "lab", 2*httpWait), 0},
	} {
		if found := notServed([]history.Event{asked, c.then}); len(found) != c.found {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}
