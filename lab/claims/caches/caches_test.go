package caches

import (
	"slices"
	"testing"

	"locklab/lab/claims/services"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// C6: a part that is killed between its two steps loses a change only if the steps are exchanged.
func TestKilledFeed(t *testing.T) {
	for _, c := range []struct {
		task  feedTask
		stale int
	}{
		{feedTask{consumer: consume}, 0},
		{feedTask{consumer: acknowledgeFirst}, 1},
		{feedTask{relay: relayChanges}, 0},
		{feedTask{relay: savePositionFirst}, 1},
	} {
		events, err := trialtest.Of(t, byOutbox(c.task))
		if found := services.StaleReads(events); err != nil || len(found) != c.stale {
			t.Errorf("%+v: found %+v, %v", c.task, found, err)
		}
	}
}

// C3: every read must get an answer.
func TestNoAnswers(t *testing.T) {
	read, refused := history.Event{Timeline: "a", Kind: history.Read}, history.Event{Timeline: "b", Kind: history.Refuse}
	if found := noAnswers(trialtest.Numbered(read, read)); len(found) > 0 {
		t.Errorf("all are answered: found %+v", found)
	}
	if found := noAnswers(trialtest.Numbered(read, refused, read)); len(found) != 1 || !slices.Equal(found[0].Events, []int{2}) {
		t.Errorf("one is not: found %+v", found)
	}
}
