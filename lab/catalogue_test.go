package lab

import (
	"slices"
	"strings"
	"testing"
)

// three are experiments of different kinds.
var three = Catalogue{
	{ID: "L01-orphan", Articles: Articles{"A0", "A2"}, Level: Basic, Anomaly: "a lock stays"},
	{ID: "L03-foreign-unlock", Articles: Articles{"A2"}, Level: Medium, Anomaly: "an early unlock", Schedule: Schedule{Slow: true}},
	{ID: "F10-clock", Level: Medium},
}

// An experiment is found by its id and by its number. The error of an unknown id names the similar ones, or where all are.
func TestAnExperimentIsFoundByItsID(t *testing.T) {
	for id, want := range map[string]string{"l03": "L03-foreign-unlock", "F10-Clock": "F10-clock"} {
		if e, err := three.Find(id); err != nil || e.ID != want {
			t.Errorf("%s: %s, %v", id, e.ID, err)
		}
	}
	for id, says := range map[string]string{
		"L3": "did you mean L03-foreign-unlock?", "X99-foreign-unlock": "did you mean L03-foreign-unlock?",
		"ORPHAN": "did you mean L01-orphan?", "nothing": "app lab list shows all",
	} {
		if _, err := three.Find(id); err == nil || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%s: %v, want %q", id, err, says)
		}
	}
}

// A filter keeps the experiments that have all of its fields. The kinds of failure are sorted, and each is there once.
func TestAFilterKeepsExperiments(t *testing.T) {
	for want, f := range map[string]Filter{
		"L01 L03 F10": {}, "L01": {Article: "A0"}, "L01 L03": {Article: "A2"}, "L03 F10": {Level: "medium"}, "L03": {Anomaly: "an early unlock"},
		"L01 F10": {Quick: true}, "F10": {Quick: true, Level: "medium"}, "": {Article: "A4"},
	} {
		var kept []string
		for _, e := range f.Of(three) {
			kept = append(kept, Number(e.ID))
		}
		if got := strings.Join(kept, " "); got != want {
			t.Errorf("%+v keeps %q, want %q", f, got, want)
		}
	}
	if all := slices.Concat(three, three).Anomalies(); !slices.Equal(all, []string{"a lock stays", "an early unlock"}) {
		t.Errorf("the kinds of failure are %q", all)
	}
}
