package versions_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/versions"
)

func TestEveryVersionIsWhole(t *testing.T) {
	last := -1
	for _, v := range versions.All() {
		var number int
		if _, err := fmt.Sscanf(v.Name, "v%d", &number); err != nil || v.Name != fmt.Sprintf("v%d", number) || number <= last {
			t.Errorf("%q follows v%d (%v)", v.Name, last, err)
		}
		last = number
		if v.Title == "" || v.Summary == "" || v.Shows == "" || v.Article == "" {
			t.Errorf("%s lacks a text: %+v", v.Name, v)
		}
		if v.Needs != "" && v.Strategy == "" {
			t.Errorf("%s needs servers, and opens no lock on them", v.Name)
		}
		if found, known := versions.Find(v.Name); !known || found.Title != v.Title {
			t.Errorf("%s is not found", v.Name)
		}
	}
	if _, known := versions.Find("v99"); known {
		t.Error("a version is found that does not exist")
	}
}

// The demo runs the versions of the articles unless it is told others. It starts the servers that they need, each once.
func TestDefaultsAndNeeds(t *testing.T) {
	if got := strings.Join(versions.Defaults(), " "); got != "v0 v1 v2 v3 v4" {
		t.Errorf("the defaults are %s", got)
	}
	if got := versions.Needs("v0", "v1", "v3", "v3", "v5"); !slices.Equal(got, []versions.Server{versions.Redis, versions.Database}) {
		t.Errorf("v3 and v5 need %v", got)
	}
}

// A version that needs no server must open without one.
func TestVersionsWithoutServersOpen(t *testing.T) {
	for _, v := range versions.All() {
		if v.Strategy == "" || v.Needs != "" {
			continue
		}
		opened, err := lockstrategy.Open(v.Strategy, lockstrategy.Backends{})
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

// k6 reads the table from a file, which go test ./versions -update writes.
func TestK6KnowsTheVersions(t *testing.T) {
	type row struct {
		Name  string `json:"name"`
		Title string `json:"title"`
		Loses bool   `json:"loses"`
	}
	var rows []row
	for _, v := range versions.All() {
		rows = append(rows, row{v.Name, v.Title, v.Loses})
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
		t.Errorf("%s is not the table (%v); go test ./versions -update writes it", file, err)
	}
}

// The README's table of versions has a row for each that the demo runs by default, and no other.
func TestTheReadmeListsTheVersions(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "| version | what protects the work |")
	table, _, _ := strings.Cut(after, "\n\n")
	var names []string
	for _, row := range regexp.MustCompile(`(?m)^\| (v\d+) \|`).FindAllStringSubmatch(table, -1) {
		names = append(names, row[1])
	}
	if !slices.Equal(names, versions.Defaults()) {
		t.Errorf("the table has %v, want %v", names, versions.Defaults())
	}
}
