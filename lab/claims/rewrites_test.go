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

	"locklab/lab"
	"locklab/lab/clients"
)

// statements is a mutant that replaces texts in what the shop sends to its database: old, new, old, new.
func statements(replace ...string) lab.Mutant {
	r := strings.NewReplacer(replace...)
	return lab.Mutant{Database: func(db *gorm.DB) {
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
var everybodyGrants clients.EachCommand = func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
	err := send(ctx, cmd)
	if vote, ok := cmd.(*redis.BoolCmd); ok {
		vote.SetVal(true)
		vote.SetErr(nil)
		return nil
	}
	return err
}

// rewrite changes the arguments of a command, or returns nil.
type rewrite func(args []any) []any

// commands is a mutant that changes what clients say to their servers.
func commands(t *testing.T, rewrites ...rewrite) lab.Mutant {
	t.Helper()
	return lab.Mutant{Hook: tamper(rewrites)}
}

// tamper is a hook that sends something else.
func tamper(rewrites []rewrite) clients.EachCommand {
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		said, ok := cmd.(*redis.Cmd)
		if !ok {
			return send(ctx, cmd)
		}
		args := slices.Clone(said.Args())
		for _, r := range rewrites {
			if changed := r(args); changed != nil {
				args = changed
			}
		}
		instead := redis.NewCmd(ctx, args...)
		err := send(ctx, instead)
		said.SetVal(instead.Val())
		said.SetErr(err)
		return err
	}
}

// unsaid says nothing of a command that begins with words.
func unsaid(words ...any) rewrite {
	return func(args []any) []any {
		if len(args) < len(words) || !slices.Equal(args[:len(words)], words) {
			return nil
		}
		return []any{"PING"}
	}
}

// typed is a hook that changes the arguments of a command of a cache in place, or drops it: then change returns false.
func typed(change func(name string, args []any) bool) clients.EachCommand {
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		if !change(cmd.Name(), cmd.Args()) {
			return nil
		}
		return send(ctx, cmd)
	}
}

func withoutDelete(name string, _ []any) bool { return name != "del" }

// withoutSet drops the set of an item.
func withoutSet(text string, version int) func(string, []any) bool {
	item := fmt.Sprintf(`"text":%q,"version":%d}`, text, version)
	return func(name string, args []any) bool {
		if name != "set" {
			return true
		}
		value, _ := args[2].([]byte)
		return !strings.HasSuffix(string(value), item)
	}
}

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

// expireAfterRefusal lets every client send PEXPIRE after SETNX.
var expireAfterRefusal clients.EachCommand = func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
	err := send(ctx, cmd)
	if cmd.Name() == "setnx" && err == nil {
		err = send(ctx, redis.NewCmd(ctx, "PEXPIRE", cmd.Args()[1], time.Minute.Milliseconds()))
	}
	return err
}

// expiryNX sets an expiry only where the key has none.
func expiryNX(args []any) []any {
	if !is(args, "PEXPIRE") {
		return nil
	}
	return append(args, "NX")
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
