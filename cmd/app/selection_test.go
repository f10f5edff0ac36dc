package main

import (
	"fmt"
	"strings"
	"testing"

	"locklab/lab"
)

// testCatalogue has experiments of two articles. One needs redis-server, one is slow, and one runs in containers.
var testCatalogue = lab.Catalogue{
	{ID: "L1", Articles: lab.Articles{"A2"}, Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}}},
	{ID: "L2", Articles: lab.Articles{"A2"}, Schedule: lab.Schedule{Slow: true}},
	{ID: "L3", Articles: lab.Articles{"A0", "A2"}, Schedule: lab.Schedule{Docker: 1}},
}

func withNeeds(id string, needs ...lab.Need) lab.Experiment {
	return lab.Experiment{ID: id, Schedule: lab.Schedule{Needs: needs}}
}

func idsOf(all []lab.Experiment) string {
	var ids []string
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return fmt.Sprint(ids)
}

func TestSelectionChooses(t *testing.T) {
	for _, c := range []struct {
		selection selection
		want      string
	}{
		{selection{All: true}, "[L1 L2 L3]"},
		{selection{Quick: true}, "[L1 L3]"},
		{selection{Article: "A2"}, "[L1 L2 L3]"},
		{selection{Article: "a0"}, "[L3]"},
		{selection{Quick: true, Article: "A2"}, "[L1 L3]"},
		{selection{IDs: []string{"L3", "L2", "L3"}}, "[L3 L2]"},
	} {
		if chosen, err := c.selection.choose(testCatalogue); err != nil || idsOf(chosen) != c.want {
			t.Errorf("%+v: %v, %v; want %s", c.selection, idsOf(chosen), err, c.want)
		}
	}
}

func TestSelectionErrors(t *testing.T) {
	named := []string{"L1"}
	for _, c := range []struct {
		selection selection
		want      string
	}{
		{selection{}, "--article A2"},
		{selection{IDs: named, All: true}, "L1 cannot be combined with --all"},
		{selection{IDs: named, Quick: true}, "L1 cannot be combined with --all"},
		{selection{IDs: named, Article: "A2"}, "L1 cannot be combined with --all"},
		{selection{All: true, Quick: true}, "--all cannot be combined with --quick"},
		{selection{All: true, Article: "A2"}, "--all cannot be combined with --quick"},
		{selection{Article: "A9"}, `--article is "A9"; must be one of A0, A1, A2, A3, A4`},
		{selection{Article: "A1"}, "app lab list"},
		{selection{IDs: []string{"L1", "L9"}}, `"L9"; did you mean L1, L2, L3?`},
	} {
		if chosen, err := c.selection.choose(testCatalogue); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v; want an error with %q", c.selection, idsOf(chosen), err, c.want)
		}
	}
}

// Experiments of a group that cannot run are left out, unless that is all of them. A named experiment that cannot run is an error.
func TestSelectionKeeps(t *testing.T) {
	for _, c := range []struct {
		selection  selection
		where      string
		chosen     []lab.Experiment
		kept, left string
		fails      string
	}{
		{selection{All: true}, "embedded", testCatalogue, "[L2 L3]", "[L1]", ""},
		{selection{All: true}, "contained", testCatalogue, "[L3]", "[L1 L2]", ""},
		{selection{IDs: []string{"L3"}}, "contained", testCatalogue[2:], "[L3]", "[]", ""},
		{selection{IDs: []string{"L1", "L3"}}, "embedded", testCatalogue, "[]", "[]", "--embedded cannot run L1"},
		{selection{All: true}, "embedded", testCatalogue[:1], "[]", "[]", "--embedded cannot run L1"},
		{selection{All: true}, "contained", testCatalogue[:2], "[]", "[]", "--on docker cannot run L1, L2"},
	} {
		kept, left, err := c.selection.keepEmbedded(c.chosen)
		if c.where == "contained" {
			kept, left, err = c.selection.keepContained(testCatalogue, c.chosen)
		}
		if idsOf(kept) != c.kept || fmt.Sprint(left) != c.left {
			t.Errorf("%s, %+v: kept %s, left %v; want %s and %s", c.where, c.selection, idsOf(kept), left, c.kept, c.left)
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s, %+v: %v, want %q", c.where, c.selection, err, c.fails)
		}
	}
}

func TestSelectionChecksPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	needy := withNeeds("F98-needy", lab.RedisServer, "another")
	other := withNeeds("F99-other", lab.RedisServer)
	modest := lab.Experiment{ID: "L98-modest"}
	err := new(selection).checkPrograms([]lab.Experiment{needy, other, modest}, false)
	for _, want := range []string{"F98-needy, F99-other", "apt-get install redis-server", "another", "--embedded runs the 1 "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if err := new(selection).checkPrograms([]lab.Experiment{modest}, false); err != nil {
		t.Error(err)
	}
}

func TestSelectionDropsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	needy := withNeeds("D98-needy", lab.RedisServer, lab.MariaDB)
	other := withNeeds("F99-other", lab.RedisServer)
	kept, missing := selection{All: true}.dropMissing([]lab.Experiment{needy, other})
	if len(kept) != 1 || kept[0].ID != other.ID || len(missing) != 1 || !strings.Contains(missing[0], "D98-needy") ||
		!strings.Contains(missing[0], "apt-get install mariadb-server") {
		t.Errorf("kept %v, missing %q", kept, missing)
	}
	if kept, missing := (selection{IDs: []string{"D98"}}).dropMissing([]lab.Experiment{needy}); len(kept) != 1 || len(missing) != 0 {
		t.Errorf("named: kept %v, missing %q", kept, missing)
	}
}
