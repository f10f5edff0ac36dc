package stage

import (
	"fmt"
	"slices"
	"strings"
)

// cast are who plays.
type cast struct {
	clients, copies        []string
	views                  int
	mutex, replica, tokens bool
}

// mostActors and mostViews fit into the drawing.
const (
	mostActors = 5
	mostViews  = 40
)

// colour is the class of a client or a copy.
func (c cast) colour(name string) string {
	return Colour(max(0, slices.Index(slices.Concat(c.clients, c.copies), name)))
}

// label is the name of a client, or of a copy, for people.
func label(name string) string { return strings.Replace(name, "instance-", "copy ", 1) }

// shape is the drawing in one of its two shapes: for a wide screen, and for a phone.
type shape struct {
	Name          string
	Width, Height int
	Actors        []actor
	Servers       []server
	Views         []text
	Ways          []way
	Counter       counter
	Texts         []text
}

// text stands somewhere, and may change. Without a text it is a dot.
type text struct {
	X, Y        int
	Part, Class string
	Now         look
}

// actor is a client, or a copy, as a circle.
type actor struct {
	X, Y, R, NameY  int
	Part, Name, Own string // Own is its colour
	Now             look
	Says            text
	Padlock         *padlock // the mutex of a copy
}

// Cross is drawn over it when it is dead.
func (a actor) Cross() string {
	d := a.R * 7 / 10
	return fmt.Sprintf("M%d %dl%d %dm0 %dl%d %d", a.X-d, a.Y-d, 2*d, 2*d, -2*d, -2*d, 2*d)
}

// padlock stands somewhere.
type padlock struct {
	X, Y  int
	Scale float64
}

// box is a rectangle with a text that may change.
type box struct {
	X, Y, Width, Height int
	Part, Class, Name   string
	NameY, TextY        int
	Now                 look
}

// MiddleX is where its text stands.
func (b box) MiddleX() int { return b.X + b.Width/2 }

// server is a box with a lock, whose lease is a ring.
type server struct {
	Box            box
	X, Y, R, TextY int
	Part           string
	Lock           look
}

// Padlock is that of the lock.
func (s server) Padlock() padlock { return padlock{s.X, s.Y - 4, float64(s.R) / 50} }

// Gone is how much of the lease is over, in percent.
func (s server) Gone() int { return 100 - s.Lock.Level }

// counter is the resource, and what is said of it.
type counter struct {
	Box   box
	Texts []text
}

// way is where messages travel.
type way struct{ Name, D string }

// shapes are the drawing with the present looks.
func (c cast) shapes(now looks) (wide, tall shape) {
	w := layout{cast: c, now: now, shape: shape{Name: "wide", Width: 1200, Height: 370}}
	t := layout{cast: c, now: now, shape: shape{Name: "tall", Width: 360, Height: 410}}
	if len(c.copies) > 0 {
		w.wideViews()
		t.tallViews()
	} else {
		w.wideClients()
		t.tallClients()
	}
	return w.shape, t.shape
}

// layout places the parts of a shape.
type layout struct {
	shape
	cast cast
	now  looks
}

func (l *layout) text(x, y int, part, class string) text { return text{x, y, part, class, l.now[part]} }

func (l *layout) way(name, format string, at ...any) {
	l.Ways = append(l.Ways, way{name, fmt.Sprintf(format, at...)})
}

// counterAt places the counter, and what stands below it.
func (l *layout) counterAt(x, y, width, height int, wrote, lost text) {
	baseline := map[string]int{"wide": 46, "tall": 34}[l.Name]
	l.Counter = counter{
		box{x - width/2, y - height/2, width, height, "counter", "counter", "counter", y - height/2 + 28, y + baseline, l.now["counter"]},
		[]text{wrote, lost},
	}
	if l.cast.tokens { // between the two
		down := map[string]int{"wide": 25, "tall": 19}[l.Name]
		l.Counter.Texts[1].Y += down * 4 / 5
		l.Counter.Texts = append(l.Counter.Texts, l.text(wrote.X, wrote.Y+down, "seen", "seen"))
	}
}

// below are the texts below the counter.
func (l *layout) below(x, wrote, lost int) (text, text) {
	return l.text(x, wrote, "wrote", "wrote"), l.text(x, lost, "lost", "lost")
}

// server adds a server with a lock.
func (l *layout) server(part string, x, y, width, height, r int) {
	of := "server-" + part
	l.Servers = append(l.Servers, server{
		box{x - width/2, y - height/2, width, height, of, "server", "", 0, y - height/2 + 28, l.now[of]},
		x, y, r, y + height/2 - 18, part, l.now[part],
	})
}

// spread is the place of number i of n in a length.
func spread(i, n, length int) int { return length * (2*i + 1) / (2 * n) }

// Places of the wide shape.
const (
	clientX, serverX, counterX = 215, 610, 1030
	middle, counterY           = 185, 150
)

