package main

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"locklab/internal/marked"
	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/scorecard"
	"locklab/lab/testenv"
)

// root is the folder from which the command runs.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func lists(t *testing.T) Table {
	t.Helper()
	all, err := readTable()
	if err != nil || len(all.Locks) == 0 || len(all.Rungs) != len(scorecard.Exercise)+1 {
		t.Fatalf("%d locks and %d rungs: %v", len(all.Locks), len(all.Rungs), err)
	}
	return all
}

// The version of a library is the one of its manifest, in each form, and never that of another package with a similar name.
func TestVersionIn(t *testing.T) {
	for _, c := range []struct{ manifest, name, want string }{
		{"require (\n\tgithub.com/a/lock-b v1.0.0\n\tgithub.com/a/lock v0.9.4 // indirect\n)", "github.com/a/lock", "0.9.4"},
		{"<x>\n  <redisson.version>4.7.0</redisson.version>\n", "redisson.version", "4.7.0"},
		{"python-redis-lock==4.0.1\nredis==8.1.0\n", "redis", "8.1.0"},
		{`{"name": "redlock", "dependencies": {"@a/redlock": "1.4.0", "redlock": "4.2.0"}}`, "redlock", "4.2.0"},
		{`{"dependencies": {"redlock": "^4.2.0"}}`, "redlock", ""}, // not exact
		{"redis>=8.1.0", "redis", ""},
		{"", "redis", ""},
	} {
		got, err := versionIn(c.manifest, c.name)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q in %q: %q, %v; want %q", c.name, c.manifest, got, err, c.want)
		}
	}
}

