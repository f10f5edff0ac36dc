package scorecard_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/clients/protocol"
	"locklab/lab/scorecard"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// asProgram makes the test binary a program that is tried: its value says what is wrong with its lock.
const asProgram = "LOCKLAB_TRY_MUTANT"

func TestMain(m *testing.M) {
	servers.Reexec() // before it looks at the variable: a server inherits it
	if mutant, is := os.LookupEnv(asProgram); is {
		strategy, ours := strings.CutPrefix(mutant, "ours ")
		switch hostile, quorum := hostiles[mutant], quorums[mutant]; {
		case hostile != nil:
			hostile()
		case quorum != nil:
			serveQuorum(mutant, quorum)
		case ours:
			_ = clients.Lock{Strategy: strategy}.Serve(os.Stdin, os.Stdout, mutant)
		default:
			serveMutant(mutant)
		}
		return
	}
	testenv.MainParallel(m, 12) // they wait, mostly
}

// mutants are what can be wrong with a lock, and a row that must notice it.
var mutants = []struct{ defect, row string }{
	{"until", "T02"}, // it promises three leases
	{"early", "T10"}, // it claims a grant while another client holds the key
	{"cries", "T06"}, // it tells of a loss that is none
	{"renews by SET", "T22"},
	{"shared", "T01"}, // every second grant is given while another client holds the key
	{"no expiry", "T02"},
	{"no owner", "T03"},
	{"no renewal", "T04"},
	{"hasty", "T04"}, // nor renews it, and it refuses without a wait
	{"token of 1", "T05"},
	{"tells never", "T06"},
	{"no expiry", "T07"},
	{"repeats", "T08"},      // a release without a reply is repeated without the owner
	{"tied", "T09"},         // it drops the lock when its connection ends
	{"deaf", "T10"},         // it waits for a message, also on a connection that has ended
	{"counter", "T11"},      // its token is a counter of the server
	{"sticky", "T12"},       // a wait that ends leaves a key
	{"patient", "T13"},      // it waits for ever
	{"selfish", "T14"},      // only the copy A is granted the lock while others compete
	{"asleep", "T14"},       // a waiter misses a message, and sleeps until its wait is over
	{"queue", "T12"},        // a waiter that has died stays the first of the queue
	{"renewal dies", "T09"}, // with the connection
	{"no owner", "T08"},
	{"unrenewed patient", "T13"},
	{"extends nothing", "T19"},
	{"extends all", "T19"}, // also a lock that is lost
	{"polls", "T20"},       // it claims messages
	{"needs all", "T16"},   // of five servers
	{"needs one", "T17"},
	{"quorum", "T17"},               // no lock over five servers is safe from a server that forgets
	{"patient with servers", "T18"}, // it waits for each answer
	{"exits", "T09"},                // when a renewal fails, its process ends
	{"one owner", "T01"},            // a caller is granted what another one of its process holds
	{"deaf", "T02"},                 // a dead holder sends no message
	{"wrong unit", "T02"},           // its renewal is in milliseconds where the server counts seconds
	{"whole seconds", "T02"},
	{"release by key", "T03"}, // the owner of the last grant, whoever releases
	{"two steps", "T03"},      // GET, then DEL
	{"says released", "T03"},  // also of a lock that was lost
	{"ten renewals", "T04"},   // at a time
	{"one loss ends all renewals", "T04"},
	{"waiters first", "T04"},     // a renewal waits until nobody waits for a lock
	{"renews on", "T08"},         // after a release that has failed
	{"renewal dies late", "T09"}, // with its first error
	{"fails open", "T10"},        // an error is a grant
	{"crowd", "T15"},             // more than fifty waiters are granted the lock
	{"one pool", "T15"},          // more than ten waiters keep a release waiting
	{"misses messages", "T20"},   // that come before it listens
	{"lower case", "T21"},
	{"short keys", "T21"},
	{"one key", "T21"},
	{"renews any owner", "T22"},
	{"patient client", "T23"},     // it takes a grant however late its reply is
	{"patient client", "T09"},     // its renewal waits for a reply for ever
	{"tells late", "T06"},         // of a lock that it has released
	{"frees siblings", "T12"},     // when a wait ends
	{"half an extension", "T19"},  // is half a lease
	{"releases by prefix", "T21"}, // also other keys that begin like it
	{"cleans up", "T24"},          // what other processes hold, when it starts
	{"endless try", "T13"},        // for a key that is held
	{"hands over", "T03"},         // what it has lost, to a waiter of its process
	{"stale waiter", "T20"},       // whose wait has ended, and which takes the message of another one
	{"blocks", "T05"},             // each process has a thousand tokens of its own
	{"resurrects", "T19"},         // a lock that another process has held in the meantime
	{"ticket", "T01"},             // the token is taken before the lock
	{"fence, then SETNX", "T07"},  // the second packet locks the key, and the third one sets its expiry
	{"fence, patient", "T23"},     // it takes a grant however late the second reply is
	{"long extension", "T19"},     // its holder may rely on it for a minute, it says
}

