package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var R8 = Experiments.Add(lab.Experiment{
	ID:       "R8-script-fails-midway",
	Articles: lab.Articles{"A0", "A4"},
	Claim:    "A script that fails midway keeps what it has written; and a script that takes 0 for false grants its lock to every client.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 6 * time.Second},
	Check:    clients.Any(clients.Noted(keptWrite), history.Winners),
	Variants: []lab.Variant{
		{Name: "a good expiry", Run: clients.OnRedis(countBy(countScript, "720"))},
		{Name: "a bad expiry", Expect: lab.Sometimes, Run: clients.OnRedis(countBy(countScript, "0.72"))},
		{Name: "a bad expiry, checked before the write", Run: clients.OnRedis(countBy(checkFirst+countScript, "0.72"))},
		{
			Name: "Spring Data Redis, numbers as text", Trials: 1, Needs: []lab.Need{lab.ArticlesJava},
			Run: clients.OnRedis(callBySpring("text")),
		},
		{
			Name: "Spring Data Redis, default serializers", Expect: lab.Sometimes, Trials: 1, Needs: []lab.Need{lab.ArticlesJava},
			Run: clients.OnRedis(callBySpring("default")),
		},
		{Name: "the reply of SETNX is compared with 1", Run: clients.OnRedis(lockBy(" == 1"))},
		{Name: "the reply of SETNX is the condition", Expect: lab.Sometimes, Run: clients.OnRedis(lockBy(""))},
	},
})

var keptWrite = history.Mark{Name: "the script has failed, and its write has stayed: a counter without an expiry"}

const (
	countScript = `local count = redis.call('incr', KEYS[1])
if count == 1 then redis.call('pexpire', KEYS[1], ARGV[1]) end
return count`

	checkFirst = `local n = tonumber(ARGV[1])
if not n or n < 1 or n % 1 > 0 then return redis.error_reply('ERR the expiry must be whole milliseconds, from 1') end
`

	lockScript = `if redis.call('setnx', KEYS[1], ARGV[1])%s then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end`
)

// countBy counts one call by a script, and asks what is in Redis.
func countBy(script, expiry string) func(context.Context, *clients.Redis) {
	return func(ctx context.Context, x *clients.Redis) {
		count, err := x.Conn.Eval(ctx, script, []string{"counter"}, expiry).Int()
		reply, refused := fmt.Sprint(count), redis.Error(nil)
		if errors.As(err, &refused) {
			reply, err = refused.Error(), nil
		}
		x.Must(err)
		x.Record(history.Event{Timeline: "node-1", Kind: history.Command, Text: "EVAL … " + expiry + " → " + reply})
		ttl, err := x.Conn.Do(ctx, "PTTL", "counter").Int()
		x.Must(err)
		x.Note("Redis", fmt.Sprintf("PTTL counter → %d", ttl))
		if refused != nil && ttl == -1 {
			x.Record(keptWrite.On(history.Event{Timeline: "Redis", Kind: history.Left, Key: "counter"}))
		}
	}
}

// lockBy lets two clients take one lock by the script, with a comparison of SETNX's reply.
func lockBy(comparison string) func(context.Context, *clients.Redis) {
	return func(ctx context.Context, x *clients.Redis) {
		for _, client := range []string{"A", "B"} {
			granted, err := x.Conn.Eval(ctx, fmt.Sprintf(lockScript, comparison), []string{"lock"}, client, 60_000).Int()
			x.Must(err)
			x.Record(history.Event{Timeline: client, Kind: history.Command, Text: fmt.Sprintf("if setnx%s → %d", comparison, granted)})
			if granted == 1 {
				x.Record(history.Event{Timeline: client, Kind: history.Win, Key: "the lock"})
			}
		}
	}
}