// Each lock has a name of its own, and a library with an exact version. Each documented limit names rows that exist.
func TestTheTableOfLocks(t *testing.T) {
	all, seen := lists(t).all(), make(map[string]bool)
	for _, l := range all {
		if seen[l.Name] || !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(l.Name) {
			t.Errorf("the name %q is taken, or no name of a file", l.Name)
		}
		seen[l.Name] = true
		if version, err := l.version(); err != nil || (version == "") != (l.Of.Package == "") {
			t.Errorf("%s: version %q, %v", l.Name, version, err)
		}
		for _, limit := range l.Of.Limits {
			if _, err := scorecard.Chosen(strings.Fields(limit.Rows)); err != nil || !strings.HasPrefix(limit.URL, "https://") {
				t.Errorf("%s: %+v: %v", l.Name, limit, err)
			}
		}
	}
	for _, wrong := range []string{"", "Redsync", "no-such-lock"} {
		if _, err := named(all, wrong); err == nil || !strings.Contains(err.Error(), "redsync-five") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if l, err := named(all, "redsync"); err != nil || l.Command != "store/locks/redsync" {
		t.Errorf("redsync is %+v, %v", l, err)
	}
}

// An adapter has at most 80 lines, so that a reader sees how the library is used. Each one is tried.
func TestAdaptersAreShort(t *testing.T) {
	const most = 80
	commands := ""
	for _, l := range lists(t).Locks {
		commands += l.Command + "\n"
	}
	var adapters []string
	for _, pattern := range []string{"go/*/main.go", "java/*.java", "python/*.py", "node/*.js"} {
		files, _ := filepath.Glob("examples/locks/" + pattern)
		if len(files) == 0 {
			t.Errorf("no adapter is %s", pattern)
		}
		adapters = append(adapters, files...)
	}
	for _, file := range adapters {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > most {
			t.Errorf("%s has %d lines, and %d are allowed", file, n, most)
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if name == "main" {
			name = filepath.Base(filepath.Dir(file))
		}
		if !strings.Contains(commands, name) {
			t.Errorf("%s is tried by no lock of the table", file)
		}
	}
}

// madeUp are two locks: the first keeps all that it claims, with a token, and the second has a violation.
func madeUp() []result {
	rows := func(states map[string]scorecard.State) (all []scorecard.Score) {
		for _, row := range scorecard.Rows() {
			state := scorecard.NotClaimed
			switch known, told := states[lab.Number(row.ID)]; {
			case told:
				state = known
			case row.Measures:
				state = scorecard.OnlyMeasured
			case row.Claim.Name == "":
				state = scorecard.Holds
			}
			all = append(all, scorecard.Score{ID: row.ID, Title: row.Title, State: state})
		}
		return all
	}
	at := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
	good := &scorecard.Scorecard{
		Claims: protocol.Claims{Store: protocol.Etcd, Tokens: true, Renews: true, Tells: true}, Pace: 1, Ended: at, Took: 60, Server: "etcd 3",
		Rows: rows(map[string]scorecard.State{"T05": scorecard.Holds, "T06": scorecard.Holds, "T04": scorecard.Holds}),
	}
	bad := &scorecard.Scorecard{
		Claims: protocol.Claims{Store: protocol.Redis}, Server: "redis-server 7", Pace: 2.5, Ended: at.AddDate(0, 0, 1), Took: 60,
		Rows: rows(map[string]scorecard.State{"T03": scorecard.Violated, "T10": scorecard.Inconclusive}),
	}
	for i, row := range bad.Rows {
		if row.State == scorecard.Violated {
			bad.Rows[i].Why = "C and B\nboth | wrote 1"
		}
	}
	documented := &Library{Title: "Bad", Package: "bad", Limits: []Limit{{"T03 T12", "It does not compare.", "https://a.example/bad"}}}
	return []result{
		{Lock{Name: "good", Of: &Library{Title: "Good", Package: "good"}, Language: "Go"}, Record{Version: "1.0", Scorecard: good}},
		{Lock{Name: "bad", Of: documented, Language: "Node"}, Record{Scorecard: bad}},
		{Lock{Name: "gone", Of: documented, Language: "Java"}, Record{Left: "no Maven"}},
	}
}

// A cell says what the scorecard says and links what is documented. A violation has its counterexample and the command that reproduces it.
func TestTheTablesSayWhatTheScorecardsSay(t *testing.T) {
	tables, err := tablesOf(madeUp())
	if err != nil {
		t.Fatal(err)
	}
	for table, lines := range map[string][]string{
		"tried": {"| 2026-11-28 to 2026-11-29 | 2 minutes | 1.0 to 2.5 | etcd 3, redis-server 7 |"},
		"ways":  {"| good | Good 1.0 (Go, etcd) |", "| gone | Bad (Java) |  | not tried: no Maven |"},
		"must": {
			"| good | holds | holds | holds |",
			"| bad | holds | holds | [**violated**](https://a.example/bad) | holds | holds | holds | inconclusive | " +
				"[holds](https://a.example/bad) |",
		},
		"may": {"| good | holds | holds | holds | n/a | n/a |", "| bad | no | no | no | no | n/a |"},
		"violations": {
			`| bad | T03-late-release violated | C and B; both \| wrote 1 | none | [It does not compare.](https://a.example/bad) | ` +
				"`make library NAME=bad ROW=T03` |",
			"| bad | T10-cut-waiter inconclusive |",
		},
		"costs":  {"| good | - | - | - | - |"},
		"limits": {"| Bad | T03 T12 | [It does not compare.](https://a.example/bad) |"},
	} {
		for _, line := range lines {
			if !strings.Contains(tables[table], line) {
				t.Errorf("no %q in %s:\n%s", line, table, tables[table])
			}
		}
	}
	if _, err := tablesOf(madeUp()[2:]); err == nil {
		t.Error("a page without a scorecard")
	}
}

// A remedy is another way to use the library over the same servers. One that violates other rows says so.
func TestARemedyIsOverTheSameServers(t *testing.T) {
	bad := madeUp()[1]
	over := func(name, store string, states map[string]scorecard.State) result {
		r := result{Lock{Name: name, Of: bad.Of}, Record{Scorecard: &scorecard.Scorecard{Claims: protocol.Claims{Store: store}}}}
		for _, row := range scorecard.Rows() {
			r.Rows = append(r.Rows, scorecard.Score{ID: row.ID, State: cmp.Or(states[lab.Number(row.ID)], scorecard.Holds)})
		}
		return r
	}
	five, polls := over("five", protocol.RedLock, nil), over("polls", protocol.Redis, map[string]scorecard.State{"T20": scorecard.Violated})
	for _, c := range []struct {
		others []result
		want   string
	}{
		{[]result{five}, "none"},
		{[]result{five, polls}, "polls (violates T20)"},
		{[]result{polls, over("best", protocol.Redis, nil)}, "polls (violates T20), best"},
	} {
		if found := bad.holdsWith("T03-late-release", append(c.others, bad)); found != c.want {
			t.Errorf("it holds with %q, want %q", found, c.want)
		}
	}
}

// A row that the lab tries over other servers only is n/a, whatever the lock claims: T11 is of Redis, and T16 to T18 are of five servers.
func TestRowsOfOtherServers(t *testing.T) {
	for store, want := range map[string]string{
		protocol.Redis: "T16 T17 T18", protocol.RedLock: "",
		protocol.Etcd: "T11 T16 T17 T18", protocol.ZooKeeper: "T11 T16 T17 T18", protocol.Database: "T11 T16 T17 T18",
	} {
		var other []string
		for _, row := range scorecard.Rows() {
			r := result{Lock{Of: &Library{}}, Record{Scorecard: &scorecard.Scorecard{Claims: protocol.Claims{Store: store}}}}
			r.Rows = []scorecard.Score{{ID: row.ID, State: scorecard.NotClaimed}}
			if row.Claim.Name != "" && r.cell(row) == "n/a" {
				other = append(other, lab.Number(row.ID))
			}
		}
		if got := strings.Join(other, " "); got != want {
			t.Errorf("over %s these are n/a: %q, want %q", store, got, want)
		}
	}
}

// A limit that the way to use a library does not have is no link.
func TestAWayWithoutALimit(t *testing.T) {
	bad := madeUp()[1]
	bad.Without = "T03"
	rows, err := scorecard.Chosen([]string{"T03", "T12"})
	if err != nil {
		t.Fatal(err)
	}
	if got := bad.cell(rows[0]); got != "**violated**" {
		t.Errorf("the cell is %s", got)
	}
	if got := bad.cell(rows[1]); !strings.Contains(got, "https://a.example/bad") {
		t.Errorf("another cell is %s", got)
	}
}

// A lock whose adapter cannot be built is an error. It is left out with the reason, unless it has a scorecard: that stays.
func TestALockThatCannotBeBuilt(t *testing.T) {
	t.Chdir(t.TempDir())
	original := maps.Clone(builds)
	t.Cleanup(func() { builds = original })
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	builds[itself] = struct{ Command, Manifest string }{Command: "true"}
	builds["broken"] = struct{ Command, Manifest string }{Command: "echo no network >&2; false"}
	good := madeUp()[0]
	before, never := Lock{Name: "before", Language: "broken", Of: good.Of}, Lock{Name: "never", Language: "broken", Of: good.Of}
	if err := good.save(before); err != nil {
		t.Fatal(err)
	}
	err := saveAll(t.Context(), []Lock{before, never}, nil)
	if err == nil || !strings.Contains(err.Error(), "before: ") || !strings.Contains(err.Error(), "never: ") {
		t.Errorf("the error is %v", err)
	}
	if r, err := saved(before); err != nil || r.Scorecard == nil || r.Left != "" {
		t.Errorf("the scorecard of before is %+v, %v", r, err)
	}
	if r, err := saved(never); err != nil || r.Scorecard != nil || !strings.Contains(r.Left, "no network") {
		t.Errorf("a lock that was never tried is %+v, %v", r, err)
	}
	err = writePages(Table{Locks: []Lock{before}, Rungs: []Lock{never}})
	if err == nil || !strings.Contains(err.Error(), "never has no scorecard") {
		t.Errorf("pages without a rung: %v", err)
	}
}

// Only an exit status with a scorecard is no error: a program that was interrupted has none.
func TestJudged(t *testing.T) {
	for command, good := range map[string]bool{"exit 0": true, "exit 1": true, "exit 2": true, "exit 64": false, "kill -TERM $$": false} {
		if err := judged(exec.CommandContext(t.Context(), "sh", "-c", command).Run()); (err == nil) != good {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// The page of the exercise has each step, its hint, and what each lock on the way violates.
func TestTheRungsOfTheWorkshop(t *testing.T) {
	text := rungsOf(madeUp()[:2])
	for _, step := range scorecard.Exercise {
		if !strings.Contains(text, step.Name) || !strings.Contains(text, step.Defect) || !strings.Contains(text, step.Task) {
			t.Errorf("no step %q in %s", step.Name, text)
		}
	}
	if !strings.Contains(text, "| 8 | T03 |") || !strings.Contains(text, "| none | T11,") {
		t.Errorf("the locks are %s", text)
	}
}

// The tables of docs/libraries.md and the rungs of docs/exercise.md are those of the saved scorecards.
func TestThePagesAreCurrent(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	lists := lists(t)
	all, err := results(lists.Locks)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := tablesOf(all)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := results(lists.Rungs)
	if err != nil {
		t.Fatal(err)
	}
	for page, blocks := range map[string]map[string]string{page: tables, exercisePage: {"rungs": rungsOf(steps)}} {
		if stale, err := marked.Stale(page, blocks); err != nil || len(stale) > 0 {
			t.Errorf("%s: %v are not those of the scorecards (%v); run `go run ./tools/libraries page`", page, stale, err)
		}
	}
}