// busy is the pace of this machine now.
var busy = sync.OnceValues(func() (lab.Pace, error) { return lab.MeasurePace(context.Background()) })

func pace(t *testing.T) lab.Pace {
	t.Helper()
	p, err := busy()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tried tries the test binary with a defect.
func tried(t *testing.T, mutant string, pace lab.Pace, rows ...string) *scorecard.Scorecard {
	t.Helper()
	return triedProgram(t, mutantProgram(mutant), pace, rows...)
}

func mutantProgram(mutant string) []string {
	return []string{"/usr/bin/env", asProgram + "=" + mutant, os.Args[0]}
}

func triedProgram(t *testing.T, argv []string, pace lab.Pace, rows ...string) *scorecard.Scorecard {
	t.Helper()
	p, err := scorecard.Ask(t.Context(), argv)
	if err != nil {
		t.Fatal(err)
	}
	if missing := p.CannotRun(lab.Here()); missing != nil {
		testenv.Skip(t, missing.Error())
	}
	chosen, err := scorecard.Chosen(rows)
	if err != nil {
		t.Fatal(err)
	}
	return scorecard.Run(t.Context(), p, chosen, 8, lab.Options{Pace: pace, Real: servers.RealRedis()})
}

func states(card *scorecard.Scorecard) (all []string) {
	for _, row := range card.Rows {
		number := lab.Number(row.ID)
		all = append(all, fmt.Sprintf("%s %s: %s", number, row.State, row.Why))
	}
	return all
}

// triedTwice tries rows that a busy machine has left inconclusive once more, one at a time.
func triedTwice(t *testing.T, mutant string, rows ...string) *scorecard.Scorecard {
	t.Helper()
	card := tried(t, mutant, pace(t), rows...)
	for i, row := range card.Rows {
		if row.State == scorecard.Inconclusive {
			card.Rows[i] = tried(t, mutant, pace(t), row.ID).Rows[0]
		}
	}
	return card
}

// A lock without a defect keeps every promise that it claims. The rows that run alone in a run do not wait for each other here.
func TestASoundLockHolds(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	groups := map[string][]string{}
	for _, r := range scorecard.Rows() {
		group := "the others"
		if r.Alone {
			group = r.ID
		}
		groups[group] = append(groups[group], r.ID)
	}
	for name, rows := range groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, row := range triedTwice(t, "none", rows...).Rows {
				want := scorecard.Holds
				switch lab.Number(row.ID) {
				case "T16", "T17", "T18", "T20", "T25", "T26", "T27": // they need five servers, messages, sentinels, or another language
					want = scorecard.NotClaimed
				}
				if row.State != want {
					t.Errorf("%s is %s, want %s: %s", row.ID, row.State, want, row.Why)
				}
			}
		})
	}
}

