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
