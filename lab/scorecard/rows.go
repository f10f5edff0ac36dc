package scorecard

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"locklab/lab"
	"locklab/lab/clients/protocol"
)

// Row is one thing that is tried.
type Row struct {
	ID       string
	Title    string
	Promise  string         // that holds or is violated
	Matters  string         // why a user should care
	Claim    Claim          // without it the row is not claimed; zero: every lock must keep the promise
	Alone    bool           // it measures, or it needs the whole machine
	Measures bool           // it judges nothing
	Shows    []lab.Quantity // its measurements in the scorecard; the page has all of them
	tries    []attempt
}

// Claim is what a program must say of its lock before a row is tried.
type Claim struct {
	Name string // in the hello
	Made func(protocol.Claims) bool
}

var (
	renews    = Claim{"renews", func(c protocol.Claims) bool { return c.Renews }}
	tokens    = Claim{"tokens", func(c protocol.Claims) bool { return c.Tokens }}
	tellsLoss = Claim{"tells_loss", func(c protocol.Claims) bool { return c.Tells }}
	quorum    = Claim{"store redlock", func(c protocol.Claims) bool { return c.Store == protocol.RedLock }}
	extends   = Claim{"extends", func(c protocol.Claims) bool { return c.Extends }}
	messages  = Claim{"waits_by_message", func(c protocol.Claims) bool { return c.Messages }}
	forgotten = Claim{"tokens over redis or redlock", func(c protocol.Claims) bool {
		return c.Tokens && (c.Store == protocol.Redis || c.Store == protocol.RedLock)
	}}
)

// claimed reports whether a program makes the claim.
func (c Claim) claimed(by protocol.Claims) bool { return c.Made == nil || c.Made(by) }

// attempt is a variant of a row: the first one of each is the control. The lab proves the fault.
type attempt struct {
	name   string
	run    func(context.Context, *bench)
	fault  bool
	breaks bool   // the violation is wanted: it shows that the fault does harm where nothing protects
	except string // a store where it is not tried
}

// unless leaves an attempt out on a store where nobody promises anything.
func (a attempt) unless(store string) attempt { a.except = store; return a }

func control(name string, run func(context.Context, *bench)) attempt {
	return attempt{name: name, run: run}
}

func fault(name string, run func(context.Context, *bench)) attempt {
	return attempt{name: name, run: run, fault: true}
}

// Rows are what is tried, in the order of the scorecard.
func Rows() []Row { return slices.Clone(rows) }

