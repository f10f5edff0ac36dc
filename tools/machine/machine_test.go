package machine

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/lab/testenv"
)

// A thing that was not there before is named, and so is a setting that is not as it was. All else is not.
func TestWhatIsLeftIsNamed(t *testing.T) {
	before := State{
		kinds:    []Kind{{Name: "network interfaces"}, {Name: "network namespaces"}},
		left:     map[string][]string{"network interfaces": {"nodes"}},
		settings: map[string]string{"/proc/sys/kernel/panic": "0", "/proc/sys/vm/panic_on_oom": "0"},
	}
	now := State{
		left:     map[string][]string{"network interfaces": {"nodes", "node1"}, "network namespaces": {"node1"}},
		settings: map[string]string{"/proc/sys/kernel/panic": "10", "/proc/sys/vm/panic_on_oom": "0"},
	}
	want := []string{"network interfaces: node1", "network namespaces: node1", "the setting /proc/sys/kernel/panic: 10 instead of 0"}
	if got := before.since(now); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// Only the paths that are there are listed.
func TestExistingPathsAreListed(t *testing.T) {
	dir := t.TempDir()
	got, err := Output(t.Context(), nil, "sh", "-c", Existing(dir+"/missing "+dir+" "+dir+"/*/missing"))
	if err != nil || got != dir+"\n" {
		t.Errorf("listed are %q, %v; there is %s", got, err, dir)
	}
}

// A list that cannot be read is an error, and never an empty list.
func TestALookThatFailsIsAnError(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	only := t.TempDir()
	if err := os.Symlink(shell, filepath.Join(only, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", only)
	any := regexp.MustCompile(`(.+)`)
	kinds := []Kind{
		{Name: "processes", Command: "ps -eo args", Pattern: any},
		{Name: "folders", Command: Existing("/none"), Pattern: any},
		{Name: "mounts", Command: "cat /proc/mounts", Pattern: any},
	}
	_, err = Look(kinds, nil)
	for _, kind := range kinds {
		usesShell := strings.HasPrefix(kind.Command, "for ")
		if named := err != nil && strings.Contains(err.Error(), kind.Name); named == usesShell {
			t.Errorf("%s without the program that lists it: %v", kind.Name, err)
		}
	}
	if err := (State{kinds: kinds}).Unchanged(); err == nil {
		t.Error("nothing could be read, and nothing is left")
	}
}

// A thing that is there all the time is not left.
func TestAMachineThatStaysIsUnchanged(t *testing.T) {
	setting := filepath.Join(t.TempDir(), "setting")
	if err := os.WriteFile(setting, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folders := Kind{Name: "folders", Command: Existing("/"), Pattern: regexp.MustCompile(`(.+)`)}
	s, err := Look([]Kind{folders}, []string{setting, setting + "-missing"})
	if err != nil || !slices.Equal(s.left["folders"], []string{"/"}) || s.settings[setting] != "1" || len(s.settings) != 1 {
		t.Errorf("seen are %+v, %v", s, err)
	}
	if err := s.Unchanged(); err != nil {
		t.Error(err)
	}
}

// A setting that did not change is not written. One that cannot be written does not keep the others from it.
func TestRestoreWritesWhatDiffers(t *testing.T) {
	const readOnly = "/proc/version" // root can read it and not write it
	text, err := os.ReadFile(readOnly)
	if err != nil {
		testenv.Skip(t, "this machine has no /proc")
	}
	dir := t.TempDir()
	same := State{settings: map[string]string{readOnly: strings.TrimSpace(string(text))}}
	if err := same.Restore(); err != nil {
		t.Errorf("nothing differs: %v", err)
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	s := State{settings: map[string]string{a: "1", b: "1", readOnly: "1", filepath.Join(dir, "no", "c"): "1"}}
	if err := errors.Join(os.WriteFile(a, []byte("0\n"), 0o600), os.WriteFile(b, []byte("0\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err = s.Restore()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), readOnly) {
		t.Errorf("two cannot be written: %v", err)
	}
	for _, name := range []string{a, b} {
		if got, err := os.ReadFile(name); err != nil || string(got) != "1" {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
