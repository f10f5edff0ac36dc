package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// app is the program of this lab, and itself names its build.
const (
	app    = "store/locks/app"
	itself = "the lab"
)

// builds are those of the adapters, by language. A build is one command, and its manifest has the versions of the libraries.
var builds = map[string]struct{ Command, Manifest string }{
	itself: {Command: `go build -ldflags "-X 'main.stamp=$(.ci/stamp)'" -o ` + app + " ./cmd/app"},
	"none": {Command: "python3 --version"}, // the standard library only
	"Go":   {"go -C examples/locks/go build -o ../../../store/locks/ ./...", "examples/locks/go/go.mod"},
	"Java": {"mvn -q -f examples/locks/java/pom.xml clean package", "examples/locks/java/pom.xml"},
	"Python": {
		"python3 -m venv store/locks/python && store/locks/python/bin/pip install -q -r examples/locks/python/requirements.txt",
		"examples/locks/python/requirements.txt",
	},
	"Node": {"npm ci --silent --prefix examples/locks/node", "examples/locks/node/package.json"},
}

// build builds the adapters of a language.
func build(ctx context.Context, language string) error {
	if err := os.MkdirAll("store/locks", 0o755); err != nil {
		return err
	}
	b, known := builds[language]
	if !known {
		return fmt.Errorf("%s: there is no build for the language %q", table, language)
	}
	if out, err := exec.CommandContext(ctx, "sh", "-c", b.Command).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("the adapters in %s cannot be built by %q: %w: %s", language, b.Command, err, lines[len(lines)-1])
	}
	return nil
}

// version is that of the library, as the build has it. Of this repository it is empty.
func (l Lock) version() (string, error) {
	if l.Of.Package == "" {
		return "", nil
	}
	text, err := os.ReadFile(builds[l.Language].Manifest)
	if err != nil {
		return "", err
	}
	return versionIn(string(text), l.Of.Package)
}

// versionIn finds the version that stands behind the name of a package, as go.mod, a pom, requirements.txt or package.json have it.
func versionIn(manifest, name string) (string, error) {
	found := regexp.MustCompile(`(?m)(?:^|[\s"<])` + regexp.QuoteMeta(name) + `(?: v|>|==|": ")(\d[^\s"<]*)`).FindStringSubmatch(manifest)
	if found == nil {
		return "", fmt.Errorf("the manifest has no exact version of %s", name)
	}
	return found[1], nil
}
