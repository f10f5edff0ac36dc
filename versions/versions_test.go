package versions_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"locklab/versions"
)

// Each server is named once, whatever number of versions need it.
func TestRequiredServers(t *testing.T) {
	want := []string{versions.NameRedis, versions.NameDatabase}
	if got := versions.RequiredServers("v0", "v1", "v3", "v3", "v5"); !slices.Equal(got, want) {
		t.Errorf("v3 and v5 need %v", got)
	}
}

// A version that needs no server must open without one.
func TestVersionsWithoutServers(t *testing.T) {
	for _, v := range versions.All() {
		if v.Strategy == "" || v.Server() != "" {
			continue
		}
		opened, err := versions.Open(v.Strategy, versions.Backends{})
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if err := opened.Close(); err != nil {
			t.Errorf("%s: close: %v", v.Name, err)
		}
	}
}

var update = flag.Bool("update", false, "write loadtest/k6/versions.js from the table")

// k6 reads the table from a file that go test ./versions -update writes.
func TestK6Versions(t *testing.T) {
	type row struct {
		Name  string `json:"name"`
		Title string `json:"title"`
		Loses bool   `json:"loses"`
	}
	var rows []row
	for _, v := range versions.All() {
		rows = append(rows, row{v.Name, v.Title, v.LosesUpdates})
	}
	list, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "../loadtest/k6/versions.js"
	want := "// Written by go test ./versions -update, from versions/versions.go.\nexport const versions = " + string(list) + ";\n"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): run go test ./versions -update", file, err)
	}
}
