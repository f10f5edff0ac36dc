package steps

import (
	_ "embed" // the template
	"html/template"
	"io"
	"strings"

	"locklab/lab/history"
	"locklab/lab/report/drawing"
)

// View is a game as a reader sees it.
type View struct {
	*Game
	Action  string // the address to which the buttons are sent
	Command string // that plays the moves in a terminal; empty: there is none
	Loading bool   // the buttons can be pressed in a moment
	Why     string // the buttons cannot be pressed; empty: they can
}

// Show writes a game as a part of a page.
func Show(w io.Writer, v View) error { return pages.Execute(w, v) }

//go:embed play.html.tmpl
var play string

var pages = template.Must(template.New("play").Funcs(template.FuncMap{
	"add":     add,
	"colour":  drawing.ClassOf,
	"owner":   owner,
	"drawing": drawn,
}).Parse(play))

func add(all ...int) (sum int) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// owner is the class with the colour of the client that a value of the lock names; empty: it names none.
func owner(value string) string {
	_, name, _ := strings.Cut(value, "attempt-")
	return drawing.ClassOf(name[:min(1, len(name))])
}

func drawn(events []history.Event) (template.HTML, error) {
	if len(events) == 0 {
		return "", nil
	}
	var text strings.Builder
	err := drawing.Unfinished(events, nil).Write(&text)
	return template.HTML(text.String()), err
}
