package experiments

import (
	"fmt"
	"strings"
	"testing"
)

// several are experiments of two articles: one is slow, and one runs in containers.
var several = Catalogue{
	{ID: "L1", Articles: Articles{"A2"}, Schedule: Schedule{Needs: []Need{RedisServer}}},
	{ID: "L2", Articles: Articles{"A2"}, Schedule: Schedule{Slow: true}},
	{ID: "L3", Articles: Articles{"A0", "A2"}, Schedule: Schedule{Docker: 1}},
}

func ids(all []Experiment) string {
	var ids []string
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return fmt.Sprint(ids)
}

func TestSelectionChooses(t *testing.T) {
	for _, c := range []struct {
		selection Selection
		want      string
	}{
		{Selection{All: true}, "[L1 L2 L3]"},
		{Selection{Quick: true}, "[L1 L3]"},
		{Selection{Article: "A2"}, "[L1 L2 L3]"},
		{Selection{Article: "a0"}, "[L3]"},
		{Selection{Quick: true, Article: "A2"}, "[L1 L3]"},
		{Selection{IDs: []string{"L3", "L2", "L3"}}, "[L3 L2]"},
	} {
		if chosen, err := c.selection.Choose(several); err != nil || ids(chosen) != c.want {
			t.Errorf("%+v: %v, %v; want %s", c.selection, ids(chosen), err, c.want)
		}
	}
}

func TestSelectionThatCannotBe(t *testing.T) {
	named := []string{"L1"}
	for _, c := range []struct {
		selection Selection
		says      string
	}{
		{Selection{}, "name experiments"},
		{Selection{IDs: named, All: true}, "L1 is named together with"},
		{Selection{IDs: named, Quick: true}, "L1 is named together with"},
		{Selection{IDs: named, Article: "A2"}, "L1 is named together with"},
		{Selection{All: true, Quick: true}, "--all is given with"},
		{Selection{All: true, Article: "A2"}, "--all is given with"},
		{Selection{Article: "A9"}, `--article is "A9"; allowed are A0, A1, A2, A3, A4`},
		{Selection{Article: "A1"}, "no experiment is of that kind"},
		{Selection{IDs: []string{"L1", "L9"}}, `there is no experiment "L9"; did you mean L1, L2, L3?`},
	} {
		if chosen, err := c.selection.Choose(several); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, %v; want an error with %q", c.selection, ids(chosen), err, c.says)
		}
	}
}

// Experiments of a group that cannot run there are left out. An experiment that was named must run, and so must one of a group.
func TestSelectionKeepsWhatRunsThere(t *testing.T) {
	for _, c := range []struct {
		selection  Selection
		where      string
		chosen     []Experiment
		kept, left string
		fails      string
	}{
		{Selection{All: true}, "embedded", several, "[L2 L3]", "[L1]", ""},
		{Selection{All: true}, "contained", several, "[L3]", "[L1 L2]", ""},
		{Selection{IDs: []string{"L3"}}, "contained", several[2:], "[L3]", "[]", ""},
		{Selection{IDs: []string{"L1", "L3"}}, "embedded", several, "[]", "[]", "--embedded is given, and L1 needs a real redis-server"},
		{Selection{All: true}, "embedded", several[:1], "[]", "[]", "--embedded is given, and L1 needs a real redis-server"},
		{Selection{All: true}, "contained", several[:2], "[]", "[]", "L1, L2 runs on processes only; in containers run L3"},
	} {
		kept, left, err := c.selection.Embedded(c.chosen)
		if c.where == "contained" {
			kept, left, err = c.selection.Contained(several, c.chosen)
		}
		if ids(kept) != c.kept || fmt.Sprint(left) != c.left {
			t.Errorf("%s, %+v: kept %s, left %v; want %s and %s", c.where, c.selection, ids(kept), left, c.kept, c.left)
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s, %+v: %v, want %q", c.where, c.selection, err, c.fails)
		}
	}
}

// An experiment uses what one of its variants needs, too.
func TestUses(t *testing.T) {
	one := []Experiment{{Schedule: Schedule{Needs: []Need{MariaDB}}, Variants: []Variant{{}, {Needs: []Need{Etcd}}}}}
	for need, want := range map[Need]bool{MariaDB: true, Etcd: true, Memcached: false} {
		if got := Uses(one, need); got != want {
			t.Errorf("%s: %v, want %v", need, got, want)
		}
	}
}
