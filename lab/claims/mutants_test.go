package claims

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/testenv"
)

// Each mutant takes one mechanism of a lock out of the commands that clients send. The verdict of the experiment beside it must change, for
// the reason beside it: a mechanism that no verdict depends on has not been shown. The control runs, one more variant, without which a
// control shows nothing, and those that the reason names.
func TestMutants(t *testing.T) {
	testenv.Slow(t)
	for _, m := range []struct {
		without string
		sends   redis.Hook
		id, why string // to what the verdict changes, and why: a part of it
	}{
		{
			"exclusion", script(t, "acquire.lua", "if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then",
				"if false then"),
			"L21", "unexpected: separators, one booking: B and A both wrote 1",
		},
		{
			"the renewal", script(t, "renew.lua", "redis.call('pexpire', KEYS[1], ARGV[1])", "1"),
			"L05", "unexpected: long work, renewed: B and A both wrote 1",
		},
		{
			"the end of a lease that is refused", script(t, "acquire.lua", "return {0, redis.call('pttl', KEYS[1])}",
				"redis.call('pexpire', KEYS[1], ARGV[1]) return {0, 1}"),
			"L25", "unexpected: v3's scripts: B was refused 6 times after the lease of the dead A had ended",
		},
		{
			"the look for the owner", eval("if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then", "if false then"),
			"L19", "unexpected: owner checked first: A was told that it released the lock, and did not hold it",
		},
		{
			"the comparison of values", eval("== ARGV[1]", "~= ''"),
			"L03", `inconclusive: the control "script" has a violation, too`,
		},
		{
			"the expiry", changed(withoutExpiry),
			"L03", "inconclusive: DEL: no violation happened this time",
		},
		{
			"NX", changed(withoutNX),
			"L18", `inconclusive: the control "unlock only after success" has a violation, too`,
		},
		{
			"the quorum", everybodyGrants,
			"F07", `inconclusive: the control "no jump" has a violation, too`,
		},
	} {
		t.Run(m.without, func(t *testing.T) {
			t.Parallel()
			e, err := All().Find(m.id)
			if err != nil {
				t.Fatal(err)
			}
			e.Variants = append(slices.Clone(e.Variants[:2]), slices.DeleteFunc(slices.Clone(e.Variants[2:]), func(v lab.Variant) bool {
				return !strings.Contains(m.why, v.Name)
			})...)
			wantChanged(t, e, m.sends, m.why)
		})
	}
}

// wantChanged fails unless the verdict begins with why. What two clients do simultaneously may not happen the first time on a busy machine.
func wantChanged(t *testing.T, e lab.Experiment, sends redis.Hook, why string) {
	t.Helper()
	const tries = 6
	for attempt := range tries {
		j := lab.Run(t.Context(), e, lab.Options{Trials: 1, Once: true, Mutant: sends}).Judgement
		got := fmt.Sprintf("%s: %s", j.Verdict, j.Why)
		if strings.HasPrefix(got, why) {
			return
		}
		t.Logf("%s, attempt %d: %s; want %s", e.ID, attempt+1, got, why)
	}
	t.Errorf("%s does not notice", e.ID)
}

// changed is a hook that sends other arguments. change may use the slice that it gets.
func changed(change func(args []any) []any) clients.EachCommand {
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
		said, ok := cmd.(*redis.Cmd)
		if !ok {
			return send(ctx, cmd)
		}
		instead := redis.NewCmd(ctx, change(slices.Clone(said.Args()))...)
		err := send(ctx, instead)
		said.SetVal(instead.Val())
		said.SetErr(err)
		return err
	}
}

func command(args []any) string { return strings.ToLower(fmt.Sprint(args[0])) }

// eval sends each script with something else in it.
func eval(right, wrong string) redis.Hook {
	return changed(func(args []any) []any {
		if command(args) == "eval" {
			args[1] = strings.ReplaceAll(args[1].(string), right, wrong)
		}
		return args
	})
}

// script sends a script of v3 with something else in it.
func script(t *testing.T, file, right, wrong string) redis.Hook {
	t.Helper()
	text, err := os.ReadFile("../../lockstrategy/redislock/script/" + file)
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	if strings.Count(source, right) != 1 {
		t.Fatalf("%s has not got %q once: follow its change here", file, right)
	}
	hash := redis.NewScript(source).Hash()
	return changed(func(args []any) []any {
		if command(args) == "evalsha" && args[1] == any(hash) || command(args) == "eval" && args[1] == any(source) {
			args[0], args[1] = "EVAL", strings.Replace(source, right, wrong, 1)
		}
		return args
	})
}

func withoutNX(args []any) []any {
	if command(args) != "set" {
		return args
	}
	return slices.DeleteFunc(args, func(a any) bool { return a == "NX" })
}

func withoutExpiry(args []any) []any {
	at := slices.Index(args, any("PX"))
	if command(args) != "set" || at < 0 {
		return args
	}
	return slices.Delete(args, at, at+2)
}

// everybodyGrants lets the vote of a node of RedLock count, whatever it is.
var everybodyGrants clients.EachCommand = func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
	err := send(ctx, cmd)
	if vote, ok := cmd.(*redis.BoolCmd); ok {
		vote.SetVal(true)
		vote.SetErr(nil)
		return nil
	}
	return err
}
