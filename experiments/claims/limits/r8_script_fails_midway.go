package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
)

var R8 = experiments.Experiment{
	ID:       "R8-script-fails-midway",
	Title:    "A script that fails midway; 0 is true",
	Articles: experiments.Articles{"A0", "A4"},
	Claim:    "A script that fails midway keeps what it has written; and a script that takes 0 for false grants its lock to every client.",
	Says: `
		A0 uses scripts because they are atomic. Its lock script is "if redis.call('set', …) then return expire … else return 0", and
		it presents this as a replacement for SETNX and EXPIRE. A4 gives three reasons for scripts. They are atomic, and they save
		round trips. The server stores them, so that clients call them by an id.`,
	Elsewhere: `
		The call by an id is EVALSHA, and the id is the script's SHA1. The server forgets its scripts when it restarts, at a failover
		and by SCRIPT FLUSH. Then it answers NOSCRIPT, and the client must send the script again
		(https://redis.io/docs/latest/develop/reference/errors/common/noscript/). The locks here do so: go-redis sends EVALSHA first,
		and EVAL after NOSCRIPT.`,
	Errata: []experiments.Erratum{{
		Article: "A0", What: `
		A0 uses scripts for atomicity. A0 does not mention that a script which fails midway keeps its writes. In the script of the counter,
		INCR stays done when EXPIRE fails. Then the counter has no expiry until a later call repairs its TTL of -1.`,
		Where: "section 5, phenomenon 1: `lua 스 크 립 트 를 사용 하여 작업 의 원자 성 을 확보`; the script of the counter: " +
			"`local count = redis.call('incr',KEYS[1])`",
	}, {
		Article: "A0", What: `
		The lock script takes the reply of a command as a condition. In Lua 0 is true. So the script grants the lock to every client, even
		with SETNX in the place of its SET. The reply of SETNX must be compared with 1.`,
		Where: "section 5, phenomenon 1: `if redis.call('set',KEYS[1],ARGV[1]) then return`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A script increments a counter and then sets its expiry, and the expiry is no number: EXPIRE fails, and so does the script. What is in
			Redis? And what does a script grant whose condition is the reply of SETNX, which is 0?`,
		Predict: `
			(a) Nothing, because a script is a transaction. 0 is false. (b) The counter without an expiry, and 0 is false. (c) The counter without
			an expiry, and 0 is true.`,
		Why: `
			(c). Redis rolls nothing back: what a script has written before its error stays. Atomic means that nobody comes between, and not that
			all or nothing happens. In Lua only nil and false are false. SETNX answers 0 to the second client, the condition is true, and the
			script returns what EXPIRE returned: 1. So both clients hold the lock.`,
		Fix: `
			Check the arguments before the first write: tonumber, and an error if it is nil. Set the value and its expiry by one command where
			there is one. Compare the reply of a command with the number that you expect.`,
		Limits: `
			The bad argument stands for every error at this place, such as a key of another type. Redis also refuses a script that does not parse
			before it runs: A0's script to release, with else in the place of end, changes nothing. A script that is killed has written nothing,
			because Redis
			kills no script that has.`,
		Next:  "R5-incr-then-expire has the gap between two commands. L10-set-without-nx runs A0's lock script as it is printed.",
		Level: experiments.Medium,
	},
	Drawing: `
EVAL   incr → 1   expire "0.72" → error      the client sees an error; the server has the counter, without an expiry

A      setnx → 1   if 1 then expire → 1      granted
B      setnx → 0   if 0 then expire → 1      granted as well: 0 is true`,
	How: `
		The script of A0's counter runs with an expiry of 720 ms and with one of 0.72, which PEXPIRE refuses. The same is done with a check of
		the argument before the first write. Then A and B run the lock script with SETNX, whose condition is the reply or a comparison
		with 1.`,
	Schedule: experiments.Schedule{Takes: 3 * time.Second},
	Check:    clients.Any(clients.Noted(keptWrite), history.Winners),
	Variants: []experiments.Variant{
		{Name: "a good expiry", Run: clients.OnRedis(countBy(countScript, "720"))},
		{Name: "a bad expiry", Expect: experiments.Sometimes, Run: clients.OnRedis(countBy(countScript, "0.72"))},
		{Name: "a bad expiry, checked before the write", Run: clients.OnRedis(countBy(checkFirst+countScript, "0.72"))},
		{Name: "the reply of SETNX is compared with 1", Run: clients.OnRedis(lockBy(" == 1"))},
		{Name: "the reply of SETNX is the condition", Expect: experiments.Sometimes, Run: clients.OnRedis(lockBy(""))},
	},
}

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
