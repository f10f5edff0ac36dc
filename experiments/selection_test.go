package experiments

import (
	"fmt"
	"testing"
)

func TestSelectionChooses(t *testing.T) {
	all := []Experiment{{ID: "L1", Article: "A2"}, {ID: "L2", Article: "A2", Slow: true}, {ID: "L3", Article: "A0, A2"}}
	for _, c := range []struct {
		selection Selection
		want      string
	}{
		{Selection{All: true}, "[L1 L2 L3]"},
		{Selection{Quick: true}, "[L1 L3]"},
		{Selection{Article: "A2"}, "[L1 L2 L3]"},
		{Selection{Article: "a0"}, "[L3]"},
		{Selection{Quick: true, Article: "A2"}, "[L1 L3]"},
	} {
		chosen, err := c.selection.Choose(all, nil)
		var ids []string
		for _, e := range chosen {
			ids = append(ids, e.ID)
		}
		if err != nil || fmt.Sprint(ids) != c.want {
			t.Errorf("%+v: %v, %v; want %s", c.selection, ids, err, c.want)
		}
	}
	if _, err := (Selection{Quick: true}).Choose(all[1:2], nil); err == nil {
		t.Error("none is quick, and there is no error")
	}
}
