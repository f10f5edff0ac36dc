package claims

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/experiments"
	"locklab/experiments/worker"
	"locklab/history"
	"locklab/internal/testenv"
)

// taken is the line of acquire.lua that excludes other owners.
const taken = "if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then"

// Each mutant takes one thing out. It must change the verdict of every experiment beside it, for the reason beside it. A
// mechanism that no verdict depends on has not been shown, and a server that does not start changes verdicts, too. The control runs,
// one more variant, without which a control shows nothing, and those that the reason names.
func TestMutants(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	for _, m := range []struct {
		without string
		mutant  experiments.Mutant
		cut     func(*experiments.Experiment)
		flips   map[string]string // to what, and why: a part of it
	}{
		{"NX", commands(t, withoutNX, script(t, "lockstrategy/acquire.lua", taken, "if false then")), nil, map[string]string{
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
			"the renewal", commands(t, script(t, "lockstrategy/renew.lua", "redis.call('pexpire', KEYS[1], ARGV[1])", "1")), nil,
			map[string]string{
				"L05": "unexpected: long work, renewed: B and A both wrote 1",
				"L17": "unexpected: the same times, renewed: v3: B and A both wrote 1",
			},
		},
		{"the look for the owner", commands(t, withoutOwner), nil, map[string]string{
			"L19": "unexpected: owner checked first: A was told that it released the lock, and did not hold it",
		}},
		{"the write of GETSET", commands(t, getOnly), nil, map[string]string{
			"L20": `inconclusive: the control "one client sees it ended" has a violation, too`,
		}},
		{"the quorum", experiments.Mutant{Hook: everybodyGrants{}}, nil, map[string]string{
			"F05": "unexpected: three down: refused: A was granted the lock with 3 of 5 nodes down",
			"F07": `inconclusive: the control "no jump" has a violation, too`,
		}},
		{"the check of the fencing token", experiments.Mutant{Unchecked: true}, nil, map[string]string{
			"L11": "unexpected: paused, token checked: B and A both wrote 1",
			"L15": "unexpected: forced, A does not look, the token is checked: B and A both wrote 1",
			"L22": "unexpected: lost, checked at the read, too: A and B both wrote 1",
			"F11": "unexpected: cut off, A does not look, the token is checked: B and A both wrote 1",
		}},
		{
			"the quorum",
			experiments.Mutant{Hook: everybodyGrants{}},
			nil,
			map[string]string{"F12": "unexpected: RedLock, cut: B and A both wrote 1"},
		},
		{
			"the check of the fencing token",
			experiments.Mutant{Unchecked: true},
			nil,
			map[string]string{"F12": "unexpected: etcd, A is paused, the token is checked: B and A both wrote 1"},
		},
		{"the registration at the read", experiments.Mutant{Unregistered: true}, nil, map[string]string{
			"L22": "unexpected: lost, checked at the read, too: A and B both wrote 1",
		}},
		{"NX in the shop", commands(t, script(t, "lockstrategy/acquire.lua", taken, "if false then")), nil, map[string]string{
			"S2": "unexpected: v3 and check: ",
			"S4": "unexpected: v3: clients were told that the order is paid, and that it is cancelled",
		}},
		{
			"NX in the sale", commands(t, script(t, "lockstrategy/acquire.lua", taken, "if false then")), nil,
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
		{"the proof of the fault", experiments.Mutant{Event: func(e *history.Event) { e.Proof = "" }}, nil, map[string]string{
			"F01": "inconclusive: killed after replication: trial 1: nothing proves that its fault happened: master killed",
			"F05": "inconclusive: one down: trial 1: nothing proves that its fault happened: redlock-",
			"L11": "inconclusive: paused: trial 1: nothing proves that its fault happened: A paused",
			"L13": `inconclusive: the control "noeviction" showed nothing, so nothing else does: trial 1: nothing proves`,
			"S3":  "inconclusive: no guard, killed before the acknowledgement: trial 1: nothing proves that its fault happened: A killed",
		}},
		{"the delete of a key", experiments.Mutant{Hook: typed{change: withoutDelete}}, nil, map[string]string{
			"C1": "unexpected: inserted, the empty answer is cleared: client got version 0",
			"C4": "unexpected: delayed double delete: reader 1 got version 1",
			"C5": `inconclusive: the control "nothing fails, no log" has a violation, too`,
			"C6": `inconclusive: the control "the writer deletes the key" has a violation, too`,
		}},
		{"the empty answer", experiments.Mutant{Hook: typed{change: withoutEmpty}}, nil, map[string]string{
			"C1": "unexpected: absent, the empty answer is kept: 60 loads reached the database",
		}},
		{"the spread of the TTLs", experiments.Mutant{Hook: typed{change: oneTTL}}, nil, map[string]string{
			"C2": "unexpected: spread TTLs: 50 loads reached the database",
		}},
		{"the lock around a load", commands(t, script(t, "lockstrategy/acquire.lua", taken, "if false then")), nil, map[string]string{
			"C3": "unexpected: lock: 2 loads reached the database",
		}},
		{"the count", commands(t, script(t, "ratelimit/fixed.lua", "redis.call('incr', KEYS[1])", "0")), nil, map[string]string{
			"R1": "unexpected: twelve nodes, one counter in Redis: 432 calls",
			"R2": `inconclusive: the control "one script, twelve together" has a violation, too`,
			"R3": `inconclusive: the control "one script" has a violation, too`,
			"R6": `inconclusive: the control "Redis answers" has a violation, too`,
			"R7": `inconclusive: the control "one counter, even load" has a violation, too`,
			"R9": `inconclusive: the control "one script, no lock" has a violation, too`,
		}},
		{"the log of calls", commands(t, script(t, "ratelimit/sliding.lua", "redis.call('zadd', KEYS[1], at, at)", "")), nil, map[string]string{
			"R4":  "unexpected: sliding window, a log: ",
			"R10": `inconclusive: the control "r4: sliding window, a log" has a violation, too`,
		}},
		{"the counter's expiry", commands(t, script(t, "ratelimit/fixed.lua", ", 'px', window)", ")")), nil, map[string]string{
			"R5": `inconclusive: the control "one script" has a violation, too`,
		}},
		{"the comparison with 1", commands(t, withoutOne), nil, map[string]string{
			"R8": "unexpected: the reply of SETNX is compared with 1: A and B both won",
		}},
		{"the control", experiments.Mutant{}, func(e *experiments.Experiment) { e.Variants = e.Variants[1:] }, map[string]string{
			"L03": "inconclusive: it has no control", "L05": "inconclusive: it has no control",
		}},
	} {
		t.Run(m.without, func(t *testing.T) {
			t.Parallel()
			for id, why := range m.flips {
				e, err := Find(id)
				if err != nil {
					t.Fatal(err)
				}
				e.Variants = append(slices.Clone(e.Variants[:2]), slices.DeleteFunc(slices.Clone(e.Variants[2:]), func(v experiments.Variant) bool {
					return !strings.Contains(why, v.Name)
				})...)
				if m.cut != nil {
					m.cut(&e)
				}
				var got string
				for attempt := range 3 { // what two clients do simultaneously may not happen the first time
					j := e.Judge(experiments.Run(t.Context(), e, experiments.Options{Trials: 1, Real: true, Mutant: m.mutant}))
					if got = fmt.Sprintf("%s: %s", j.Verdict, j.Why); strings.HasPrefix(got, why) {
						break
					}
					t.Logf("%s, attempt %d: %s", e.ID, attempt+1, got)
				}
				if !strings.HasPrefix(got, why) {
					t.Errorf("%s without %s is %s; want %s", e.ID, m.without, got, why)
				}
			}
		})
	}
}

// statements is a mutant that replaces texts in what the shop sends to its database: old, new, old, new.
func statements(replace ...string) experiments.Mutant {
	r := strings.NewReplacer(replace...)
	return experiments.Mutant{Database: func(db *gorm.DB) {
		pool := rewrittenPool{rewritten{db.ConnPool, r}}
		db.ConnPool, db.Statement.ConnPool = pool, pool
	}}
}

// rewritten replaces texts in statements.
type rewritten struct {
	gorm.ConnPool
	*strings.Replacer
}

func (r rewritten) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return r.ConnPool.ExecContext(ctx, r.Replace(query), args...)
}

func (r rewritten) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.ConnPool.QueryContext(ctx, r.Replace(query), args...)
}

