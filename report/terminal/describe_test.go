package terminal

import (
	"strings"
	"testing"

	"locklab/experiments"
)

// The drawing stands once, below what the articles say.
func TestADescriptionHasItsDrawingOnce(t *testing.T) {
	e := experiments.Experiment{ID: "L1", Says: "as they say", How: "as it runs", Anomaly: "an anomaly", Drawing: "A────B"}
	text := Experiment(e, "app", Screen{})
	says, drawn, how := strings.Index(text, e.Says), strings.Index(text, e.Drawing), strings.Index(text, e.How)
	if strings.Count(text, "Drawing") != 1 || says < 0 || drawn < says || how < drawn {
		t.Errorf("the description is\n%s", text)
	}
	if e.Drawing = ""; strings.Contains(Experiment(e, "app", Screen{}), "Drawing") {
		t.Error("there is a drawing, and it is empty")
	}
}
