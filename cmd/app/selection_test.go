package main

import (
	"errors"
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
		{selection{IDs: named, Article: "A2"}, "L1 cannot be combined with --all"},
		{selection{All: true, Quick: true}, "--all cannot be combined with --quick"},
		{selection{Article: "A9"}, `--article is "A9"; must be one of A0, A1, A2, A3, A4`},
		{selection{Article: "A1"}, "app lab list"},
		{selection{IDs: []string{"L1", "L9"}}, `"L9"; did you mean L1, L2, L3?`},
	} {
		if chosen, err := c.selection.choose(testCatalogue); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v; want an error with %q", c.selection, idsOf(chosen), err, c.want)
		}
	}
}

// Experiments of a group that cannot run are left out, and a sentence says why. A named experiment that cannot run is an error, and so is a
// group of which nothing is left, or which lacks redis-server alone: miniredis serves for the others.
func TestSelectionKeepsWhatCanRun(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	needy, other := withNeeds("F98-needy", lab.RedisServer), withNeeds("D98-other", lab.RedisServer, lab.MariaDB)
	modest := lab.Experiment{ID: "L98-modest", Schedule: lab.Schedule{Docker: 1}}
	all := []lab.Experiment{needy, other, modest}
	ids := func(id string) selection { return selection{IDs: []string{id}} }
	group, docker := selection{All: true}, lab.Options{Docker: "a folder"}
	for name, c := range map[string]struct {
		selection selection
		chosen    []lab.Experiment
		options   lab.Options // zero: with miniredis
		embedded  bool
		kept      string
		says      []string // in what is left out, or in the error
		code      int
	}{
		"a group":              {group, all[1:], lab.Options{}, false, "[L98-modest]", []string{"D98-other needs", "mariadb-server"}, exitOK},
		"embedded":             {group, all, lab.Options{}, true, "[L98-modest]", []string{"F98-needy", "install redis-server"}, exitOK},
		"containers":           {group, all, docker, false, "[L98-modest]", []string{"F98-needy, D98-other", "processes"}, exitOK},
		"redis-server alone":   {group, all, lab.Options{}, false, "[]", []string{"--embedded runs the 1 "}, exitUnavailable},
		"named":                {ids("D98"), all[1:2], lab.Options{}, false, "[]", []string{"mariadb-server"}, exitUnavailable},
		"nothing left":         {selection{Quick: true}, all[:2], lab.Options{}, true, "[]", []string{"F98-needy"}, exitUnavailable},
		"named, not in Docker": {ids("L2"), testCatalogue[1:2], docker, false, "[]", []string{"L2 needs", "--on docker"}, exitUsage},
		"nothing is wanting":   {group, all[2:], lab.Options{}, false, "[L98-modest]", nil, exitOK},
		"named, and can run":   {ids("L3"), testCatalogue[2:], docker, false, "[L3]", nil, exitOK},
	} {
		kept, leftOut, err := c.selection.runnable(c.chosen, c.options, c.embedded)
		said, failed := strings.Join(leftOut, "; "), exitError{code: exitOK}
		if errors.As(err, &failed) {
			said = err.Error()
		}
		if idsOf(kept) != c.kept || failed.code != c.code {
			t.Errorf("%s: kept %s, %v", name, idsOf(kept), err)
		}
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q does not say %q", name, said, want)
			}
		}
	}
}