// Locks without a defect hold where those with one are violated: one that is not renewed is judged by what it does before its lease ends,
// also when an answer comes later, or a wait is too long. An extension that is answered late is no defect, nor is a loss that
// crosses a release. A hashed key is found when ready has the hash, and the lab's own locks keep their promises over servers of each kind.
func TestOtherSoundLocksHold(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	for program, rows := range map[string][]string{
		"unrenewed none": {"T02", "T03", "T05", "T06", "T09", "T10", "T12", "T13", "T15", "T19"}, "unrenewed hasty": {"T02", "T03", "T05"},
		"unrenewed slow": {"T19"}, "unrenewed late": {"T01", "T15"}, "unrenewed waits on": {"T13"},
		"crosses": {"T06", "T09"}, "hashes": {"T07", "T08"},
		"quorum":                 {"T16", "T18"},
		"ours " + protocol.Redis: {"T03", "T04", "T06", "T15", "T20"}, "ours " + protocol.RedLock: {"T18"}, "ours " + protocol.Database: {"T03"},
		"ours " + protocol.ZooKeeper: {"T03"}, "ours " + protocol.Etcd: {"T03", "T20"}, "ours " + protocol.Memcached: {"T03"},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			for _, row := range triedTwice(t, program, rows...).Rows {
				if row.State != scorecard.Holds {
					t.Errorf("%s is %s: %s", row.ID, row.State, row.Why)
				}
			}
		})
	}
}

// Rows that were tried again replace those of before, and the verdict is that of all rows.
func TestNewerRowsCount(t *testing.T) {
	t.Parallel()
	card := func(took float64, rows ...scorecard.Score) *scorecard.Scorecard {
		return &scorecard.Scorecard{Rows: rows, Took: took}
	}
	inconclusive := scorecard.Score{ID: "T02-b", State: scorecard.Inconclusive}
	all := card(10, scorecard.Score{ID: "T01-a", State: scorecard.Holds}, inconclusive,
		scorecard.Score{ID: "T03-c", State: scorecard.NotClaimed})
	all.Verdict = lab.Inconclusive
	all.Take(card(2, scorecard.Score{ID: "T02-b", State: scorecard.Holds, Title: "newer"}))
	if all.Verdict != lab.AsExpected || all.Rows[1].Title != "newer" || len(all.Rows) != 3 || all.Took != 12 {
		t.Errorf("%+v", all)
	}
	all.Take(card(2, scorecard.Score{ID: "T01-a", State: scorecard.Violated}))
	if all.Verdict != lab.Unexpected {
		t.Errorf("%+v", all)
	}
}

// Each defect is noticed by its row. `make test` has the first one of each row.
func TestEachDefectIsNoticedByItsRow(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	rows := make(map[string]bool)
	for _, m := range mutants {
		if rows[m.row] && !testenv.Whole.Runs() {
			continue
		}
		rows[m.row] = true
		t.Run(m.row+" "+m.defect, func(t *testing.T) {
			t.Parallel()
			card := triedTwice(t, m.defect, m.row)
			if card.Rows[0].State != scorecard.Violated {
				t.Errorf("the defect is not noticed: %v", states(card))
			}
		})
	}
}

// hostiles are programs that do not keep to the protocol.
var hostiles = map[string]func(){
	"garbage": func() { fmt.Println("INFO connected") },
	"consul": func() {
		fmt.Printf(`{"type":"hello","protocol":1,"name":"x","store":"consul","pid":%d}`+"\n", os.Getpid())
		stay()
	},
	"silent":   func() { hello(); ready(); stay() },
	"no ready": func() { hello(); stay() },
	"refuses": func() {
		hello()
		ready()
		for answer(map[string]string{"acquire": `{"type":"refused","id":"%s","reason":"maintenance until Monday"}`}) {
		}
	},
	"third answer": func() { // it ends after that, whatever the lab does
		fmt.Printf(`{"type":"hello","protocol":1,"name":"hostile","store":"redis","fixed_lease_ms":1000,"pid":%d}`+"\n", os.Getpid())
		ready()
		for range 3 {
			answer(map[string]string{"acquire": `{"type":"granted","id":"%s"}`, "release": `{"type":"released","id":"%s"}`})
		}
	},
	"twice": func() {
		hello()
		ready()
		for answer(map[string]string{"acquire": `{"type":"granted","id":"%s"}`, "release": `{"type":"granted","id":"%s"}`}) {
		}
	},
	"an error": func() { // in place of the second grant to the copy C
		hello()
		ready()
		for answer(map[string]string{
			"acquire": `{"type":"granted","id":"%s"}`, "release": `{"type":"released","id":"%s"}`,
			"acquire a3": `{"type":"refused","id":"%s"}`, "acquire a4": `{"type":"refused","id":"%s"}`,
			"acquire b2": `{"type":"refused","id":"%s"}`, "acquire c2": `{"type":"error","id":"%s","text":"out of memory"}`,
		}) {
		}
	},
	"crash": func() { hello(); fmt.Fprintln(os.Stderr, "first\nno such server"); os.Exit(3) },
	"noise": func() { // on stderr
		hello()
		fmt.Fprint(os.Stderr, strings.Repeat("a line of a debugger\n", 100_000), "the end\n")
		os.Exit(1)
	},
	"flood": func() {
		hello()
		ready()
		fmt.Print(strings.Repeat(`{"type":"released","id":"x"}`+"\n", 10_000))
		stay()
	},
	"endless line":   func() { hello(); ready(); fmt.Print(strings.Repeat("x", 1<<20)); stay() },
	"another answer": func() { hello(); ready(); fmt.Println(`{"type":"granted","id":"other"}`); stay() },
	"unknown loss":   func() { hello(); ready(); fmt.Println(`{"type":"lost","id":"a1"}`); stay() },
	"two losses": func() {
		hello()
		ready()
		_, _ = requests.ReadString(10) // the acquire
		fmt.Println(`{"type":"granted","id":"a1"}` + strings.Repeat("\n"+`{"type":"lost","id":"a1","reason":"gone"}`, 2))
		stay()
	},
	"a child": func() { // it has the program's stdout, and outlives it
		hello()
		ready()
		child := exec.Command("sleep", "60")
		child.Stdout = os.Stdout
		_ = child.Start()
	},
}