// rewrittenPool is rewritten for connections. gorm takes what can commit for a transaction.
type rewrittenPool struct{ rewritten }

func (r rewrittenPool) GetDBConn() (*sql.DB, error) { return r.ConnPool.(*sql.DB), nil }

func (r rewrittenPool) BeginTx(ctx context.Context, options *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := r.ConnPool.(gorm.TxBeginner).BeginTx(ctx, options)
	return &rewrittenTx{rewritten{tx, r.Replacer}}, err
}

type rewrittenTx struct{ rewritten }

func (r *rewrittenTx) Commit() error   { return r.ConnPool.(gorm.TxCommitter).Commit() }
func (r *rewrittenTx) Rollback() error { return r.ConnPool.(gorm.TxCommitter).Rollback() }

// everybodyGrants lets a node's vote count whatever it is.
type everybodyGrants struct{ worker.EachCommand }

func (everybodyGrants) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if vote, ok := cmd.(*redis.BoolCmd); ok {
			vote.SetVal(true)
			vote.SetErr(nil)
			return nil
		}
		return err
	}
}

// rewrite changes the arguments of a command, or returns nil.
type rewrite func(args []any) []any

// commands is a mutant that changes what clients say to their servers.
func commands(t *testing.T, rewrites ...rewrite) experiments.Mutant {
	t.Helper()
	return experiments.Mutant{Hook: tamper{rewrites: rewrites}}
}

