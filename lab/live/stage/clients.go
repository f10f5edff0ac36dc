package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/lab/history"
)

// player is the state of a trial with clients.
type player struct {
	*director
	server   string // the part with the lock: another one after a failover
	owner    string // of the lock; empty: it is free
	expires  bool   // the lock has a lease
	cut      bool   // the replica gets nothing
	holds    map[string]bool
	stopped  map[string]string // clients that are dead or paused
	reads    map[string]string // what a client has read, and not written yet
	wrote    map[int64]string  // who has written a value
	tokens   []uint64          // in the sequence of the grants: a small number for each
	token    map[string]int
	seen     int  // the largest token that the counter has seen
	ignored  bool // it has taken a smaller one since
	writes   int
	refused  string // the client whose write was refused
	decisive int
}

// clients makes the steps of a trial with clients.
func (d *director) clients(events []history.Event, found *history.Violation) {
	d.cast = cast{clients: clientsOf(events, d.Clients), replica: d.Replica || slices.ContainsFunc(events, takesOver), tokens: d.Tokens}
	if len(events) > 0 {
		d.began = events[0].At
	}
	p := &player{
		director: d, server: "lock", expires: true, decisive: decisive(found), holds: make(map[string]bool), stopped: make(map[string]string),
		reads: make(map[string]string), wrote: make(map[int64]string), token: make(map[string]int),
	}
	d.set("counter", "", "0")
	server := "Redis with the lock"
	d.set("server-lock", "", "Redis")
	if d.cast.replica {
		server = "the master with its replica"
		d.set("server-lock", "", "master")
		d.set("server-lock2", "", "replica")
	}
	p.looks()
	d.step(0, fmt.Sprintf("%s, %s, and the counter.", strings.Join(d.cast.clients, ", "), server), false)
	d.beat(0)
	for _, a := range actsOf(events, found) {
		p.play(a)
	}
	p.end(events, found)
}

// play makes the step of an act.
func (p *player) play(a act) {
	switch a.Kind {
	case history.Request, history.Grant, history.Refuse:
		p.asks(a)
	case history.Read:
		p.reads[a.Timeline] = fmt.Sprint("read ", a.Value)
		p.see(a.Timeline)
		p.counts(a)
	case history.Write:
		p.counts(a)
	case history.Stale:
		p.refuses(a)
	case history.Release:
		p.releases(a)
	case history.Die:
		p.stopped[a.Timeline] = "dead"
		p.still(a, a.Timeline+" dies, and has not deleted the key.")
	case history.Left:
		p.begin(a, "The key stays for ever, and no client holds the lock.")
		p.set(p.server, p.now[p.server].Class+" stuck", "locked for ever")
		p.beat(stays)
		p.pause(a, p.server)
	default:
		p.happens(a)
	}
}

// still is a step in which nothing travels.
func (p *player) still(a act, says string) {
	p.begin(a, says)
	p.looks()
	p.beat(stays + travels)
	p.pause(a, p.server)
}

// begin begins the step of an act.
func (p *player) begin(a act, says string) {
	p.step(a.At, says, p.isDecisive(a))
	if p.expires && p.owner != "" {
		l := p.now[p.server]
		l.Level = max(30, l.Level-7)
		p.now[p.server] = l
		if copied := p.now["lock2"]; p.server == "lock" && copied.Class == l.Class {
			p.now["lock2"] = l
		}
	}
}

func (p *player) isDecisive(a act) bool {
	return p.decisive > 0 && (a.Seq == p.decisive || a.then != nil && a.then.Seq == p.decisive)
}

// pause lets a person see the violation, in a part of the drawing.
func (p *player) pause(a act, part string) {
	if p.isDecisive(a) {
		p.pulse(part)
	}
}

// asks is a request, and its result if nothing happens between.
func (p *player) asks(a act) {
	name := a.Timeline
	if a.result == history.Grant && p.owner != "" && p.owner != name {
		p.leaseEnds()
	}
	if strings.HasPrefix(a.sent, "SETNX") {
		p.expires = false
	}
	waited := p.now[name].Class == "waits"
	says, reply := p.saysAsks(a, waited)
	p.begin(a, says+".")
	if a.result == history.Grant {
		p.owner = name
		p.now[p.server] = look{Level: 100}
		p.lockLooks()
	}
	to := name + "-" + p.server
	if !waited {
		p.beat(travels, move{Way: to, Text: cmp.Or(a.sent, "lock?"), Class: p.cast.colour(name)})
	} else {
		p.beat(stays)
	}
	p.answer(a, to, reply)
	if p.Renews && a.result == "" && p.owner != "" {
		p.renews(a)
	}
}

