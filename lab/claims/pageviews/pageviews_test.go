package pageviews

import (
	"net/http"
	"slices"
	"testing"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
	"locklab/topology"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestCountedTwice(t *testing.T) {
	sent := func(view string) history.Event { return history.Event{Kind: history.Request, Owner: view} }
	counted := func(view string) history.Event { return history.Event{Kind: history.Write, Owner: view} }
	final := func(n int64) history.Event { return history.Event{Kind: history.Final, Value: n} }
	for _, c := range []struct {
		name   string
		events []history.Event
		found  int
	}{
		{"each once", trialtest.Numbered(sent("1"), sent("2"), counted("1"), counted("2"), final(2)), 0},
		{"one not", trialtest.Numbered(sent("1"), sent("2"), counted("1"), final(1)), 0},
		{"one twice, another not", trialtest.Numbered(sent("1"), sent("2"), counted("1"), counted("1"), final(2)), 1},
		{"one twice, without a report", trialtest.Numbered(sent("1"), counted("1"), final(2)), 1},
	} {
		if found := countedTwice(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}

// The death of an instance stands before what nginx does because of it, so a reader sees why the view is sent again.
func TestADeathStandsBeforeItsEffect(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	testenv.Needs(t, testenv.Nginx)
	killed := lab.Variant{Name: "killed", Run: oneView(http.MethodGet, kill)}
	for range 5 {
		events := lab.Run(testenv.Context(t), lab.Experiment{Variants: []lab.Variant{killed}}, lab.Options{Trials: 1, Real: true}).Record.Events
		found := countedTwice(events)
		if len(found) == 0 {
			t.Fatalf("nothing counted twice: %v", events)
		}
		if !slices.ContainsFunc(history.Explain(events, found[0]), func(e history.Event) bool { return e.Kind == history.Die }) {
			t.Errorf("nobody dies in\n%v", history.Timelines(history.Explain(events, found[0])))
		}
	}
}

// A reader sees that both held the lock, one after the other, and that the second one read what the first one had not yet written there.
func TestAReaderSeesWhereAViewWasRead(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	e := lab.Experiment{Variants: []lab.Variant{ours("from a replica", topology.MasterSlave, true)}}
	events := lab.Run(testenv.Context(t), e, lab.Options{Trials: 1, Real: true}).Record.Events
	found := services.LostViews(events)
	if len(found) == 0 {
		t.Fatal("no view is lost")
	}
	seen := make(map[history.Kind]int)
	for _, e := range history.Explain(events, found[0]) {
		seen[e.Kind]++
		if e.Kind == history.Read && e.Text != "from a replica" {
			t.Errorf("%s does not say from where", e)
		}
	}
	if seen[history.Grant] != 2 || seen[history.Read] != 2 || seen[history.Write] != 2 || seen[history.Release] == 0 {
		t.Errorf("the evidence has %v", seen)
	}
}
