package stage

import (
	"fmt"
	"slices"

	"locklab/lab/history"
)

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
			says += fmt.Sprintf(", as %s did", by) + p.loses(1, "update")
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
	if !p.owns(name) {
		delete(p.holds, name) // it was late, and has finished
	}
	p.set("counter", map[bool]string{true: "bad"}[bad], fmt.Sprint(write.Value))
	p.set("wrote", own, fmt.Sprintf("last write: %s wrote %d", name, write.Value))
	if bad && !p.Asks {
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

// end compares what the counter shows with the writes. That needs no verdict: while a run goes on, it has none.
func (p *player) end(events []history.Event, found *history.Violation) {
	at := slices.IndexFunc(events, isFinal)
	if at < 0 || p.writes == 0 && p.refused == "" {
		return
	}
	final := events[at]
	lost := p.writes - int(final.Value)
	if lost < 0 || lost == 0 && found != nil {
		return
	}
	after := " after " + number(p.writes, "update", "updates")
	if p.refused != "" && lost == 0 && !p.Asks {
		p.finalStep(final, 0, fmt.Sprintf(". Nothing is lost, and %s knows that its write was refused.", p.refused))
	} else {
		p.finalStep(final, lost, after+p.loses(lost, "update")+".")
	}
}
