package benchfile

import (
	"strings"
	"testing"
)

func TestReadFileThatWasCutOff(t *testing.T) {
	saved, err := Read(strings.NewReader(`{"form":"short"}
{"workload":"burst","lock":"ours","seconds":1}
{"workload":"burst","lock":"lo`))
	if err != nil || saved.Header.Form != "short" || len(saved.Runs) != 1 || len(saved.Runs.Row("burst", "ours")) != 1 {
		t.Errorf("got %+v, %v", saved, err)
	}
	if _, err := Read(strings.NewReader("")); err == nil {
		t.Error("a file without a header was read")
	}
}

// An older file has no number of processors, and can be read.
func TestProcessors(t *testing.T) {
	for line, want := range map[string]int{`{"machine":"2 × x"}`: 0, `{"machine":"2 × x","processors":2}`: 2} {
		if saved, err := Read(strings.NewReader(line)); err != nil || saved.Header.Processors != want {
			t.Errorf("%s: %+v, %v", line, saved.Header, err)
		}
	}
}
