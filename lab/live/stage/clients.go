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
	d.step(fmt.Sprintf("%s, %s, and the counter.", strings.Join(d.cast.clients, ", "), server), false)
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
	p.step(says, p.isDecisive(a))
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
		p.renews()
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
func (p *player) renews() {
	p.step(p.owner+" works on. It renews its lease each time before it ends.", false)
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

// owns reports whether a server says that the lock is a client's. After a failover the old master may say so, too.
func (p *player) owns(name string) bool { return p.owner == name || p.cast.replica }

// lookOf is how a client looks.
func (p *player) lookOf(name string) look {
	switch {
	case p.stopped[name] != "":
		return look{Class: p.stopped[name], Text: p.stopped[name]}
	case p.holds[name] && p.owns(name):
		return look{Class: "holds", Text: "holds"}
	case p.holds[name]:
		return look{Class: "past", Text: "works on"}
	}
	if old := p.now[name]; old.Class == "waits" || old.Class == "refused" {
		return old
	}
	return look{}
}
