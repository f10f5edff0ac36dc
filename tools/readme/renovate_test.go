package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A comment in go.mod says why a dependency stays at its version. The update bot must not offer a newer one.
func TestTheUpdateBotKeepsWhatStays(t *testing.T) {
	mod, text := read(t, "go.mod"), read(t, "renovate.json")
	var config struct {
		PackageRules []struct {
			Description       string
			MatchPackageNames []string
			AllowedVersions   string
		}
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	rules := make(map[string]string)
	for _, rule := range config.PackageRules {
		for _, name := range rule.MatchPackageNames {
			rules[name+" // "+rule.Description] = rule.AllowedVersions
		}
	}
	stays := regexp.MustCompile(`(?m)^\s(\S+) v(\S+) // (.*)$`).FindAllStringSubmatch(mod, -1)
	for _, line := range stays {
		if why := line[3]; !strings.HasPrefix(why, "indirect") {
			rule := line[1] + " // " + why
			if rules[rule] != "<="+line[2] {
				t.Errorf("go.mod has %s v%s because %q: renovate.json allows %q", line[1], line[2], why, rules[rule])
			}
			delete(rules, rule)
		}
	}
	for rule := range rules {
		t.Errorf("renovate.json has a rule for %s, and go.mod says of nothing that it stays for that", rule)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