// tamper is a hook that sends something else.
type tamper struct {
	worker.EachCommand
	rewrites []rewrite
}

func (h tamper) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		said, ok := cmd.(*redis.Cmd)
		if !ok {
			return next(ctx, cmd)
		}
		args := slices.Clone(said.Args())
		for _, r := range h.rewrites {
			if changed := r(args); changed != nil {
				args = changed
			}
		}
		instead := redis.NewCmd(ctx, args...)
		err := next(ctx, instead)
		said.SetVal(instead.Val())
		said.SetErr(err)
		return err
	}
}

// typed is a hook that changes the arguments of a command of a cache in place, or drops it: then its function returns false.
type typed struct {
	worker.EachCommand
	change func(name string, args []any) bool
}

func (h typed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !h.change(cmd.Name(), cmd.Args()) {
			return nil
		}
		return next(ctx, cmd)
	}
}

func withoutDelete(name string, _ []any) bool { return name != "del" }

func withoutEmpty(name string, args []any) bool { return name != "set" || args[2] != any("") }

func oneTTL(name string, args []any) bool {
	if name == "set" && len(args) == 5 {
		args[3], args[4] = "px", time.Minute.Milliseconds()
	}
	return true
}

func withoutNX(args []any) []any {
	if !is(args, "SET") {
		return nil
	}
	return slices.DeleteFunc(args, func(a any) bool { return a == "NX" })
}

// withoutOwner lets the release of a hash begin without a look for its owner.
func withoutOwner(args []any) []any {
	const look = "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then"
	if !is(args, "EVAL") || !strings.Contains(args[1].(string), look) {
		return nil
	}
	return append([]any{"EVAL", strings.Replace(args[1].(string), look, "if false then", 1)}, args[2:]...)
}

func getOnly(args []any) []any {
	if !is(args, "GETSET") {
		return nil
	}
	return []any{"GET", args[1]}
}

func withoutExpiry(args []any) []any {
	at := slices.Index(args, any("PX"))
	if !is(args, "SET") || at < 0 {
		return nil
	}
	return slices.Delete(args, at, at+2)
}

func withoutComparison(args []any) []any {
	if !is(args, "EVAL") || !strings.Contains(args[1].(string), "== ARGV[1]") {
		return nil
	}
	return []any{"DEL", args[3]}
}

// withoutOne takes the reply of SETNX as a condition.
func withoutOne(args []any) []any {
	if text, _ := args[1].(string); is(args, "EVAL") && strings.Contains(text, "'setnx'") {
		args[1] = strings.Replace(text, " == 1", "", 1)
		return args
	}
	return nil
}

func is(args []any, command string) bool {
	name, _ := args[0].(string)
	return strings.EqualFold(name, command)
}

// script sends a script with something else in it.
func script(t *testing.T, file, right, wrong string) rewrite {
	t.Helper()
	text, err := os.ReadFile("../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	if strings.Count(source, right) != 1 {
		t.Fatalf("%s has not got %q once: follow its change here", file, right)
	}
	hash := redis.NewScript(source).Hash()
	return func(args []any) []any {
		if !is(args, "EVALSHA") && !is(args, "EVAL") || args[1] != any(hash) && args[1] != any(source) {
			return nil
		}
		return append([]any{"EVAL", strings.Replace(source, right, wrong, 1)}, args[2:]...)
	}
}