var rows = []Row{
	{
		ID: "T01-exclusion", Title: "exclusion", Alone: true,
		Promise: "Four processes add one to a counter under the lock, up to 2000 times in 20 s, and no update is lost.",
		Matters: "This is the purpose of a lock.",
		tries: []attempt{
			control("one process", exclusion(1, allSections/8, true)),
			{name: "four processes", run: exclusion(copies, allSections, true)},
			{name: "four processes, no lock", run: exclusion(copies, allSections/8, false), breaks: true},
		},
	},
	{
		ID: "T02-dead-holder", Title: "a dead holder's key becomes free",
		Promise: "When the holder is killed, another process is granted the key: within two leases and two seconds, and not before until_ms.",
		Matters: "Without an expiry a crash locks the key until somebody deletes it by hand.",
		Shows:   []lab.Quantity{untilFree},
		tries:   []attempt{control("the holder releases", deadHolder(false)), fault("the holder is killed", deadHolder(true))},
	},
	{
		ID: "T03-late-release", Title: "a late release frees nobody else's lock",
		Promise: "A holder that has lost its lock releases it late, and the next holder keeps its own.",
		Matters: "A release that does not compare the owner deletes the next holder's lock. Then a third client acquires it.",
		tries: []attempt{
			control("the release is in time", lateRelease(false)), fault("the key is lost before the release", lateRelease(true)),
		},
	},
	{
		ID: "T04-long-work", Title: "work longer than the lease", Claim: renews,
		Promise: "A holder that works for three leases keeps its lock.",
		Matters: "When the lease ends during the work, a second client acquires the lock.",
		tries:   []attempt{control("short work", longWork(false)), {name: "work of three leases", run: longWork(true)}},
	},
	{
		ID: "T05-pause", Title: "a pause past the lease", Claim: tokens,
		Promise: "A holder that was stopped for longer than its lease cannot write after its successor: its token is too old.",
		Matters: "No lock can prevent this alone. A long pause of the process, or of its machine, is enough.",
		tries: []attempt{
			control("no pause", staleWrite(noFault, true)),
			{name: "paused, no token checked", run: staleWrite(paused, false), fault: true, breaks: true},
			fault("paused, token checked", staleWrite(paused, true)),
		},
	},
	{
		ID: "T06-told", Title: "the program reports a lost lock", Claim: tellsLoss,
		Promise: "The program reports a lost lock within two leases and two seconds after the next grant, and none while it holds the lock.",
		Matters: "Without the report, the old holder goes on while the next one works.",
		Shows:   []lab.Quantity{untilToldOf, afterNextGrant},
		tries: []attempt{
			control("nothing is lost", loss(noFault)), fault("the server loses the key", loss(keysGone)).unless(protocol.ZooKeeper),
			fault("the holder is cut off from the server", loss(cutOff)),
		},
	},
	{
		ID: "T07-lost-acquire", Title: "acquire with lost reply",
		Promise: "When the reply to an acquire is lost, the key becomes free within two leases and two seconds.",
		Matters: "The server has locked the key for a client that does not know of it.",
		Shows:   []lab.Quantity{untilFree},
		tries:   []attempt{control("no reply is lost", lostAcquire(false)), fault("the reply is lost", lostAcquire(true))},
	},
	{
		ID: "T08-lost-release", Title: "release with lost reply",
		Promise: "When the reply to a release is lost, the key becomes free, and a repeated release harms nobody.",
		Matters: "A client that repeats the release may delete the next holder's lock.",
		Shows:   []lab.Quantity{untilFree},
		tries:   []attempt{control("no reply is lost", lostRelease(false)), fault("the reply is lost", lostRelease(true))},
	},
	{
		ID: "T09-cut-holder", Title: "connection closed while holding",
		Promise: "A holder keeps its lock when its connections are closed, and it can connect again after a tenth of the lease.",
		Matters: "Connections fail in every deployment. A lock that is tied to a connection is lost with it.",
		tries:   []attempt{control("the connection stays", cutHolder(false)), fault("the connection is closed", cutHolder(true))},
	},
	{
		ID: "T10-cut-waiter", Title: "connection closed while waiting",
		Promise: "A waiter whose connection ends is granted the key or times out, and does not block the key afterwards.",
		Matters: "A waiter that waits for a message on a closed connection waits for ever.",
		tries:   []attempt{control("the connection stays", cutWaiter(false)), fault("the connection is closed", cutWaiter(true))},
	},
	{
		ID: "T11-restart", Title: "servers restarted empty", Claim: forgotten,
		Promise: "When the servers restart without data, the next token is larger than those before.",
		Matters: "A counter that restarts issues old tokens again, and the resource accepts a stale write.",
		tries: []attempt{
			control("no restart", staleWrite(noFault, true)),
			{name: "restarted, no token checked", run: staleWrite(restarted, false), fault: true, breaks: true},
			fault("restarted, token checked", staleWrite(restarted, true)),
		},
	},
	{
		ID: "T12-ended-wait", Title: "a wait that ended leaves nothing",
		Promise: "A client whose wait has timed out keeps nobody out. One that died waiting does not for longer than two leases and " +
			"two seconds, although it wanted to wait three times as long.",
		Matters: "An entry in a queue, or a late grant, locks a key that nobody wants.",
		tries: []attempt{
			control("nobody waits", endedWait(noWait)),
			{name: "a wait ends", run: endedWait(timedOut)},
			fault("a waiter is killed", endedWait(waiterKilled)),
		},
	},
	{
		ID: "T13-opposite-order", Title: "two locks in opposite order time out",
		Promise: "Two processes that request each other's key are refused when their wait is over.",
		Matters: "Without a bound on the wait this is a deadlock.",
		tries:   []attempt{control("one lock each", opposite(false)), {name: "each wants the other's", run: opposite(true)}},
	},
	{
		ID: "T14-fairness", Title: "nobody starves", Alone: true,
		Promise: "Each of four processes is granted the lock while all compete for three seconds, and none waits on when the key is free.",
		Matters: "A process that is never granted the lock does not work. Neither does a waiter that misses the message of a release.",
		Shows:   []lab.Quantity{jain, longestWait},
		tries:   []attempt{control("one process", fairness(1)), {name: "four processes", run: fairness(copies)}},
	},
	{
		ID: "T15-cost", Title: "cost of a section", Alone: true, Measures: true,
		Promise: "The lab counts commands and packets per section, and compares a burst with a queue in one process. It judges nothing. " +
			"Commands inside a script count. A packet is what the proxy reads at a time.",
		Matters: "Polling costs the server commands, and waiting by messages costs fewer.",
		Shows:   []lab.Quantity{sectionsDone, commandsEach, packetsEach, sectionTook, handOver},
		tries: []attempt{
			control("one process", cost(1, 1, costSections)),
			{name: "four processes", run: cost(copies, copies, costSections)},
			{name: "burst of 666 requests", run: cost(copies, burst, burst)},
			{name: "burst of 666 requests, a local queue", run: cost(0, burst, burst)},
		},
	},
	{
		ID: "T16-two-down", Title: "two of five servers are down", Claim: quorum,
		Promise: "A lock over five servers is granted while two of them are down.",
		Matters: "This is what five servers are for.",
		tries:   []attempt{control("all run", twoDown(nil)), fault("two are killed", twoDown(killed))},
	},
	{
		ID: "T17-one-empty", Title: "one of five servers restarts empty", Claim: quorum,
		Promise: "A lock that three of five servers granted excludes others when one of the three restarts empty.",
		Matters: "A second majority can form. RedLock does not prevent that: restart a server only after the longest lease.",
		tries:   []attempt{control("no restart", oneEmpty(false)), fault("one of the three restarts empty", oneEmpty(true))},
	},
	{
		ID: "T18-two-hang", Title: "two of five servers hang", Claim: quorum,
		Promise: "A lock over five servers is granted while two of them accept requests and do not answer.",
		Matters: "A server that hangs costs more than one that is gone: a client without a timeout waits for it.",
		Shows:   []lab.Quantity{untilFree},
		tries:   []attempt{control("all run", twoDown(nil)), fault("two hang", twoDown(hanging))},
	},
	{
		ID: "T19-extension", Title: "a lease is extended", Claim: extends,
		Promise: "A holder that extends its lease in time keeps its lock for three leases, and a lock that is lost is not extended.",
		Matters: "An extension that does not compare the owner extends the next holder's lock.",
		tries: []attempt{
			control("short work", extendedWork(false)),
			{name: "work of three leases", run: extendedWork(true)},
			fault("the key is lost before the extension", lateExtension),
		},
	},
	{
		ID: "T20-quiet-wait", Title: "waiting by message", Claim: messages, Alone: true,
		Promise: "A waiter sends no more than ten packets in half a lease to a server. Five times it gets the key within 50 ms of its release.",
		Matters: "Polling costs the servers more with each waiter, or it makes each hand-over long.",
		Shows:   []lab.Quantity{slowestGrant, packetsWaiting},
		tries:   []attempt{control("nobody waits", quietWait(false)), {name: "a copy waits", run: quietWait(true)}},
	},
}

// Experiments try p on those rows that it claims.
func (p Program) Experiments(rows []Row) (all []lab.Experiment) {
	for _, r := range rows {
		if r.Claim.claimed(p.Claims) {
			all = append(all, r.of(p))
		}
	}
	return all
}

// of makes the experiment that tries a row on a program.
func (r Row) of(p Program) lab.Experiment {
	e := lab.Experiment{
		ID: r.ID, Claim: r.Promise, Check: check, Lesson: lab.Lesson{Title: r.Title, Why: r.Matters},
		Schedule: lab.Schedule{Trials: 1, Takes: 10 * time.Second, Alone: r.Alone, Needs: p.needs()},
	}
	crashed := new(atomic.Bool)
	for _, a := range r.tries {
		if a.except == p.Claims.Store {
			continue
		}
		v := lab.Variant{Name: a.name, Fault: a.fault, Run: p.scenario(crashed, a.run)}
		if a.breaks {
			v.Expect = lab.Sometimes
		}
		e.Variants = append(e.Variants, v)
	}
	return e
}
