package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"locklab/lab/testenv/composefiles"
)

// copied is a checkout with the compose files alone.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docker-compose.yml")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "docker-compose.yml"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Without the settings that a user has made, Compose would start another lab: on a shared machine, that of the trainer.
func TestSettingsThatAreNotReadStopCompose(t *testing.T) {
	dir := copied(t)
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("COMPOSE_PROJECT_NAME=locklab-7\nNGINX_PORT=15700\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".env")
	p, err := composefiles.Load(t.Context(), dir, "")
	if err != nil || p.Files.Name != "locklab-7" || p.Published("nginx") != "127.0.0.1:15700" {
		t.Fatalf("%+v, %v", p, err)
	}
	_, err = composefiles.Load(t.Context(), dir, "", "COMPOSE_PROFILES=backends,load")
	if err == nil || !strings.Contains(err.Error(), "set BACKENDS=1") {
		t.Errorf("COMPOSE_PROFILES: %v", err)
	}
	write(".env.local")
	if _, err := composefiles.Load(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "rename it to .env") {
		t.Errorf(".env.local: %v", err)
	}
}

// Every variable of the files has a default: Compose replaces an unknown variable by nothing.
func TestVariablesAreSet(t *testing.T) {
	known := map[string]bool{}
	defaults, err := os.ReadFile("defaults.env")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^([A-Z0-9_]+)=`).FindAllStringSubmatch(string(defaults), -1) {
		known[found[1]] = true
	}
	files, _ := filepath.Glob("redis-topologies/*.yaml")
	for _, file := range append(files, "../docker-compose.yml", "lab.yaml", "app.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, used := range regexp.MustCompile(`[^$]\$\{(\w+)\}`).FindAllStringSubmatch(string(text), -1) {
			if !known[used[1]] {
				t.Errorf("%s uses %s, which defaults.env does not set", file, used[1])
			}
		}
	}
}