func hello() {
	fmt.Printf(`{"type":"hello","protocol":1,"name":"hostile","store":"redis","pid":%d}`+"\n", os.Getpid())
}

var requests = bufio.NewReader(os.Stdin)

func ready() { // after the start
	_, _ = requests.ReadString(10)
	fmt.Println(`{"type":"ready"}`)
}

// answer reads a request, and answers it as its type says, or its type and its id.
func answer(lines map[string]string) bool {
	var r protocol.Request
	text, err := requests.ReadBytes('\n')
	if err != nil || json.Unmarshal(text, &r) != nil || r.ID == "" {
		return false
	}
	fmt.Printf(cmp.Or(lines[string(r.Type)+" "+r.ID], lines[string(r.Type)])+"\n", r.ID)
	return true
}

func stay() { time.Sleep(time.Hour) }

// A program that grants nothing costs one row, and the scorecard says why.
func TestAProgramThatGrantsNothingStopsTheRun(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	for name, says := range map[string]string{
		"silent": "does it flush its stdout after each line", "no ready": `"ready"`, "refuses": "maintenance until Monday",
		"crash": "has ended with exit status 3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := tried(t, name, 1)
			if !strings.Contains(card.Stopped, says) || card.Count(scorecard.NotTried) < 10 || card.Verdict != lab.Inconclusive {
				t.Errorf("stopped because %q: %v", card.Stopped, states(card))
			}
			if name == "crash" && !slices.Contains(card.Stderr, "no such server") {
				t.Errorf("its stderr is %q", card.Stderr)
			}
		})
	}
}

// Rows that are done when the run is interrupted are on the scorecard.
func TestAnInterruptedRunKeepsItsRows(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	p, err := scorecard.Ask(t.Context(), []string{"/usr/bin/env", asProgram + "=none", os.Args[0]})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := scorecard.Chosen([]string{"T03", "T04"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	o := lab.Options{Pace: pace(t), Real: servers.RealRedis(), Tell: func(e lab.Event) {
		if _, done := e.(lab.Finished); done {
			interrupt()
		}
	}}
	card := scorecard.Run(ctx, p, rows, 1, o)
	if card.Count(scorecard.Holds) != 1 || card.Count(scorecard.NotTried) != 1 || card.Stopped == "" {
		t.Errorf("stopped because %q: %v", card.Stopped, states(card))
	}
}

// A program that breaks the protocol gets a sentence, and the lab does not hang.
func TestHostilePrograms(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	for name, c := range map[string]struct{ row, says string }{
		"noise": {"T02", "has ended with exit status 1"}, "flood": {"T02", "no request with that id"},
		"endless line": {"T02", "a line of more than 65536 bytes"}, "another answer": {"T02", "no request with that id"},
		"unknown loss": {"T02", "never granted a lock with that id"}, "two losses": {"T02", "one loss twice"},
		"a child": {"T02", "the program has ended"}, "third answer": {"T02", "not because of a fault"},
		"an error": {"T12", "out of memory"}, "twice": {"T02", "is an earlier request answered twice?"},
		"hashes and does not say so": {"T08", "field key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card := tried(t, name, 1, c.row)
			if row := card.Rows[0]; row.State == scorecard.Holds || !strings.Contains(row.Why+card.Stopped, c.says) {
				t.Errorf("%v, stopped because %q, does not say %q", states(card), card.Stopped, c.says)
			}
		})
	}
}

// A program that does not start gets a sentence with its file, what is wrong and the remedy.
func TestProgramsThatDoNotStart(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string // of the file mylock
		mode os.FileMode
		name string
		says []string
	}{
		{"#!/usr/bin/python3\r\n", 0o755, "./mylock", []string{"carriage return", `sed -i 's/\r$//' ./mylock`}},
		{"#!/usr/bin/env sh\r\n", 0o755, "./mylock", []string{`"#!/usr/bin/env sh\r"`, "carriage return", "status 127", `stderr is "`}},
		{"#!/usr/bin/pythn\n", 0o755, "./mylock", []string{"./mylock", "the interpreter /usr/bin/pythn, which is not on this machine"}},
		{"#!/usr/bin/env pythn\n", 0o755, "./mylock", []string{"./mylock", "the interpreter pythn, which is not on this machine"}},
		{"\ufeff#!/bin/sh\n", 0o755, "./mylock", []string{"./mylock", "byte order mark"}},
		{"import redis\n", 0o755, "./mylock", []string{"./mylock names no interpreter", "app lab try -- python3 ./mylock"}},
		{"\x7fELF", 0o755, "./mylock", []string{"./mylock was built for another system", runtime.GOARCH}},
		{"#!/bin/sh\n", 0o644, "./mylock", []string{"not executable", "chmod +x ./mylock"}},
		{"#!/bin/sh\n", 0o755, "mylock", []string{"write ./mylock"}},
		{"#!/bin/sh\necho to stderr >&2; exit 3\n", 0o755, "./mylock", []string{"status 3 before it said hello", `stderr is "to stderr"`}},
		{"", 0o755, "./folder", []string{"./folder is a folder"}},
		{"", 0o755, "./lock", []string{"no file ./lock"}},
		{"", 0o755, "no-such-lock", []string{"no-such-lock is not in PATH"}},
	} {
		err := errors.Join(os.RemoveAll("mylock"), os.WriteFile("mylock", []byte(c.text), c.mode))
		if err != nil {
			t.Fatal(err)
		}
		_, err = scorecard.Ask(t.Context(), []string{c.name})
		if wrong := (scorecard.ProgramError{}); !errors.As(err, &wrong) || strings.Contains(err.Error(), "fork/exec") {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v does not say %q", c.text, err, says)
			}
		}
	}
}

// A program that keeps its hello in a buffer gets the hint that it does.
func TestAProgramThatDoesNotFlush(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	_, err := scorecard.Ask(t.Context(), []string{"sh", "-c", "echo connected >&2; read line"})
	if err == nil || !strings.Contains(err.Error(), "does it flush stdout after each line?") || !strings.Contains(err.Error(), `"connected"`) {
		t.Error(err)
	}
}

// Before the first trial the lab says what is wrong with the program.
func TestProgramsThatCannotBeTried(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		argv       []string
	}{
		{"garbage", `printed "INFO connected"`, []string{"/usr/bin/env", asProgram + "=garbage", os.Args[0]}},
		{"an unknown store", `store is "consul"; it must be one of redis, `, []string{"/usr/bin/env", asProgram + "=consul", os.Args[0]}},
		{"a wrapper", "name the program itself", []string{"sh", "-c", asProgram + "=none " + os.Args[0] + "; true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.argv[0]); err != nil {
				testenv.Skip(t, err.Error())
			}
			if _, err := scorecard.Ask(t.Context(), c.argv); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
}
