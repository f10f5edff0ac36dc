package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The changelog has the form of Keep a Changelog 1.1.0, which programs read.
func TestChangelogHasTheFormOfKeepAChangelog(t *testing.T) {
	text := read(t, "CHANGELOG.md")
	version := regexp.MustCompile(`^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$`)
	sections := []string{"### Added", "### Changed", "### Deprecated", "### Removed", "### Fixed", "### Security"}
	var versions, dates []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch found := version.FindStringSubmatch(line); {
		case found != nil:
			versions, dates = append(versions, found[1]), append(dates, found[2])
		case line == "## [Unreleased]" && versions == nil:
			versions = []string{"Unreleased"}
		case strings.HasPrefix(line, "## "):
			t.Errorf("%q is no version: write ## [0.2.0] - 2026-12-31, and ## [Unreleased] above all of them, once", line)
		case strings.HasPrefix(line, "### ") && !slices.Contains(sections, line):
			t.Errorf("%q is none of %s", line, strings.Join(sections, ", "))
		}
	}
	if len(versions) < 2 || versions[0] != "Unreleased" {
		t.Fatalf("the versions are %q: Unreleased comes first, then at least one", versions)
	}
	if slices.Reverse(dates); !slices.IsSorted(dates) {
		t.Errorf("the newest version does not come first: %q", versions)
	}
}