func (l *layout) wideClients() {
	wrote, lost := l.below(counterX, 276, 322)
	l.counterAt(counterX, counterY, 230, 190, wrote, lost)
	if l.cast.replica {
		l.server("lock", 500, middle, 200, 210, 52)
		l.server("lock2", 770, middle, 200, 210, 52)
		l.way("copies", "M600 185H670")
		l.Texts = append(l.Texts, l.text(635, 197, "cut", "cut"))
	} else {
		l.server("lock", serverX, middle, 220, 220, 58)
	}
	n := min(mostActors, len(l.cast.clients))
	for i, name := range l.cast.clients[:n] {
		y, r := spread(i, n, l.Height), min(58, 156/n)
		says := l.text(clientX-r-16, y-4, name, "says")
		l.client(name, clientX, y, r, says, l.text(clientX-r-16, y+22, name+"-has", "has"))
		l.wideWays(name, y, r, 2*i < n)
	}
}

// wideWays are the ways of a client: straight to the lock, and to the counter above or below the server.
func (l *layout) wideWays(name string, y, r int, above bool) {
	first := l.Servers[0]
	l.way(name+"-lock", "M%d %dL%d %d", clientX+r, y, first.Box.X, middle+(y-middle)*2/5)
	from, to, edge := y+r*3/4, 388, first.Box.Y+first.Box.Height
	if above {
		from, to, edge = y-r*3/4, -18, first.Box.Y
	}
	l.way(name+"-counter", "M%d %dQ%d %d %d %d", clientX+r*2/3, from, serverX, to, counterX-115, counterY+(to-counterY)/5)
	if len(l.Servers) > 1 {
		l.way(name+"-lock2", "M%d %dQ%d %d %d %d", clientX+r*2/3, from, first.X, to, l.Servers[1].X, edge)
	}
}

// client adds a client, and what it knows.
func (l *layout) client(name string, x, y, r int, says, has text) {
	l.Actors = append(l.Actors, actor{x, y, r, y + r/4, name, name, l.cast.colour(name), l.now[name], says, nil})
	l.Texts = append(l.Texts, has)
}

func (l *layout) tallClients() {
	wrote, lost := l.below(l.Width/2, 362, 388)
	if l.cast.replica {
		l.server("lock", 60, 256, 112, 150, 34)
		l.server("lock2", 182, 256, 112, 150, 34)
		l.way("copies", "M116 220H126")
		l.Texts = append(l.Texts, l.text(121, 262, "cut", "cut"))
		l.counterAt(304, 256, 104, 150, wrote, lost)
	} else {
		l.server("lock", 88, 256, 160, 160, 44)
		l.counterAt(276, 256, 140, 160, wrote, lost)
	}
	n := min(mostActors, len(l.cast.clients))
	for i, name := range l.cast.clients[:n] {
		x, y, r := spread(i, n, l.Width), 42, min(36, 100/n)
		l.client(name, x, y, r, l.text(x, y+r+20, name, "says"), l.text(x, y+r+39, name+"-has", "has"))
		for _, s := range l.Servers {
			l.way(name+"-"+s.Part, "M%d %dL%d %d", x, y+r, s.X, s.Box.Y)
		}
		l.way(name+"-counter", "M%d %dL%d %d", x, y+r, l.Counter.Box.MiddleX(), l.Counter.Box.Y)
	}
}

func (l *layout) wideViews() {
	l.crowd(56, 97, 4, 44)
	wrote, lost := l.below(counterX, 276, 326)
	l.counterAt(counterX, counterY, 230, 190, wrote, lost)
	n := min(mostActors, len(l.cast.copies))
	for i, name := range l.cast.copies[:n] {
		x, y, r := 560, spread(i, n, l.Height), min(80, 164/n)
		l.copyAt(name, x, y, r)
		l.way(name+"-views", "M225 %dL%d %d", middle, x-r, y)
		l.way(name+"-counter", "M%d %dL%d %d", x+r, y, counterX-115, counterY+(y-middle)/3)
	}
}

func (l *layout) tallViews() {
	l.crowd(36, 16, 10, 32)
	wrote, lost := l.below(l.Width/2, 362, 390)
	l.counterAt(l.Width/2, 284, 170, 116, wrote, lost)
	n := min(mostActors, len(l.cast.copies))
	for i, name := range l.cast.copies[:n] {
		x, y, r := spread(i, n, l.Width), 134, min(54, 100/n)
		l.copyAt(name, x, y, r)
		l.way(name+"-views", "M%d 60L%d %d", l.Width/2, x, y-r)
		l.way(name+"-counter", "M%d %dL%d %d", x, y+r, l.Width/2+(x-l.Width/2)/3, l.Counter.Box.Y)
	}
}

// copyAt adds a copy. Its text stands inside it.
func (l *layout) copyAt(name string, x, y, r int) {
	a := actor{x, y, r, y - r/10, name, label(name), l.cast.colour(name), l.now[name], l.text(x, y+r*3/10, name, "inside"), nil}
	if l.cast.mutex {
		a.NameY, a.Says.Y, a.Padlock = y-r*35/100, y, &padlock{x, y + r/2, float64(r) / 100}
	}
	l.Actors = append(l.Actors, a)
}

// crowd adds the dots of the views.
func (l *layout) crowd(x, y, columns, apart int) {
	for i := range min(mostViews, l.cast.views) {
		l.Views = append(l.Views, l.text(x+i%columns*apart, y+i/columns*apart, viewPart(i), "visit"))
	}
}