// saysAsks is a request and its result as a sentence, and the reply of the server.
func (p *player) saysAsks(a act, waited bool) (does, reply string) {
	name, others := a.Timeline, p.working(a.Timeline)
	does, reply = name+" asks for the lock", cmp.Or(a.reply, "no")
	switch {
	case a.result == history.Grant:
		does, reply = name+" asks for the lock, and gets it", cmp.Or(a.reply, "yes")
		if waited {
			does = name + " gets the lock"
		}
		if len(others) > 0 {
			does += ", while " + strings.Join(others, " and ") + " still works"
		}
		if p.Tokens {
			p.grantToken(a)
			reply = fmt.Sprint("token ", p.token[name])
		}
	case a.result == history.Refuse && p.stopped[p.owner] == "dead":
		does += fmt.Sprintf(", and is refused: the key of %s is still there", p.owner)
	case a.result == history.Refuse && p.owner != "":
		does += fmt.Sprintf(", and is refused: %s has it", p.owner)
	case a.result == history.Refuse:
		does += ", and is refused"
	default:
		does += ", and waits"
	}
	return does, reply
}

// answer is that of the server.
func (p *player) answer(a act, way, reply string) {
	name := a.Timeline
	switch a.result {
	case history.Grant:
		p.holds[name] = true
		if p.cast.replica && !p.cut && p.server == "lock" {
			defer func() {
				p.now["lock2"] = p.now["lock"]
				p.beat(travels, move{Way: "copies", Text: "key", Class: p.cast.colour(name)})
			}()
		}
	case history.Refuse:
		p.now[name] = look{Class: "refused", Text: "refused"}
	default:
		p.now[name] = look{Class: "waits", Text: "waits"}
		p.looks()
		p.beat(stays)
		return
	}
	p.looks()
	p.beat(travels, move{Way: way, Back: true, Text: reply, Class: "answer"})
}

// grantToken counts tokens from 1: real ones are long.
func (p *player) grantToken(a act) {
	p.tokens = append(p.tokens, a.Token)
	p.token[a.Timeline] = len(p.tokens)
}

// working are other clients that work, and believe that they hold the lock.
func (p *player) working(but string) (names []string) {
	for _, name := range p.cast.clients {
		if name != but && p.holds[name] && p.reads[name] != "" && p.stopped[name] == "" {
			names = append(names, name)
		}
	}
	return names
}

// renews shows that the owner gets a new lease again and again.
func (p *player) renews(a act) {
	p.step(a.At, p.owner+" works on. It renews its lease each time before it ends.", false)
	for range 2 {
		p.level(35)
		p.beat(travels)
		p.level(100)
		p.beat(travels, move{Way: p.owner + "-" + p.server, Text: "renew", Class: p.cast.colour(p.owner)})
	}
}

// level sets how much of the lease is left.
func (p *player) level(percent int) {
	l := p.now[p.server]
	l.Level = percent
	p.now[p.server] = l
}

// leaseEnds is the end of a lease that nobody has recorded: another client has got the lock.
func (p *player) leaseEnds() {
	says := p.owner + "'s lease ends while it works."
	switch p.stopped[p.owner] {
	case "paused":
		says = p.owner + "'s lease ends, because a paused client renews nothing."
	case "dead":
		says = p.owner + "'s lease ends."
	}
	p.step(0, says, false)
	p.freed()
	p.beat(stays + travels)
}

// freed is a lock without its owner.
func (p *player) freed() {
	p.owner = ""
	p.level(0)
	p.looks()
}

// see marks the newest token that the counter has seen.
func (p *player) see(name string) {
	p.ignored = p.ignored || p.token[name] < p.seen
	p.seen = max(p.seen, p.token[name])
}

