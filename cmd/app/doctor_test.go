package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"locklab/lab/doctor"
	"locklab/lab/testenv/composefiles"
)

// composeDir contains docker-compose.yml.
const composeDir = "../.."

// only returns the flag that skips all checks except the named ones.
func only(names ...string) string {
	return "--skip=" + strings.Join(slices.DeleteFunc(doctor.Names(), func(name string) bool { return slices.Contains(names, name) }), ",")
}

func TestDoctor(t *testing.T) {
	composefiles.Docker(t)
	got := app(t.Context(), "doctor", "--dir", composeDir, only("files"), "--json")
	var result struct {
		OK     bool
		Checks []struct {
			Check, Found string
			OK           bool
		}
	}
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != exitOK || !result.OK || len(result.Checks) != 1 {
		t.Fatalf("exit %d: %v: %s%s", got.code, err, got.out, got.err)
	}
	if c := result.Checks[0]; !c.OK || c.Check != "files" || !strings.Contains(c.Found, "docker-compose.yml") {
		t.Errorf("%+v", result)
	}
	wantText(t, app(t.Context(), "doctor", "--dir", t.TempDir(), only("files", "ports")), exitUnexpected, "no docker-compose.yml in", "--dir")
}
