package main

import (
	"cmp"
	"os"
	"os/exec"
	"regexp"
	"slices"
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

func locks(t *testing.T) []Lock {
	t.Helper()
	all, err := readTable()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d locks: %v", len(all), err)
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
	all, seen := locks(t), make(map[string]bool)
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
	if l, err := named(all, "etcd,redsync"); err != nil || len(l) != 2 || l[0].Name != "etcd" || l[1].Name != "redsync" {
		t.Errorf("two names are %+v, %v", l, err)
	}
	if l, err := named(all, "redsync"); err != nil || len(l) != 1 || l[0].Command != "store/locks/redsync" {
		t.Errorf("redsync is %+v, %v", l, err)
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

// madeUp is a lock that was tried over the servers of a store. Its rows hold, unless they are among these.
func madeUp(name, store string, of *Library, states map[string]scorecard.State) result {
	card := &scorecard.Scorecard{Claims: protocol.Claims{Store: store}, Server: store + " 7", Ended: time.Unix(1795824000, 0).UTC()}
	for _, row := range scorecard.Rows() {
		score := scorecard.Score{ID: row.ID, State: cmp.Or(states[lab.Number(row.ID)], scorecard.Holds)}
		if score.State == scorecard.Violated {
			score.Why = "C and B\nboth | wrote 1"
		}
		card.Rows = append(card.Rows, score)
	}
	return result{Lock{Name: name, Of: of, Language: "Go"}, Record{Version: "1.0", Scorecard: card}}
}

// A cell says what the scorecard says. A violation has its counterexample, the ways over the same servers with which the row holds, and
// what is documented, unless this way does not have the limit. What locks, or rows of a lock, have in common is one line.
func TestTheTablesSayWhatTheScorecardsSay(t *testing.T) {
	bad := &Library{Title: "Bad", Limits: []Limit{{"T03 T12", "It does not compare.", "https://a.example/bad"}}}
	two := map[string]scorecard.State{"T03": scorecard.Violated, "T12": scorecard.Violated}
	all := []result{
		madeUp("good", protocol.Etcd, &Library{Title: "Good"}, map[string]scorecard.State{"T02": scorecard.NotClaimed}),
		madeUp("bad", protocol.Redis, bad, map[string]scorecard.State{"T03": scorecard.Violated, "T10": scorecard.Inconclusive}),
		madeUp("five", protocol.RedLock, bad, nil),
		madeUp("polls", protocol.Redis, bad, map[string]scorecard.State{"T20": scorecard.Violated}),
		madeUp("worse", protocol.Redis, bad, map[string]scorecard.State{"T03": scorecard.Violated}),
		madeUp("two", protocol.Etcd, bad, two),
	}
	all[3].Without = "T03"
	violations := violationTable(all)
	for _, c := range []struct{ table, line string }{
		{waysList(all), "- **Good 1.0** (Go): \n  - `good` (store `etcd`): "},
		{scoreTable(all), "| good | ✓ | – | ✓ |"},
		{scoreTable(all), "| bad | ✓ | ✓ | **✗** | ✓ | ✓ | ✓ | ? |"},
		{scoreTable(all), "| polls | ✓ | ✓ | ✓ |"},
		{violations, `| bad, worse | T03-late-release violated | C and B; both \| wrote 1 | polls (violates T20) | ` +
			"[It does not compare.](https://a.example/bad) |"},
		{violations, "| bad | T10-cut-waiter inconclusive |"},
		{violations, "| two | T03, T12 violated |"},
		{violations, `| polls | T20-quiet-wait violated | C and B; both \| wrote 1 | bad (violates T03), worse (violates T03) | - |`},
		{caption(all), "| 2026-11-28 | 2026-11-28 | etcd 7, redis 7, redlock 7 |"},
	} {
		if !strings.Contains(c.table, c.line) {
			t.Errorf("no %q in\n%s", c.line, c.table)
		}
	}
}

// A table has no column that its language did not try, and a row that another lock claims is "–", also where the scorecard is older.
func TestATablePerLanguage(t *testing.T) {
	foreign := &Library{Package: "p"}
	redis, sentinel := madeUp("redis", protocol.Redis, foreign, nil), madeUp("sentinel", protocol.Sentinel, foreign, nil)
	ours, java := madeUp("ours", protocol.Redis, &Library{}, nil), madeUp("java", protocol.Redis, foreign, nil)
	java.Language = "Java"
	redis.Rows = slices.DeleteFunc(redis.Rows, func(s scorecard.Score) bool { return lab.Number(s.ID) == "T25" })
	text := scoreTables([]result{ours, redis, java, sentinel})
	before, rest, _ := strings.Cut(text, "### Go")
	goTable, javaTable, _ := strings.Cut(rest, "### Java")
	for _, c := range []struct{ table, has, hasNot string }{
		{before, "| ours |", "T25"},
		{goTable, "| T25 | T27 |", "java"},
		{goTable, "| – | ✓ |\n", "| ours |"},
		{goTable, "| ✓ | ✓ |\n", "| ours |"},
		{javaTable, "| java |", "T25"},
	} {
		if !strings.Contains(c.table, c.has) || strings.Contains(c.table, c.hasNot) {
			t.Errorf("no %q, or %q, in\n%s", c.has, c.hasNot, c.table)
		}
	}
}

// The tables of docs/libraries.md and docs/mixed-stack.md are those of what was saved.
func TestThePageIsCurrent(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	tables, err := tablesOf(locks(t))
	if err != nil {
		t.Fatal(err)
	}
	if stale, err := marked.Stale(page, tables); err != nil || len(stale) > 0 {
		t.Errorf("%s: %v are not those of the scorecards (%v); run `go run ./tools/libraries page`", page, stale, err)
	}
	m, err := savedMixed()
	if err != nil {
		t.Fatal(err)
	}
	if stale, err := marked.Stale(mixedPage, m.tables()); err != nil || len(stale) > 0 {
		t.Errorf("%s: %v are not those of %s (%v); run `go run ./tools/libraries page`", mixedPage, stale, mixedTable, err)
	}
}
