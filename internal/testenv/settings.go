package testenv

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// WithoutShell unsets the variables of a checkout's settings until the test ends, so that those of this shell decide nothing.
func WithoutShell(t testing.TB, checkout string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, "deploy", "defaults.env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^([A-Z0-9_]+)=`).FindAllStringSubmatch(string(text), -1) {
		t.Setenv(found[1], "") // so that it is as before in the end
		os.Unsetenv(found[1])
	}
}
