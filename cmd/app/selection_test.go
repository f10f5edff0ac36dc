package main

import (
	"fmt"
	"strings"
	"testing"

	"locklab/experiments"
)

// several are experiments of two articles: one is slow, and one runs in containers.
var several = experiments.Catalogue{
	{ID: "L1", Articles: experiments.Articles{"A2"}, Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.RedisServer}}},
	{ID: "L2", Articles: experiments.Articles{"A2"}, Schedule: experiments.Schedule{Slow: true}},
	{ID: "L3", Articles: experiments.Articles{"A0", "A2"}, Schedule: experiments.Schedule{Docker: 1}},
}

func needing(id string, needs ...experiments.Need) experiments.Experiment {
	return experiments.Experiment{ID: id, Schedule: experiments.Schedule{Needs: needs}}
}

func idsOf(all []experiments.Experiment) string {
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
		if chosen, err := c.selection.choose(several); err != nil || idsOf(chosen) != c.want {
			t.Errorf("%+v: %v, %v; want %s", c.selection, idsOf(chosen), err, c.want)
		}
	}
}

func TestSelectionThatCannotBe(t *testing.T) {
	named := []string{"L1"}
	for _, c := range []struct {
		selection selection
		says      string
	}{
		{selection{}, "name experiments"},
		{selection{IDs: named, All: true}, "L1 is named together with"},
		{selection{IDs: named, Quick: true}, "L1 is named together with"},
		{selection{IDs: named, Article: "A2"}, "L1 is named together with"},
		{selection{All: true, Quick: true}, "--all is given with"},
		{selection{All: true, Article: "A2"}, "--all is given with"},
		{selection{Article: "A9"}, `--article is "A9"; allowed are A0, A1, A2, A3, A4`},
		{selection{Article: "A1"}, "no experiment is of that kind"},
		{selection{IDs: []string{"L1", "L9"}}, `there is no experiment "L9"; did you mean L1, L2, L3?`},
	} {
		if chosen, err := c.selection.choose(several); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, %v; want an error with %q", c.selection, idsOf(chosen), err, c.says)
		}
	}
}

// Experiments of a group that cannot run there are left out. An experiment that was named must run, and so must one of a group.
func TestSelectionKeepsWhatRunsThere(t *testing.T) {
	for _, c := range []struct {
		selection  selection
		where      string
		chosen     []experiments.Experiment
		kept, left string
		fails      string
	}{
		{selection{All: true}, "embedded", several, "[L2 L3]", "[L1]", ""},
		{selection{All: true}, "contained", several, "[L3]", "[L1 L2]", ""},
		{selection{IDs: []string{"L3"}}, "contained", several[2:], "[L3]", "[]", ""},
		{selection{IDs: []string{"L1", "L3"}}, "embedded", several, "[]", "[]", "--embedded is given, and L1 needs a real redis-server"},
		{selection{All: true}, "embedded", several[:1], "[]", "[]", "--embedded is given, and L1 needs a real redis-server"},
		{selection{All: true}, "contained", several[:2], "[]", "[]", "L1, L2 runs on processes only; in containers run L3"},
	} {
		kept, left, err := c.selection.embedded(c.chosen)
		if c.where == "contained" {
			kept, left, err = c.selection.contained(several, c.chosen)
		}
		if idsOf(kept) != c.kept || fmt.Sprint(left) != c.left {
			t.Errorf("%s, %+v: kept %s, left %v; want %s and %s", c.where, c.selection, idsOf(kept), left, c.kept, c.left)
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s, %+v: %v, want %q", c.where, c.selection, err, c.fails)
		}
	}
}

func TestSelectionNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	needy := needing("F98-needy", experiments.RedisServer, "another")
	other := needing("F99-other", experiments.RedisServer)
	modest := experiments.Experiment{ID: "L98-modest"}
	err := new(selection).missing([]experiments.Experiment{needy, other, modest}, false)
	for _, says := range []string{
		"F98-needy, F99-other need redis-server", "apt-get install redis-server", "F98-needy needs another",
		"--embedded runs the 1 that need none",
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("it does not say %q: %v", says, err)
		}
	}
	if err := new(selection).missing([]experiments.Experiment{modest}, false); err != nil {
		t.Error(err)
	}
}

func TestSelectionLeavesOutWhatThisMachineCannotRun(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	needy := needing("D98-needy", experiments.RedisServer, experiments.MariaDB)
	other := needing("F99-other", experiments.RedisServer)
	kept, missing := selection{All: true}.able([]experiments.Experiment{needy, other})
	if len(kept) != 1 || kept[0].ID != other.ID || len(missing) != 1 ||
		missing[0] != "D98-needy needs mariadbd, which is not on the PATH: apt-get install mariadb-server (or brew install mariadb)" {
		t.Errorf("kept %v, missing %q", kept, missing)
	}
	if kept, missing := (selection{IDs: []string{"D98"}}).able([]experiments.Experiment{needy}); len(kept) != 1 || len(missing) != 0 {
		t.Errorf("named: kept %v, missing %q", kept, missing)
	}
}
