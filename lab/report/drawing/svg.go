package drawing

import (
	"bytes"
	"html/template"
	"slices"
	"strings"

	"locklab/lab/history"
)

// picture is a drawing that stands alone in a file.
type picture struct {
	*Drawing
	Says   string
	Style  template.CSS
	Shapes []Shape
}

// SVG returns the drawing of a trial's events as a picture for another page: light or dark as the reader prefers, and without a script.
// The same events give the same bytes. It is nil when there is nothing to draw.
func SVG(events []history.Event, found *history.Violation) ([]byte, error) {
	d := Draw(events, found, inPage)
	if d == nil {
		return nil, nil
	}
	d.Still = true
	p := picture{Drawing: d, Style: template.CSS(Preferred() + Style)}
	var names []string
	for _, l := range d.Timelines {
		names = append(names, l.Name)
	}
	p.Says = strings.TrimSpace("One timeline for each of " + strings.Join(names, ", ") + ". " + d.Said)
	if d.Left != "" {
		d.Keys = append(d.Keys, key{Text: d.Left})
	}
	p.arrange()
	for _, s := range Shapes {
		if slices.ContainsFunc(d.Marks, func(m mark) bool { return m.Shape == s.ID }) {
			p.Shapes = append(p.Shapes, s)
		}
	}
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, "picture", p); err != nil {
		return nil, err
	}
	return bytes.Map(Printable, text.Bytes()), nil
}

// arrange puts the rows below each other, and the legend below them.
func (p *picture) arrange() {
	const margin, line, symbol = 12, 22, 40
	height, widest := p.Height, 0
	for i := range p.Rows {
		r := &p.Rows[i]
		r.Y, r.Still = i*height, true
		widest = max(widest, r.Width)
	}
	p.Width = p.Names.Width + widest
	x, y := margin, height*len(p.Rows)+margin
	for i := range p.Keys {
		k := &p.Keys[i]
		if k.Width = symbol + wide(k.Text); k.Class+k.Shape == "" {
			k.Width -= symbol
		}
		p.Width = max(p.Width, k.Width+2*margin)
		if x > margin && x+k.Width > p.Width {
			x, y = margin, y+line
		}
		k.X, k.Y = x, y
		x += k.Width + margin
	}
	p.Height = y + line + margin
}

// Printable replaces what an XML file must not contain.
func Printable(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' {
		return '\uFFFD'
	}
	return r
}
