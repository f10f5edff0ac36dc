package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var L10 = experiments.Experiment{
	ID:       "L10-set-without-nx",
	Title:    "SET without NX",
	Articles: experiments.Articles{"A0", "A3"},
	Claim: `
		SET without NX grants the lock to every client, an extension by SET overwrites the next holder's lock, and an ignored refusal
		excludes nobody.`,
	Says: `
		A0 gives one script to take the lock: SET, and if that succeeded EXPIRE. Its script to extend the lock begins in the same way.
		A3's acquire calls the lock and returns true; it does not use an answer of that call.`,
	Elsewhere: `
		Redisson's RLock has lock(lease, unit) and tryLock(wait, lease, unit). It has no lock with a wait and a lease
		(https://redisson.pro/docs/data-and-services/locks-and-synchronizers/).`,
	Errata: []experiments.Erratum{
		{
			Article: "A0",
			What: `
				A0's lock script has no NX: it always succeeds. A0's extend script begins with SET too: a late extension overwrites the
				next holder's lock.`,
			Where: "section 5, phenomena 1 and 3: `redis.call('set',KEYS[1],ARGV[1])`",
		},
		{
			Article: "A3",
			What: `
				A3's acquire returns true whatever its call lock(2, 3, SECOND) did. Redisson has no such call, and it can be read in two
				ways. As tryLock with a wait of 2 s and a lease of 3 s, its answer is dropped. Then a refused client works without the
				lock. As lock with a lease of 3 s, it blocks until the lock is granted, and true is right.`,
			Where: "DistributedRedisLock.acquire: `//加锁成功`",
		},
	},
	Lesson: experiments.Lesson{
		Question: `
			A client takes a lock by a script of two commands, SET and EXPIRE. While it works, a second client runs the same script on
			the same key. What does the second client learn?`,
		Predict: `
			(a) It is refused, because the key exists. (b) It gets an error, because the value is not its own. (c) It is granted the
			lock as well.`,
		Why: `
			(c). A SET without NX always succeeds and replaces the value. So the script grants the lock to every client, and all of them work
			simultaneously. The script that extends has the same defect. When A's lease has ended and B holds the lock, A's extension
			writes A's value into B's lock. A's release then compares, finds its own value, and deletes the key. So C is granted the
			lock while B works. An acquire whose answer is dropped has the effect of no lock: the refused client works as well.`,
		Fix: `
			Take the lock by one SET with NX and PX, and read its reply. Extend it by a script that compares the value first and sets
			the expiry only where it is the client's own. In each script the test comes before the write.`,
		Limits: `
			NX and the comparison exclude other clients until the lease ends, and no longer. Work that takes longer is not protected,
			and a paused holder is not either. The run does not execute A3's Java code. Read as lock with a lease of 3 s, its acquire
			blocks and excludes others for that time.`,
		Next: "L03 (a release that does not compare), L05 (work longer than the lease), L07 (A3's explicit lease). `app lab explore L10` " +
			"shows the shortest interleavings with a violation. In `app lab step L10` you choose which client moves next.",
		Level: experiments.Medium,
	},
	Drawing: `
A  SET, EXPIRE → 1   read 0                      write 1
B                             SET, EXPIRE → 1    read 0   write 1

A  SET NX → OK  read 0 …                SET (extend) → 1   write 1   compare, DEL → 1
B               lease over  SET NX → OK    (A's value is in its lock)                   read 1   write 2
C                                                                     SET NX → OK       read 1   write 2`,
	How: `
		A holds the lock and has read, then B requests it. For the extension A's lease ends, B takes the lock, and A extends, writes and
		releases. Where the extension compares the value first, A changes nothing of B's, and C is refused. The run has what A0's
		scripts do, with milliseconds; as printed, the script to extend does not parse. A3's acquire is read as tryLock, whose answer is
		dropped.`,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    history.Counter,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Compare, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: steps.V3, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: naive.SETWithoutNX, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: naive.IgnoredReply, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
		{Lock: naive.Extend, Bounds: steps.Bounds{Clients: "ABC", Expiry: 1}, Violation: steps.Overwritten},
		{Lock: naive.ExtendBySET, Bounds: steps.Bounds{Clients: "AB", Expiry: 1}, Violation: steps.Overwritten, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "SET NX", Strategy: "SET NX PX", Anomaly: excluded, Run: clients.Interleaving(naive.Compare, bothRequest)},
		{Name: "SET NX, DEL", Strategy: "SET NX PX, DEL", Anomaly: excluded, Run: clients.Interleaving(naive.PlainDEL, bothRequest)},
		{Name: "SETNX", Strategy: "naive SETNX", Anomaly: excluded, Run: clients.Interleaving(naive.SETNX, bothRequest)},
		{Name: "A0's lock script", Expect: experiments.Sometimes, Run: clients.Interleaving(naive.SETWithoutNX, bothRequest)},
		{Name: "A3's acquire, read as tryLock", Expect: experiments.Sometimes, Run: clients.Interleaving(naive.IgnoredReply, bothRequest)},
		{Name: "extended by comparison", Run: clients.Interleaving(naive.Extend, lateExtension)},
		{Name: "A0's extend script", Expect: experiments.Sometimes, Run: clients.Interleaving(naive.ExtendBySET, lateExtension)},
	},
}

const (
	// excluded is the column of locks on one Redis where nothing fails: A and B share nothing but Redis.
	excluded = "lost update over instances"

	// bothRequest lets B request the lock and read while A has read and not yet written.
	bothRequest = "A A B B A A A B B B"
	// lateExtension lets A extend, write and release after B has taken the lock, and C request it before B reads.
	lateExtension = "A A … B A A A C B C B B C C B C"
)
