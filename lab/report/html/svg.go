package html

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"locklab/lab/history"
)

// picture is a drawing that stands alone in a file.
type picture struct {
	*drawing
	Says   string
	Style  template.CSS
	Shapes []shape
}

// SVG returns the drawing of a trial's events as a picture for another page: light or dark as the reader prefers, and without a script.
// The same events give the same bytes. It is nil when there is nothing to draw.
func SVG(events []history.Event, found *history.Violation) ([]byte, error) {
	d := draw(events, found, inPage)
	if d == nil {
		return nil, nil
	}
	d.Still = true
	p := picture{drawing: d, Style: template.CSS(preferred() + drawingStyle)}
	var names []string
	for _, l := range d.Timelines {
		names = append(names, l.Name)
	}
	p.Says = strings.TrimSpace("One timeline for each of " + strings.Join(names, ", ") + ". " + d.Said)
	if d.Left != "" {
		d.Keys = append(d.Keys, key{Text: d.Left})
	}
	p.arrange()
	for _, s := range shapes {
		if slices.ContainsFunc(d.Marks, func(m mark) bool { return m.Shape == s.ID }) {
			p.Shapes = append(p.Shapes, s)
		}
	}
	var text bytes.Buffer
	if err := pages.ExecuteTemplate(&text, "picture", p); err != nil {
		return nil, err
	}
	return bytes.Map(printable, text.Bytes()), nil
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

// printable replaces what an XML file must not contain.
func printable(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' {
		return '\uFFFD'
	}
	return r
}

// palette has each colour of a page and of a picture: light and dark.
var palette = []struct{ name, light, dark string }{
	{"ground", "#fff", "#14171c"},
	{"raised", "#f5f6f8", "#1d2127"},
	{"line", "#d4d8df", "#3a414c"},
	{"text", "#1a1d23", "#e8eaee"},
	{"quiet", "#59606c", "#a4acb8"},
	{"accent", "#0b5cad", "#8ec3ff"},
	{"hold", "#a9cdf0", "#24507c"},
	{"hold-edge", "#2b6cb0", "#79b4ee"},
	{"wait", "#c9ced6", "#4a525e"},
	{"good", "#00664f", "#63d6b4"},
	{"bad", "#b3141f", "#ff8b8b"},
	{"bad-soft", "#fbdcdd", "#57181d"},
	{"doubt", "#7a5a00", "#e9c46a"},
	{"fault", "#8a4b9c", "#d5a4e4"},
}

// colours declares the palette as properties: light, and dark where a page says so or the system does. A browser without light-dark()
// shows the light ones.
func colours() string {
	var light, both strings.Builder
	for _, c := range palette {
		fmt.Fprintf(&light, "--%s: %s; ", c.name, c.light)
		fmt.Fprintf(&both, "--%s: light-dark(%s, %s); ", c.name, c.light, c.dark)
	}
	return fmt.Sprintf(":root { color-scheme: light dark; %s}\n@supports (color: light-dark(red, red)) { :root { %s} }\n", &light, &both)
}

// preferred declares the palette for a picture in another page, which follows the reader's preference.
func preferred() string {
	var light, dark strings.Builder
	for _, c := range palette {
		fmt.Fprintf(&light, "--%s:%s;", c.name, c.light)
		fmt.Fprintf(&dark, "--%s:%s;", c.name, c.dark)
	}
	return fmt.Sprintf(":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", &light, &dark)
}
