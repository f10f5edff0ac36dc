// Package stage draws a trial so that it can be played: the clients, the server with the lock, and the counter. Messages travel between
// them, the lock changes hands, and its lease runs down.
//
// [Write] turns the events of a trial into a few steps, each with a sentence, and draws the last one. Without a script that is a picture
// with the list of its steps. [Script] plays the steps.
package stage

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"locklab/lab/history"
)

// Options are what the events of a trial do not say.
type Options struct {
	Clients []string // that are there before they have done something
	Copies  int      // of a program that counts page views; they stand in place of the clients
	Views   int      // that these count
	Mutex   bool     // each copy has one
	Replica bool     // the server has a replica
	Tokens  bool     // fencing tokens are shown, as small numbers
	Renews  bool     // the holder renews its lease
	Grows   bool     // more events will come, so the drawing has no controls
	Asks    bool     // a class is asked what was lost, so the drawing does not say it
}

//go:embed stage.js
var script string

// Script plays the drawings of a page.
func Script() string { return script }

//go:embed stage.css
var style string

// Style is that of the drawings. It uses the colours of the live page.
func Style() string { return style }

//go:embed stage.html.tmpl
var files embed.FS

var pages = template.Must(template.ParseFS(files, "stage.html.tmpl"))

// Write draws a trial. Without events it shows who is there. found is the violation of the trial, or nil.
func Write(w io.Writer, events []history.Event, found *history.Violation, o Options) error {
	d := direct(events, found, o)
	changes, err := json.Marshal(d.changes())
	if err != nil {
		return err
	}
	wide, tall := d.cast.shapes(d.now)
	return pages.ExecuteTemplate(w, "stage", map[string]any{
		"Shapes": []shape{wide, tall}, "Steps": d.steps, "Last": d.steps[len(d.steps)-1], "JSON": string(changes),
		"Grows": o.Grows, "Waits": len(d.steps) == 1, "End": len(d.steps) - 1,
	})
}

// Steps are the sentences of a trial, in their sequence.
func Steps(events []history.Event, found *history.Violation, o Options) (all []Step) {
	return direct(events, found, o).steps[1:]
}

// Step is one thing that happens.
type Step struct {
	Says  string `json:"says"`
	Note  string `json:"note,omitempty"` // beside it, in small print
	Bad   bool   `json:"bad,omitempty"`  // it is the violation
	Beats []beat `json:"beats"`
}

// beat is a part of a step: what travels meanwhile, and how the drawing looks afterwards.
type beat struct {
	Takes int    `json:"ms"`
	Moves []move `json:"moves,omitempty"`
	Looks looks  `json:"looks,omitempty"`
	Pulse string `json:"pulse,omitempty"` // the part that a person should look at
}

// move is a message that travels along a way of the drawing.
type move struct {
	Way   string  `json:"way"`
	Back  bool    `json:"back,omitempty"` // from the end of the way to its beginning
	Text  string  `json:"text,omitempty"` // empty: a dot
	Class string  `json:"class"`          // of its colour, and how it ends
	Delay float64 `json:"delay,omitempty"`
}

// looks is how parts of the drawing look, by their names.
type looks map[string]look

type look struct {
	Class string `json:"class,omitempty"`
	Text  string `json:"text,omitempty"`
	Level int    `json:"level,omitempty"` // of a lease, in percent
}

// A beat takes so long, in ms.
const (
	travels = 700
	stays   = 500  // nothing travels
	hold    = 1600 // the moment of the violation
)

// director turns events into steps.
type director struct {
	Options
	cast  cast
	now   looks
	steps []Step
}

// direct makes the steps of a trial. The first one shows who is there.
func direct(events []history.Event, found *history.Violation, o Options) *director {
	d := &director{Options: o, now: make(looks)}
	views := viewsOf(events)
	if o.Copies > 0 || len(views) > 0 {
		d.direct(events, views)
	} else {
		d.clients(events, found)
	}
	return d
}

// step begins a step. Its beats follow. It has no time: the lab shortens leases, and stops clients for as long as it likes.
func (d *director) step(says string, bad bool) { d.steps = append(d.steps, Step{Says: says, Bad: bad}) }

// beat ends with the present looks.
func (d *director) beat(takes int, moves ...move) {
	last := &d.steps[len(d.steps)-1]
	last.Beats = append(last.Beats, beat{takes, moves, maps.Clone(d.now), ""})
}

// pulse gives a person time to look at a part of the drawing.
func (d *director) pulse(part string) {
	last := &d.steps[len(d.steps)-1]
	last.Beats = append(last.Beats, beat{hold, nil, maps.Clone(d.now), part})
}

// loses says how many updates, or views, are lost; empty: the class is asked.
func (d *director) loses(n int, one string) string {
	switch {
	case d.Asks:
		return ""
	case n == 0:
		return ": nothing is lost"
	}
	return ": " + isLost(n, one)
}

// finalStep shows the counter in the end. says is the rest of the sentence.
func (d *director) finalStep(final history.Event, lost int, says string) {
	d.set("counter", map[bool]string{true: "bad", false: "good"}[lost > 0], fmt.Sprint(final.Value))
	d.step(fmt.Sprintf("The counter shows %d%s", final.Value, says), lost > 0)
	d.pulse("counter")
}

// set changes how a part looks.
func (d *director) set(part, class, text string) { d.now[part] = look{class, text, d.now[part].Level} }

// mostSteps bounds what is drawn of a long trial.
const mostSteps = 60

// changes are the steps, where each beat has the looks that it changes. A long trial lacks its first steps.
func (d *director) changes() []Step {
	if more := len(d.steps) - mostSteps; more > 0 {
		d.steps = d.steps[more:]
	}
	before := make(looks)
	all := slices.Clone(d.steps)
	first := maps.Clone(all[0].Beats[0].Looks)
	for part := range d.now {
		if _, is := first[part]; !is {
			first[part] = look{} // the page has that of the last step
		}
	}
	for i, s := range all {
		all[i].Beats = slices.Clone(s.Beats)
		for j, b := range s.Beats {
			if i == 0 && j == 0 {
				b.Looks = first
			}
			changed := make(looks)
			for part, l := range b.Looks {
				if old, is := before[part]; !is || old != l {
					changed[part] = l
				}
			}
			all[i].Beats[j].Looks, before = changed, b.Looks
		}
	}
	return all
}

// Colour is the class with the colour of the client, or the copy of a program, with a number from 0.
func Colour(i int) string { return "client-" + string(rune('a'+i%3)) }

// numerically sorts instance-2 before instance-10.
func numerically(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }
