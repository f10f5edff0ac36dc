package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/testenv"
)

// taken is the line of acquire.lua that excludes other owners.
const taken = "if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then"

// Each mutant takes one thing out. It must change the verdict of every experiment beside it, for the reason beside it. A
// mechanism that no verdict depends on has not been shown, and a server that does not start changes verdicts, too. The control runs,
// one more variant, without which a control shows nothing, and those that the reason names.
func TestMutants(t *testing.T) {
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for _, m := range []struct {
		without string
		mutant  lab.Mutant
		cut     func(*lab.Experiment)
		flips   map[string]string // to what, and why: a part of it
	}{
		{"NX", commands(t, withoutNX, script(t, "lockstrategy/redislock/acquire.lua", taken, "if false then")), nil, map[string]string{
			"L03": `inconclusive: the control "script" has a violation, too`,
			"L05": "unexpected: long work, renewed: B and A both wrote 1",
			"L18": `inconclusive: the control "unlock only after success" has a violation, too`,
			"L21": "unexpected: separators, one booking: B and A both wrote 1",
		}},
		{
			"the comparison of values", commands(t, withoutComparison), nil,
			map[string]string{"L03": `inconclusive: the control "script" has a violation, too`},
		},
		{"the expiry", commands(t, withoutExpiry), nil, map[string]string{"L03": "inconclusive: DEL: no violation happened this time"}},
		{
			"the renewal", commands(t, script(t, "lockstrategy/redislock/renew.lua", "redis.call('pexpire', KEYS[1], ARGV[1])", "1")), nil,
			map[string]string{
				"L05": "unexpected: long work, renewed: B and A both wrote 1",
				"L17": "unexpected: the same times, renewed: v3: B and A both wrote 1",
			},
		},
		{"the look for the owner", commands(t, withoutOwner), nil, map[string]string{
			"L19": "unexpected: owner checked first: A was told that it released the lock, and did not hold it",
		}},
		{"the answer before EXPIRE", commands(t, script(t, "lockstrategy/redislock/acquire.lua", "return {0, redis.call('pttl', KEYS[1])}",
			"redis.call('pexpire', KEYS[1], ARGV[1]) return {0, 1}")), nil, map[string]string{
			"L25": "unexpected: v3's scripts: B was refused 6 times after the lease of the dead A had ended",
		}},
		{"the winner's right to EXPIRE", lab.Mutant{Hook: expireAfterRefusal}, nil, map[string]string{
			"L25": `inconclusive: the control "EXPIRE by the winner only" has a violation, too`,
		}},
		{"the second expiry of a key", commands(t, expiryNX), nil, map[string]string{
			"L25": "inconclusive: as printed, B keeps asking: no violation happened this time",
		}},
		{"the write of GETSET", commands(t, getOnly), nil, map[string]string{
			"L20": `inconclusive: the control "one client sees it ended" has a violation, too`,
		}},
		{"the quorum", lab.Mutant{Hook: everybodyGrants}, nil, map[string]string{
			"F05": "unexpected: three down: refused: A was granted the lock with 3 of 5 nodes down",
			"F07": `inconclusive: the control "no jump" has a violation, too`,
		}},
		{
			"the sequence",
			lab.Mutant{},
			instead("in sequence, 50 ms for each node, two hang", "two hang, answers take 20 ms"),
			map[string]string{"F05": "inconclusive: in sequence, 50 ms for each node, two hang: no violation happened this time"},
		},
		{
			"a timeout that slow nodes keep",
			lab.Mutant{},
			instead("two hang, answers take 20 ms", "in sequence, 5 ms for each node, two hang, answers take 20 ms"),
			map[string]string{"F05": "unexpected: two hang, answers take 20 ms: A was refused with 2 of 5 nodes down"},
		},
		{
			"the quorum",
			lab.Mutant{Hook: everybodyGrants},
			nil,
			map[string]string{"F12": "unexpected: RedLock, cut: B and A both wrote 1"},
		},
		{"the pause of writes", commands(t, unsaid("CLIENT", "PAUSE")), nil, map[string]string{
			"F13": "unexpected: orders, writes paused, then SENTINEL FAILOVER, token not checked: driver 9 at B and ",
		}},
		{"the refusal of writes", commands(t, unsaid("CONFIG", "SET")), nil, map[string]string{
			"F13": "unexpected: orders, writes refused, then SENTINEL FAILOVER, token not checked: driver 9 at B and ",
		}},
		{"the memory that others fill", lab.Mutant{}, instead("memory full", "memory for all"), map[string]string{
			"M01": "inconclusive: memory full: trial 1: its fault did not happen",
		}},
		{"the seconds beside the lease", lab.Mutant{}, instead("1 s as v8 counts it", "1 s taken for a lease of 1 s"), map[string]string{
			"M02": `inconclusive: the control "1 s as v8 counts it" has a violation, too`,
		}},
		{"cas", lab.Mutant{}, instead("late owner: add, cas", "late owner: add, delete"), map[string]string{
			"M03": `inconclusive: the control "late owner: add, cas" has a violation, too`,
		}},
		{"NX in the shop", commands(t, script(t, "lockstrategy/redislock/acquire.lua", taken, "if false then")), nil, map[string]string{
			"S2": "unexpected: v3 and check: ",
			"S4": "unexpected: v3: clients were told that the order is paid, and that it is cancelled",
		}},
		{
			"NX in the sale", commands(t, script(t, "lockstrategy/redislock/acquire.lua", taken, "if false then")), nil,
			map[string]string{"S1": "unexpected: v3: "},
		},
		{
			"the condition of the UPDATE", statements("stock >= ?", "? IS NOT NULL", "AND state = 'placed'", ""),
			nil,
			map[string]string{
				"S1": "unexpected: conditional UPDATE: ",
				"S4": "unexpected: conditional UPDATE: clients were told that the order is paid, and that it is cancelled",
			},
		},
		{"FOR UPDATE", statements(" FOR UPDATE", ""), nil, map[string]string{
			"S1": "unexpected: SELECT … FOR UPDATE: ",
		}},
		{"the unique keys", statements("CREATE UNIQUE INDEX", "CREATE INDEX"), nil, map[string]string{
			"S2": "unexpected: unique key: ",
		}},
		{
			"the known key", statements("INSERT INTO `shop_attempts`", "INSERT OR REPLACE INTO `shop_attempts`"), nil,
			map[string]string{"S2": "unexpected: idempotency key: "},
		},
		{"the unique mark", statements("INSERT INTO `shop_handleds`", "INSERT OR REPLACE INTO `shop_handleds`"), nil, map[string]string{
			"S3": "unexpected: one transaction, killed before the acknowledgement: the message was worked on twice",
		}},
		{"the delete of a key", lab.Mutant{Hook: typed(withoutDelete)}, nil, map[string]string{
			"C1": "unexpected: inserted, the empty answer is cleared: client got version 0",
			"C4": "unexpected: delayed double delete: reader 1 got version 1",
			"C5": `inconclusive: the control "nothing fails, no log" has a violation, too`,
			"C6": `inconclusive: the control "the writer deletes the key" has a violation, too`,
		}},
		{"the set that comes last", lab.Mutant{Hook: typed(withoutSet("by A", 2))}, nil, map[string]string{
			"C4": "inconclusive: update, set, by two writers: no violation happened this time",
		}},
		{"the set before the update", lab.Mutant{Hook: typed(withoutSet("by B", 0))}, nil, map[string]string{
			"C4": "inconclusive: set, update, by two writers: no violation happened this time",
		}},
		{"the empty answer", lab.Mutant{Hook: typed(withoutEmpty)}, nil, map[string]string{
			"C1": "unexpected: absent, the empty answer is kept: 60 loads reached the database",
		}},
		{"the spread of the TTLs", lab.Mutant{Hook: typed(oneTTL)}, nil, map[string]string{
			"C2": "unexpected: spread TTLs: 50 loads reached the database",
		}},
		{"the lock around a load", commands(t, script(t, "lockstrategy/redislock/acquire.lua", taken, "if false then")), nil, map[string]string{
			"C3": "unexpected: lock: 2 loads reached the database",
		}},
		{"the count", commands(t, script(t, "systems/ratelimit/fixed.lua", "redis.call('incr', KEYS[1])", "0")), nil, map[string]string{
			"R1": "unexpected: twelve nodes, one counter in Redis: 432 calls",
			"R2": `inconclusive: the control "one script, twelve together" has a violation, too`,
			"R3": `inconclusive: the control "one script" has a violation, too`,
			"R6": `inconclusive: the control "Redis answers" has a violation, too`,
			"R7": `inconclusive: the control "one counter, even load" has a violation, too`,
			"R9": `inconclusive: the control "one script, no lock" has a violation, too`,
		}},
		{
			"the log of calls", commands(t, script(t, "systems/ratelimit/sliding.lua", "redis.call('zadd', KEYS[1], at, at)", "")),
			nil,
			map[string]string{
				"R4":  "unexpected: sliding window, a log: ",
				"R10": `inconclusive: the control "r4: sliding window, a log" has a violation, too`,
			},
		},
		{"the counter's expiry", commands(t, script(t, "systems/ratelimit/fixed.lua", ", 'px', window)", ")")), nil, map[string]string{
			"R5": `inconclusive: the control "one script" has a violation, too`,
		}},
		{"the comparison with 1", commands(t, withoutOne), nil, map[string]string{
			"R8": "unexpected: the reply of SETNX is compared with 1: A and B both won",
		}},
		{"the control", lab.Mutant{}, func(e *lab.Experiment) { e.Variants = e.Variants[1:] }, map[string]string{
			"L03": "inconclusive: it has no control", "L05": "inconclusive: it has no control",
		}},
	} {
		t.Run(m.without, func(t *testing.T) {
			t.Parallel()
			if m.without != "NX" {
				testenv.Check(t, testenv.Whole)
			}
			for id, why := range m.flips {
				flips(t, id, why, m.cut, lab.Options{Trials: 1, Real: true, Once: true, Mutant: m.mutant})
			}
		})
	}
}

// A fault without a proof shows nothing, whatever the trials found.
func TestAFaultWithoutAProofShowsNothing(t *testing.T) {
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for id, why := range map[string]string{
		"F01": "killed after replication: trial 1: nothing proves that its fault happened: master killed",
		"F05": "one down: trial 1: nothing proves that its fault happened: redlock-",
		"L11": "paused: trial 1: nothing proves that its fault happened: A paused",
		"L13": `the control "noeviction" showed nothing, so nothing else does: trial 1: nothing proves`,
		"S3":  "no guard, killed before the acknowledgement: trial 1: nothing proves that its fault happened: A killed",
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			e := two(t, id, why)
			r := lab.Run(t.Context(), e, lab.Options{Trials: 1, Real: true, Once: true}).Record
			for i := range r.Events {
				r.Events[i].Proof = ""
			}
			if j := e.Judge(r); j.Verdict != lab.Inconclusive || !strings.HasPrefix(j.Why, why) {
				t.Errorf("%s: %s; want %s", j.Verdict, j.Why, why)
			}
		})
	}
}

// instead lets a variant run as another one of its experiment does.
func instead(variant, other string) func(*lab.Experiment) {
	return func(e *lab.Experiment) {
		whole, err := All().Find(e.ID)
		if err != nil {
			panic(err)
		}
		named := func(name string) func(lab.Variant) bool {
			return func(v lab.Variant) bool { return v.Name == name }
		}
		by := whole.Variants[slices.IndexFunc(whole.Variants, named(other))].Run
		if i := slices.IndexFunc(e.Variants, named(variant)); i >= 0 {
			e.Variants[i].Run = by
		}
	}
}

// The same for an experiment on instances: the app is built with something taken out, or a variant does what another one does.
func TestMutantsOfInstances(t *testing.T) {
	testenv.Check(t, testenv.Whole)
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for _, m := range []struct {
		without, file, right, wrong string
		cut                         func(*lab.Experiment)
		id, why                     string
	}{
		{
			"what is known of the holder", "handlers/errors.go",
			`response["locked"], response["instance"] = holderOf(err), `, `response["instance"] = `,
			nil, "G5", "unexpected: does not wait: driver ",
		},
		{
			"the end of a request that was refused", "lockstrategy/guard.go", "if err != nil {\n\t\treturn err\n\t}\n\tdefer",
			"if err != nil {\n\t\t_ = fn(ctx, 0)\n\t\treturn err\n\t}\n\tdefer", nil, "G5", "unexpected: does not wait: driver ",
		},
		{"FAILOVER at the master", "", "", "", instead("FAILOVER", "SENTINEL FAILOVER"), "F13", "unexpected: FAILOVER: "},
		{"CLUSTER FAILOVER", "", "", "", instead("CLUSTER FAILOVER", "SENTINEL FAILOVER"), "F13", "unexpected: CLUSTER FAILOVER: "},
		{
			"an operator in time", "", "", "",
			instead("writes paused, then SENTINEL FAILOVER", "writes paused, SENTINEL FAILOVER too late"),
			"F13", "unexpected: writes paused, then SENTINEL FAILOVER: ",
		},
	} {
		t.Run(m.without, func(t *testing.T) {
			app := mutatedApp(t, m.file, m.right, m.wrong)
			flips(t, m.id, m.why, m.cut, lab.Options{Trials: 1, Real: true, App: app})
		})
	}
}

// mutatedApp builds the app with something else in one of its files, or as it is, and returns the command line of an instance.
func mutatedApp(t *testing.T, file, right, wrong string) []string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, path := t.TempDir(), filepath.Join(root, file)
	changed, overlay, app := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "app")
	files := make(map[string]string)
	if file != "" {
		text, err := os.ReadFile(path)
		if err != nil || strings.Count(string(text), right) != 1 {
			t.Fatalf("%s has not got %q once: follow its change here (%v)", file, right, err)
		}
		files[path], err = changed, os.WriteFile(changed, []byte(strings.Replace(string(text), right, wrong, 1)), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	replace, err := json.Marshal(map[string]any{"Replace": files})
	if err = errors.Join(err, os.WriteFile(overlay, replace, 0o600)); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay="+overlay, "-o="+app, "./cmd/app")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return []string{app, "serve"}
}

// tries is how often a mutant may run: what two clients do simultaneously may not happen the first time. On a busy machine the second
// client may come too late several times.
const tries = 6

// flips fails unless the verdict of an experiment begins with why. It runs the control, one more variant, and those that why names.
func flips(t *testing.T, id, why string, cut func(*lab.Experiment), o lab.Options) {
	t.Helper()
	e := two(t, id, why)
	if cut != nil {
		cut(&e)
	}
	var got string
	for attempt := range tries {
		j := lab.Run(t.Context(), e, o).Judgement
		if got = fmt.Sprintf("%s: %s", j.Verdict, j.Why); strings.HasPrefix(got, why) {
			t.Log(got)
			return
		}
		t.Logf("%s, attempt %d: %s", e.ID, attempt+1, got)
	}
	t.Errorf("%s is %s; want %s", e.ID, got, why)
}

// two is an experiment with its control, one more variant, and those that why names.
func two(t *testing.T, id, why string) lab.Experiment {
	t.Helper()
	e, err := All().Find(id)
	if err != nil {
		t.Fatal(err)
	}
	e.Variants = append(slices.Clone(e.Variants[:2]), slices.DeleteFunc(slices.Clone(e.Variants[2:]), func(v lab.Variant) bool {
		return !strings.Contains(why, v.Name)
	})...)
	return e
}
