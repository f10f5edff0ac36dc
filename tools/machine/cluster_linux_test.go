package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"locklab/lab/testenv"
)

// small is a cluster of one process, which holds a lock on the file LOCK until it is killed. The run called bad fails.
var small = Cluster{Name: "small", Script: "true", Inside: func(ctx context.Context, dir, name string) (any, error) {
	shared, err := os.ReadFile(filepath.Join(dir, "..", "shared"))
	if err == nil && name == "bad" {
		err = errors.New("it is bad")
	}
	if err != nil {
		return nil, err
	}
	const process = `exec 9>"$LOCK" && flock 9 && (exec sleep 600 >/dev/null 2>&1) &`
	return string(shared) + name, exec.CommandContext(context.WithoutCancel(ctx), "sh", "-c", process).Run()
}}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == inside {
		small.Main(nil)
		return
	}
	testenv.Main(m)
}

// word is a result.
type word string

func (w *word) String() string { return "" }

// The names run one after the other, with what they share, until one fails. Each run ends with all of its processes, and no folder is left.
func TestAClusterEndsWithItsNamespaces(t *testing.T) {
	if err := exec.CommandContext(t.Context(), "unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		testenv.Skip(t, "this process may make no namespaces: "+err.Error())
	}
	lock, folder := filepath.Join(t.TempDir(), "lock"), ""
	prepare := func(dir string) ([]string, error) {
		folder = dir
		return []string{"LOCK=" + lock}, os.WriteFile(filepath.Join(dir, "shared"), []byte("run "), 0o600)
	}
	var all []*word
	err := small.Run(t.Context(), []string{"a", "b", "bad", "c"}, prepare, func(string) fmt.Stringer {
		all = append(all, new(word))
		return all[len(all)-1]
	})
	if err == nil || !strings.HasPrefix(err.Error(), "bad: ") {
		t.Errorf("the error is %v", err)
	}
	if len(all) != 3 || !slices.Equal([]word{*all[0], *all[1], *all[2]}, []word{"run a", "run b", ""}) {
		t.Errorf("%d results: %q", len(all), all)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder %s is left: %v", folder, err)
	}
	file, err := os.Open(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("a process of a run is left: %v", err)
	}
}

// Nothing is prepared on a machine that lacks a program, and the folder of a run that cannot be prepared is removed.
func TestAClusterThatCannotStart(t *testing.T) {
	found := func(string) fmt.Stringer { return nil }
	c := Cluster{Name: "small", Programs: []Program{{"/nowhere/program", "package"}}}
	prepare := func(string) ([]string, error) { t.Error("it was prepared"); return nil, nil }
	if err := c.Run(t.Context(), []string{"a"}, prepare, found); err == nil || !strings.Contains(err.Error(), "apt-get install package") {
		t.Errorf("without a program: %v", err)
	}
	left := Cluster{Name: "small", Script: "small/script", Kinds: []Kind{
		{Name: "folders", Command: Existing("/"), Pattern: regexp.MustCompile(`(.+)`), Own: true},
	}}
	if err := left.Run(t.Context(), []string{"a"}, prepare, found); err == nil || !strings.Contains(err.Error(), "left this: /\n") {
		t.Errorf("beside another run: %v", err)
	}
	folder := ""
	prepare = func(dir string) ([]string, error) { folder = dir; return nil, errors.New("no images") }
	if err := small.Run(t.Context(), []string{"a"}, prepare, found); err == nil || err.Error() != "no images" {
		t.Errorf("it cannot be prepared: %v", err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder %s is left: %v", folder, err)
	}
}

// A killed run leaves things that `clean` removes, and the settings are those from before it. Until then no run begins.
func TestWhatAKilledRunLeftIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	setting := filepath.Join(t.TempDir(), "panic")
	write := func(value string) {
		if err := os.WriteFile(setting, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("0")
	c, folder := Cluster{Name: "small", Script: "true", Settings: []string{setting}}, ""
	prepare := func(dir string) ([]string, error) {
		folder = dir
		write("10")
		if err := os.CopyFS(dir+"0", os.DirFS(dir)); err != nil { // this copy stays, as after kill -9
			t.Error(err)
		}
		return nil, errors.New("killed")
	}
	found := func(string) fmt.Stringer { return nil }
	if err := c.Run(t.Context(), []string{"a"}, prepare, found); err == nil {
		t.Fatal("it was not killed")
	}
	err := c.Run(t.Context(), []string{"a"}, prepare, found)
	if err == nil || !strings.Contains(err.Error(), folder+"0") || !strings.Contains(err.Error(), "`make small SMALL=clean`") {
		t.Errorf("beside what a killed run has left: %v", err)
	}
	if err := c.clean(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d is there", os.Getpid())) {
		t.Errorf("a run was removed that is under way: %v", err)
	}
	if value, err := os.ReadFile(setting); err != nil || string(value) != "10" {
		t.Errorf("while the run is under way the setting became %q (%v)", value, err)
	}
	gone := exec.CommandContext(t.Context(), "true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(folder+"0", before)
	text, err := os.ReadFile(saved)
	if err == nil {
		killed := strings.Replace(string(text), fmt.Sprint(os.Getpid()), fmt.Sprint(gone.Process.Pid), 1)
		err = os.WriteFile(saved, []byte(killed), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	value, err := os.ReadFile(setting)
	left, _ := filepath.Glob(folder + "*")
	if err != nil || string(value) != "0" || len(left) > 0 {
		t.Errorf("the setting is %q (%v), and %v is left", value, err, left)
	}
}

// Nothing is prepared on a machine that the script refuses.
func TestAClusterThatTheScriptRefuses(t *testing.T) {
	c := Cluster{Name: "small", Script: "false"}
	prepare := func(string) ([]string, error) { t.Error("it was prepared"); return nil, nil }
	if err := c.Run(t.Context(), []string{"a"}, prepare, func(string) fmt.Stringer { return nil }); err == nil {
		t.Error("the script was not asked")
	}
}
