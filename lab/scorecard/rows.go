package scorecard

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/servers"
)

// Row is one thing that is tried.
type Row struct {
	ID          string
	Title       string
	Promise     string         // that holds or is violated
	Matters     string         // why a user should care
	Claim       Claim          // without it the row is not claimed; zero: every lock must keep the promise
	Alone       bool           // it measures, or it needs the whole machine
	Shows       []lab.Quantity // its measurements in the scorecard; the page has all of them
	shiftsClock bool           // it changes the clock of a process
	tries       []attempt
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
	replica   = Claim{"waits_for_replica", func(c protocol.Claims) bool { return c.Replica }}
	forgotten = Claim{"tokens over redis or redlock", func(c protocol.Claims) bool {
		return c.Tokens && (c.Store == protocol.Redis || c.Store == protocol.RedLock)
	}}
	anyLease  = Claim{"a lease that follows lease_ms", func(c protocol.Claims) bool { return c.LeaseMS == 0 }}
	longLease = Claim{"renews, or a lease that follows lease_ms", func(c protocol.Claims) bool { return c.Renews || c.LeaseMS == 0 }}
	subSecond = Claim{"a lease below a second", func(c protocol.Claims) bool {
		kind, _ := servers.KindNamed(c.Store)
		return c.LeaseMS == 0 && kind.ShortestLease == 0
	}}
	onRedis = Claim{"store redis or redlock", func(c protocol.Claims) bool {
		return c.Store == protocol.Redis || c.Store == protocol.RedLock
	}}
	elsewhere  = Claim{"another store", func(c protocol.Claims) bool { return !onRedis.Made(c) }}
	failover   = Claim{"store sentinel", func(c protocol.Claims) bool { return c.Store == protocol.Sentinel && longLease.Made(c) }}
	replicated = Claim{"waits_for_replica over sentinel", func(c protocol.Claims) bool {
		return c.Replica && failover.Made(c)
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
	wires  bool   // it needs a proxy between a copy and its servers
	claim  Claim  // without it the attempt is left out; zero: every lock of the row is tried
}

// unless leaves an attempt out on a store where nobody promises anything.
func (a attempt) unless(store string) attempt { a.except = store; return a }

// where leaves an attempt out where a claim is not made.
func (a attempt) where(c Claim) attempt { a.claim = c; return a }

// overProxies says that an attempt breaks or counts single connections. It is left out on a store whose clients bypass the lab's proxies.
func (a attempt) overProxies() attempt { a.wires = true; return a }

func control(name string, run func(context.Context, *bench)) attempt {
	return attempt{name: name, run: run}
}

func fault(name string, run func(context.Context, *bench)) attempt {
	return attempt{name: name, run: run, fault: true}
}

// variation is an attempt without a fault, or with one that finds nothing to break in some locks.
func variation(name string, run func(context.Context, *bench)) attempt {
	return attempt{name: name, run: run}
}

// Rows are what is tried, in the order of the scorecard.
func Rows() []Row { return slices.Clone(rows) }

var rows = []Row{
	{
		ID: "T01-exclusion", Title: "exclusion", Alone: true,
		Promise: "Callers add one to a counter under the lock, up to 2000 times in 20 s, and no update is lost: four processes, and four " +
			"callers of one process. Each token is larger than those before.",
		Matters: "This is the purpose of a lock.",
		tries: []attempt{
			control("one process", exclusion(1, 1, allSections/8, true)),
			variation("four processes", exclusion(copies, 1, allSections, true)),
			variation("four callers of one process", exclusion(1, copies, allSections/4, true)),
			{name: "four processes, no lock", run: exclusion(copies, 1, allSections/8, false), breaks: true},
		},
	},
	{
		ID: "T02-dead-holder", Title: "a dead holder's key becomes free",
		Promise: "When the holder is killed, another process is granted the key within two leases and two seconds. When it only pauses, nobody " +
			"is granted the key before its lease is over, of 1300 or 700 ms, and never before until_ms.",
		Matters: "Without an expiry a crash locks the key until somebody deletes it by hand. A lease that is too short has two holders.",
		Shows:   []lab.Quantity{untilFree},
		tries: []attempt{
			control("the holder releases", deadHolder(holderReleases)),
			fault("the holder is killed", deadHolder(holderDies)),
			fault("the holder is killed while another process waits", deadHolderAwaited),
			fault("the holder is killed after a renewal", deadHolder(holderDiesLate)).where(renews),
			fault("the holder pauses, lease of 1300 ms", oddLease(1300*time.Millisecond)).where(anyLease),
			fault("the holder pauses, lease of 700 ms", oddLease(700*time.Millisecond)).where(subSecond),
		},
	},
	{
		ID: "T03-late-release", Title: "a late release frees nobody else's lock",
		Promise: "A holder that has lost its lock releases it late, is told that it did not hold it, and the next holder keeps its own: in " +
			"another process, in the same one, while a caller of the same one waits, and when a step of the release is under way for long.",
		Matters: "A release that does not compare the owner deletes the next holder's lock. Then a third client acquires it.",
		tries: []attempt{
			control("the release is in time", lateRelease(false)),
			fault("the key is lost before the release", lateRelease(true)),
			fault("the key is lost, and nobody holds it", freeRelease),
			fault("the next holder is in the same process", siblingRelease),
			fault("the holder pauses, and another caller of its process waits", siblingAwaits),
			variation("the key is lost after the first packet of the release", slowRelease(1)).overProxies(),
			variation("the key is lost after the second packet of the release", slowRelease(2)).overProxies(),
		},
	},
	{
		ID: "T04-long-work", Title: "work longer than the lease", Claim: renews,
		Promise: "A holder that works for five leases keeps its lock, or for three while another caller of its process waits. A process that " +
			"holds twelve keys keeps each.",
		Matters: "When the lease ends during the work, a second client acquires the lock.",
		tries: []attempt{
			control("short work", longWork(0)),
			variation("work of five leases", longWork(5)),
			variation("another caller of the process waits", longWorkBeside),
			variation("a process holds twelve keys", manyKeys(false)).where(elsewhere),
			fault("a process holds twelve keys and loses one", manyKeys(true)).where(onRedis),
		},
	},
	{
		ID: "T05-pause", Title: "a pause past the lease", Claim: tokens,
		Promise: "A holder that was stopped for longer than its lease cannot write after its successor: its token is too old. Each token is " +
			"larger than the one before, also when processes hold the key in turn.",
		Matters: "No lock can prevent this alone. A long pause of the process, or of its machine, is enough.",
		tries: []attempt{
			control("no pause", staleWrite(noFault, true)),
			variation("two processes in turn", inTurn),
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
			fault("the holder is cut off from the server", loss(cutOff)).overProxies(),
		},
	},
	{
		ID: "T07-lost-acquire", Title: "acquire with lost reply",
		Promise: "When a reply to an acquire is lost, the key becomes free within two leases and two seconds.",
		Matters: "The server has locked the key for a client that does not know of it.",
		Shows:   []lab.Quantity{untilFree},
		tries: []attempt{
			control("no reply is lost", lostAcquire(0)), fault("the reply is lost", lostAcquire(1)).overProxies(),
			variation("the second reply is lost", lostAcquire(2)).overProxies(),
		},
	},
	{
		ID: "T08-lost-release", Title: "release with lost reply",
		Promise: "When a release or the reply to it is lost, the key becomes free, and a repeated release harms nobody.",
		Matters: "A client that repeats the release may delete the next holder's lock. One that renews on locks the key until it ends.",
		Shows:   []lab.Quantity{untilFree},
		tries: []attempt{
			control("no reply is lost", lostRelease(false)),
			fault("the reply is lost", lostRelease(true)).overProxies(),
			fault("the release does not arrive", undeliveredRelease).overProxies(),
		},
	},
	{
		ID: "T09-cut-holder", Title: "connection closed while holding",
		Promise: "A holder keeps its lock when its connections are closed for a tenth of the lease. One that renews keeps it when they are " +
			"closed for almost half a lease, and when they carry nothing more while new ones do.",
		Matters: "Connections fail in every deployment. A lock that is tied to a connection is lost with it, and so is one whose renewal " +
			"ends with the first error.",
		tries: []attempt{
			control("the connection stays", cutHolder(noFault)),
			fault("the connection is closed", cutHolder(linesClosed)).overProxies(),
			fault("no connection for almost half a lease", cutHolder(linesClosedLong)).overProxies().where(renews),
			variation("the connections carry nothing more", cutHolder(linesForgotten)).overProxies().where(renews),
		},
	},
	{
		ID: "T10-cut-waiter", Title: "connection closed while waiting",
		Promise: "A waiter whose connection ends is granted the key or times out, and does not block the key afterwards. Nobody is granted " +
			"a key that another process holds because the server cannot be reached, does not answer, or answers with an error.",
		Matters: "A waiter that waits for a message on a closed connection waits for ever. One that goes on without an answer works beside " +
			"the holder.",
		tries: []attempt{
			control("the connection stays", cutWaiter(false)),
			fault("the connection is closed", cutWaiter(true)).overProxies(),
			fault("no connection while another process holds the key", failOpen(linesClosed)).overProxies(),
			fault("no answer while another process holds the key", failOpen(linesSilent)).overProxies(),
			variation("errors while another process holds the key", failOpen(serverRefuses)).overProxies().where(onRedis),
		},
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
		Promise: "A client whose wait has timed out keeps nobody out, and frees no lock, also in its own process. One that died waiting keeps " +
			"nobody out for longer than two leases and two seconds, although it wanted to wait three times as long.",
		Matters: "An entry in a queue, or a late grant, locks a key that nobody wants.",
		tries: []attempt{
			control("nobody waits", endedWait(noWait)),
			variation("a wait ends", endedWait(timedOut)),
			variation("a wait in the holder's process ends", endedWait(siblingTimedOut)),
			fault("a waiter is killed", endedWait(waiterKilled)),
		},
	},
	{
		ID: "T13-opposite-order", Title: "two locks in opposite order time out",
		Promise: "Two processes that request each other's key are refused when their wait is over. So is one that tries once for a held key.",
		Matters: "Without a bound on the wait this is a deadlock.",
		tries: []attempt{
			control("one lock each", opposite(false)), variation("a single try", singleTry),
			variation("each wants the other's", opposite(true)),
		},
	},
	{
		ID: "T14-fairness", Title: "nobody starves", Alone: true,
		Promise: "Each of four processes is granted the lock while all compete for three seconds, and none waits on when the key is free.",
		Matters: "A process that is never granted the lock does not work. Neither does a waiter that misses the message of a release.",
		Shows:   []lab.Quantity{jain, longestWait},
		tries:   []attempt{control("one process", fairness(1)), variation("four processes", fairness(copies))},
	},
	{
		ID: "T15-burst", Title: "a burst, and what a section costs", Alone: true,
		Promise: "No update is lost in a burst of 666 requests, tokens grow, and each request and release has an answer in time, be it an " +
			"error. Otherwise the lab only measures: commands and packets per section, and the burst beside a queue in one process. Commands " +
			"inside a script count. A packet is what the proxy reads at a time.",
		Matters: "Hundreds of waiters use up pools that four do not. Polling costs the server commands, and waiting by messages costs fewer.",
		Shows:   []lab.Quantity{sectionsDone, commandsEach, packetsEach, sectionTook, handOver},
		tries: []attempt{
			control("one process", cost(1, 1, costSections)).overProxies(),
			variation("four processes", cost(copies, copies, costSections)).overProxies(),
			variation("burst of 666 requests", cost(copies, burst, burst)).overProxies(),
			variation("burst of 666 requests, a local queue", cost(0, burst, burst)),
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
		Promise: "A holder that extends its lease in time keeps its lock for three leases. A lock that was lost to another process is not " +
			"extended. The last extension is of a whole lease, and no shorter than its until_ms, and then the key becomes free within two " +
			"leases and two seconds.",
		Matters: "An extension that does not compare the owner extends the next holder's lock.",
		tries: []attempt{
			control("short work", extendedWork(0)),
			variation("work of three leases", extendedWork(3)),
			fault("the key is lost before the extension", lateExtension(false)).unless(protocol.ZooKeeper),
			fault("another process has held the key before the extension", lateExtension(true)).unless(protocol.ZooKeeper),
			fault("the holder pauses after an extension", extendedPause),
		},
	},
	{
		ID: "T20-quiet-wait", Title: "waiting by message", Claim: messages, Alone: true,
		Promise: "A waiter sends no more than ten packets in half a lease to a server, beside pings of its connections. It gets the key " +
			"within 50 ms more than a grant of a free key takes, four of five times. It gets it within a quarter of the lease when the " +
			"release came between its first try and what it sends then, or when another wait of its process has ended before.",
		Matters: "Polling costs the servers more with each waiter, or it makes each hand-over long. A message that comes before the waiter " +
			"listens is missed.",
		Shows: []lab.Quantity{slowGrant, packetsWaiting},
		tries: []attempt{
			control("nobody waits", quietWait(false)),
			variation("a copy waits", quietWait(true)).overProxies(),
			variation("the release comes before the waiter listens", lateWaiter).overProxies(),
			variation("an earlier wait of its process has ended", secondWait).overProxies(),
		},
	},
	{
		ID: "T21-other-keys", Title: "different keys do not exclude each other",
		Promise: "A process is granted a key while another one holds a key with a different name: in upper case, with another end behind " +
			"200 letters, with another punctuation, or one of forty. The release of one frees no other, and the use of " +
			"others does not keep a dead holder's key locked.",
		Matters: "If two keys are one to the lock, callers wait for each other, and a caller that needs both waits for itself.",
		tries: []attempt{
			control("one key at a time", otherKeys(false)), variation("both at a time", otherKeys(true)),
			fault("the holder is killed while others use other keys", busyKeys),
		},
	},
	{
		ID: "T22-renewal", Title: "a renewal touches nobody else's lock", Claim: renews,
		Promise: "When a holder that renews has lost its lock, or has released it, the next holder keeps its own, and when that one dies, " +
			"the key becomes free within two leases and two seconds.",
		Matters: "A renewal that does not compare the owner takes the key back, or keeps a dead holder's key locked.",
		Shows:   []lab.Quantity{untilFree},
		tries: []attempt{
			control("the holder releases", staleRenewal(grantReleased, false)),
			fault("it releases, and the next holder is killed", staleRenewal(grantReleased, true)),
			fault("it loses the key", staleRenewal(grantLost, false)),
			fault("it loses the key, and the next holder is killed", staleRenewal(grantLost, true)),
		},
	},
	{
		ID: "T23-late-grant", Title: "a grant that comes too late",
		Promise: "When a reply to an acquire arrives after the lease, and another process holds the key by then, it is no grant.",
		Matters: "The lease begins at the server. A client that counts it from the reply works beside the next holder.",
		tries: []attempt{
			control("the reply is in time", lateGrant(0)), fault("the reply is late", lateGrant(1)).overProxies(),
			variation("the second reply is late", lateGrant(2)).overProxies(),
		},
	},
	{
		ID: "T24-deployment", Title: "other processes end and start", Claim: longLease,
		Promise: "A holder keeps its lock while another process of the program is asked to end, and one starts.",
		Matters: "A worker that frees the locks of before, when it starts or ends, frees those of the others at each deployment.",
		tries:   []attempt{control("no process ends or starts", deployment(false)), variation("one ends, and one starts", deployment(true))},
	},
	{
		ID: "T25-failover", Title: "the master is replaced, after replication", Claim: failover,
		Promise: "When the master is killed and a replica that has the lock replaces it, nobody else is granted the key during the lease, " +
			"or before the release of a lock that is renewed. Then the next process is granted the key.",
		Matters: "A failover is what sentinels are for. A client that does not follow its lock to the new master loses it.",
		Shows:   []lab.Quantity{untilFree, failoverTook},
		tries: []attempt{
			control("no failover", replacedMaster(false)), fault("the master is killed while A holds the lock", replacedMaster(true)),
		},
	},
	{
		ID: "T26-unreplicated", Title: "no replica has the lock", Claim: replicated,
		Promise: "While the replicas are cut off from the master, no lock is granted.",
		Matters: "Replication is asynchronous: a lock that only the master has is lost with it, and then two processes hold it.",
		tries: []attempt{
			control("the replicas are connected", unreplicated(false)), fault("the replicas are cut off before A asks", unreplicated(true)),
		},
	},
	{
		ID: "T27-clocks", Title: "clocks differ", shiftsClock: true,
		Promise: "While the clock of one process is five minutes ahead, nobody is granted a key that another process holds, and a dead " +
			"holder's key becomes free within two leases and two seconds. The key's next token is larger than the one before.",
		Matters: "A client that compares its own time with that of another client takes a lock that is held, or waits for one that is not.",
		Shows:   []lab.Quantity{untilFree},
		tries: []attempt{
			control("equal clocks", differentClocks(false, false)),
			fault("the waiter's clock is ahead", differentClocks(false, true)),
			fault("the holder's clock is ahead", differentClocks(true, false)),
		},
	},
}

// Experiments try p on those rows that it claims.
func (p Program) Experiments(rows []Row) (all []lab.Experiment) {
	for _, r := range rows {
		if r.untried(p) == "" {
			all = append(all, r.of(p))
		}
	}
	return all
}

// unclaimed begins why a row is not tried that the program does not claim.
const unclaimed = "the program does not claim "

// untried says why a row is not tried on a program; empty: it is.
func (r Row) untried(p Program) string {
	switch {
	case !r.Claim.claimed(p.Claims):
		return unclaimed + "`" + r.Claim.Name + "`"
	case r.shiftsClock && p.fixedClock != "":
		return p.fixedClock
	case len(r.attempts(p.Claims)) < 2: // a control alone shows nothing
		return "the lab cannot break single connections on this store"
	}
	return ""
}

// attempts are those that the lab can make on a program.
func (r Row) attempts(claims protocol.Claims) []attempt {
	kind, _ := servers.KindNamed(claims.Store)
	return slices.DeleteFunc(slices.Clone(r.tries), func(a attempt) bool {
		return a.except == claims.Store || a.wires && kind.Announces || !a.claim.claimed(claims)
	})
}

// of makes the experiment that tries a row on a program.
func (r Row) of(p Program) lab.Experiment {
	e := lab.Experiment{
		ID: r.ID, Claim: r.Promise, Check: check, Lesson: lab.Lesson{Title: r.Title, Why: r.Matters},
		Schedule: lab.Schedule{Trials: 1, Takes: 10 * time.Second, Alone: r.Alone, Needs: p.needs()},
	}
	crashed := new(atomic.Bool)
	for _, a := range r.attempts(p.Claims) {
		v := lab.Variant{Name: a.name, Fault: a.fault, Run: p.scenario(crashed, a.run)}
		if a.breaks {
			v.Expect = lab.Sometimes
		}
		e.Variants = append(e.Variants, v)
	}
	return e
}
