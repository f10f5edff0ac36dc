package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

const engine = "../../deploy/kubernetes/engine/"

// A killed run leaves settings of the kernel and a folder. `clean` writes back the settings from before it, and removes the folder.
func TestWhatAKilledRunLeftIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	setting, same, folder := filepath.Join(tmp, "panic"), "/proc/version", filepath.Join(tmp, "locklab-kubernetes")
	version, err := output(t.Context(), "cat", same)
	if err != nil {
		testenv.Skip(t, "this machine has no /proc")
	}
	before := "network interface eth0\nsetting " + setting + "=0\nsetting " + same + "=" + version // which cannot be written
	if err := os.MkdirAll(filepath.Join(folder, "cluster"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{setting: "10\n", filepath.Join(folder, "before"): before} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := output(testenv.Context(t), engine+"run", "clean"); err != nil {
		if strings.Contains(err.Error(), "control groups of version 1") || strings.Contains(err.Error(), "another run") {
			testenv.Skip(t, err.Error())
		}
		t.Fatal(err)
	}
	if value, err := os.ReadFile(setting); err != nil || string(value) != "0\n" {
		t.Errorf("the setting is %q (%v)", value, err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