// counts is a read, or a write, or both.
func (p *player) counts(a act) {
	name, way, own := a.Timeline, a.Timeline+"-counter", p.cast.colour(a.Timeline)
	write := a.then
	if a.Kind == history.Write {
		write = &a.Event
	}
	says, bad := "", false
	if a.Kind == history.Read {
		says = fmt.Sprintf("%s reads %d", name, a.Value)
	}
	if write != nil {
		says += map[bool]string{true: ", adds one, and writes ", false: name + " writes "}[says != ""] + fmt.Sprint(write.Value)
		if by, is := p.wrote[write.Value]; is && by != name {
			bad = true
			says += fmt.Sprintf(", as %s did: one update is lost", by)
		}
	} else {
		says += ", and works"
	}
	p.begin(a, says+".")
	if a.Kind == history.Read {
		p.looks()
		p.beat(travels, move{Way: way, Back: true, Text: fmt.Sprint("read ", a.Value), Class: "answer"})
	}
	if write == nil {
		return
	}
	p.see(name)
	p.writes++
	p.wrote[write.Value] = name
	delete(p.reads, name)
	p.set("counter", map[bool]string{true: "bad"}[bad], fmt.Sprint(write.Value))
	p.set("wrote", own, fmt.Sprintf("last write: %s wrote %d", name, write.Value))
	if bad {
		p.set("lost", "bad", "1 update lost")
	}
	p.looks()
	p.beat(travels, move{Way: way, Text: fmt.Sprint("write ", write.Value), Class: own})
	p.pause(a, "counter")
}

// refuses is a write that the counter refuses.
func (p *player) refuses(a act) {
	name := a.Timeline
	p.refused = name
	delete(p.reads, name)
	delete(p.holds, name)
	says, text := fmt.Sprintf("%s writes %d, and the counter refuses it.", name, a.Value), fmt.Sprint("write ", a.Value)
	if mine := p.token[name]; p.Tokens && mine > 0 {
		text += fmt.Sprint(", token ", mine)
		says = fmt.Sprintf("%s writes with token %d. The counter has seen %d, and refuses: %d < %d.", name, mine, p.seen, mine, p.seen)
	}
	p.begin(a, says)
	p.beat(travels, move{Way: name + "-counter", Text: text, Class: p.cast.colour(name)})
	p.set(name+"-has", "bad", "refused")
	p.looks()
	p.beat(travels, move{Way: name + "-counter", Back: true, Text: fmt.Sprintf("refused: %d < %d", p.token[name], p.seen), Class: "refusal"})
	p.beat(stays)
	p.pause(a, "counter")
}

// releases is a release: of the own lock, of that of another, or of none.
func (p *player) releases(a act) {
	name, owner := a.Timeline, p.owner
	command := cmp.Or(a.sent, "release")
	if rest, is := strings.CutPrefix(command, "script: compare, "); is {
		command = rest + ", if mine"
	}
	class, wrong := p.cast.colour(name), false
	var says string
	delete(p.holds, name)
	delete(p.reads, name)
	switch {
	case owner == name:
		says = name + " releases the lock."
		p.owner = ""
	case a.failed != "" || owner == "":
		says = name + " wants to release its lock, and has none."
		if owner != "" {
			says = fmt.Sprintf("%s deletes the key only if it is its own. It is %s's, and stays.", name, owner)
		}
	default:
		says, class = fmt.Sprintf("%s deletes the key, and it is %s's lock.", name, owner), class+" wrong"
		p.owner, wrong = "", true
	}
	p.begin(a, says)
	if p.owner == "" {
		p.level(0)
	}
	p.looks()
	p.beat(travels, move{Way: name + "-" + p.server, Text: command, Class: class})
	if wrong {
		p.steps[len(p.steps)-1].Bad = true
		p.pulse(p.server)
	}
}

// happens is a fault, its end, or a note.
func (p *player) happens(a act) {
	says := a.Timeline + " " + a.Text
	isClient := slices.Contains(p.cast.clients, a.Timeline)
	switch {
	case a.Kind == history.Fault && isClient:
		p.stopped[a.Timeline] = "paused"
		says = a.Timeline + "'s process stops for a while."
	case a.Kind == history.Heal && isClient:
		delete(p.stopped, a.Timeline)
		says = a.Timeline + " goes on where it stopped."
	case a.Kind == history.Fault && a.Timeline == "master":
		p.set("server-lock", "dead", "killed")
		says = "The master is killed."
	case a.Kind == history.Fault && strings.HasPrefix(a.Timeline, "replication"):
		p.cut = true
		p.set("cut", "bad", "✗")
		says = "The lab cuts the replication: the replica gets nothing."
	case takesOver(a.Event):
		p.server, p.owner = "lock2", map[bool]string{false: p.owner}[p.cut]
		p.set("server-lock2", "promoted", "new master")
		says = "The replica becomes the master. It has never had the key."
		if p.owner != "" {
			says = "The replica becomes the master, and has the key."
		}
	case isTime(a.Event):
		p.timePasses(a)
		return
	case a.Timeline == "time":
		says = "Time " + a.Text + "."
	default:
		says = strings.TrimSuffix(says, ".") + "."
	}
	p.still(a, says)
}

