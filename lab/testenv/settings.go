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
	names := []string{"REDIS_TOPOLOGY"} // the older name of TOPOLOGY
	for _, found := range regexp.MustCompile(`(?m)^([A-Z0-9_]+)=`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	for _, name := range names {
		t.Setenv(name, "") // so that it is as before in the end
		os.Unsetenv(name)
	}
}