// takesOver reports whether a replica becomes the master.
func takesOver(e history.Event) bool { return strings.HasPrefix(e.Text, "is the master now") }

// isTime reports whether a moment ends.
func isTime(e history.Event) bool {
	return e.Kind == history.Note && (e.Name == history.LeaseEnds || strings.HasPrefix(e.Text, "passes"))
}

// timePasses ends the lease of the lock, if it has one.
func (p *player) timePasses(a act) {
	p.leaps = p.leaps || strings.HasPrefix(a.Text, "passes")
	switch {
	case p.owner == "":
		p.still(a, "Time passes.")
	case !p.expires:
		p.still(a, fmt.Sprintf("Time passes. The key has no expiry, so it stays %s's.", p.owner))
	default:
		p.begin(a, fmt.Sprintf("Time passes, and %s's lease ends.", p.owner))
		p.freed()
		p.beat(stays + travels)
	}
}

// end says what the counter shows.
func (p *player) end(events []history.Event, found *history.Violation) {
	at := slices.IndexFunc(events, isFinal)
	if at < 0 || p.writes == 0 && p.refused == "" {
		return
	}
	final := events[at].Value
	updates := number(p.writes, "update", "updates")
	says, class := fmt.Sprintf("The counter shows %d after %s: nothing is lost.", final, updates), "good"
	switch {
	case found != nil && int64(p.writes) > final:
		says, class = fmt.Sprintf("The counter shows %d after %s: %s.", final, updates, isLost(p.writes-int(final), "update")), "bad"
	case found != nil:
		return
	case p.refused != "":
		says = fmt.Sprintf("The counter shows %d. Nothing is lost, and %s knows that its write was refused.", final, p.refused)
	}
	p.set("counter", class, fmt.Sprint(final))
	p.step(events[at].At, says, class == "bad")
	p.pulse("counter")
}

// looks shows the state of the clients and of the lock.
func (p *player) looks() {
	for _, name := range p.cast.clients {
		p.now[name] = p.lookOf(name)
		if has := p.now[name+"-has"]; has.Class != "bad" {
			text := p.reads[name]
			if token := p.token[name]; p.Tokens && token > 0 && p.holds[name] {
				text = strings.TrimSuffix(fmt.Sprintf("token %d, %s", token, text), ", ")
			}
			p.set(name+"-has", "", text)
		}
	}
	p.lockLooks()
	if p.Tokens {
		text := map[bool]string{true: fmt.Sprint("largest token: ", p.seen)}[p.seen > 0]
		p.set("seen", "", text+map[bool]string{true: ", not compared"}[p.ignored])
	}
}

// lockLooks shows the state of the lock, and of its copy.
func (p *player) lockLooks() {
	class, text := "free", "free"
	if p.owner != "" {
		class, text = p.cast.colour(p.owner), p.owner+"'s lock"
		if !p.expires {
			class, text = class+" endless", text+", no expiry"
		}
	}
	p.set(p.server, class, text)
	if p.server == "lock" && p.cast.replica && !p.cut {
		if p.owner == "" {
			p.now["lock2"] = p.now["lock"]
		}
	}
	if p.cast.replica && p.now["lock2"].Class == "" {
		p.set("lock2", "free", "no key")
	}
}

// lookOf is how a client looks.
func (p *player) lookOf(name string) look {
	switch {
	case p.stopped[name] != "":
		return look{Class: p.stopped[name], Text: p.stopped[name]}
	case p.holds[name] && (p.owner == name || p.cast.replica):
		return look{Class: "holds", Text: "holds"}
	case p.holds[name]:
		return look{Class: "past", Text: "works on"}
	}
	if old := p.now[name]; old.Class == "waits" || old.Class == "refused" {
		return old
	}
	return look{}
}
