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

// shape is the drawing in one of its two shapes: for a wide screen, and for a phone or beside a question.
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

// plan has the coordinates of a shape. Boxes are given by their middles.
type plan struct {
	name                    string
	width, height           int
	column                  bool // actors stand in a column, and messages travel to the right; else in a row, and messages travel down
	clients, copies         row
	says, has               point     // of a client, from the edge of its circle
	alone                   site      // the server
	pair                    [2]site   // the master and its replica
	counters                [3]rect   // beside one server, beside two, of a burst
	value, wrote, lost, own int       // of the texts of the counter: below its middle, below all, and how far a further line is
	crowd                   crowdSite // of the views
}

type (
	point struct{ x, y int }
	rect  struct{ x, y, width, height int }
	site  struct {
		rect
		ring int // radius
	}
	// row is a row or a column of circles: where it stands, the largest radius, and how much of the room all radii together take.
	row       struct{ at, radius, room int }
	crowdSite struct {
		first          point
		columns, apart int
		exit           point // from where the views travel
	}
)

var wide = plan{
	name: "wide", width: 1200, height: 370, column: true,
	clients: row{215, 58, 156}, copies: row{560, 80, 164}, says: point{-16, -4}, has: point{-16, 22},
	alone:    site{rect{610, 185, 220, 220}, 58},
	pair:     [2]site{{rect{480, 185, 190, 210}, 52}, {rect{730, 185, 190, 210}, 52}},
	counters: [3]rect{{1030, 150, 230, 190}, {1030, 150, 230, 190}, {1030, 150, 230, 190}},
	value:    46, wrote: 276, lost: 322, own: 25,
	crowd: crowdSite{point{56, 97}, 4, 44, point{225, 185}},
}

var tall = plan{
	name: "tall", width: 360, height: 410,
	clients: row{42, 36, 100}, copies: row{134, 54, 100}, says: point{0, 20}, has: point{0, 39},
	alone:    site{rect{88, 256, 160, 160}, 44},
	pair:     [2]site{{rect{60, 256, 112, 150}, 34}, {rect{182, 256, 112, 150}, 34}},
	counters: [3]rect{{276, 256, 140, 160}, {304, 256, 104, 150}, {180, 284, 170, 116}},
	value:    34, wrote: 362, lost: 388, own: 19,
	crowd: crowdSite{point{36, 16}, 10, 32, point{180, 60}},
}

// shapes are the drawing with the present looks.
func (c cast) shapes(now looks) (w, t shape) { return c.shape(wide, now), c.shape(tall, now) }

func (c cast) shape(p plan, now looks) shape {
	l := layout{shape{Name: p.name, Width: p.width, Height: p.height}, p, c, now}
	if len(c.copies) > 0 {
		l.views()
	} else {
		l.clients()
	}
	return l.shape
}

// layout places the parts of a shape.
type layout struct {
	shape
	plan plan
	cast cast
	now  looks
}

func (l *layout) text(x, y int, part, class string) text { return text{x, y, part, class, l.now[part]} }

func (l *layout) box(r rect, part, class, name string, textY int) box {
	y := r.y - r.height/2
	return box{r.x - r.width/2, y, r.width, r.height, part, class, name, y + 28, textY, l.now[part]}
}

// counter places the counter, and what stands below it.
func (l *layout) counter(r rect) {
	p, x := l.plan, r.x
	if !p.column {
		x = p.width / 2
	}
	l.Counter.Box = l.box(r, "counter", "counter", "counter", r.y+p.value)
	wrote, lost := l.text(x, p.wrote, "wrote", "wrote"), l.text(x, p.lost, "lost", "lost")
	if l.cast.tokens { // between the two
		lost.Y += p.own * 4 / 5
		l.Counter.Texts = append(l.Counter.Texts, l.text(x, p.wrote+p.own, "seen", "seen"))
	}
	l.Counter.Texts = append(l.Counter.Texts, wrote, lost)
}

// server adds a server with a lock.
func (l *layout) server(part string, s site) {
	of := "server-" + part
	b := l.box(s.rect, of, "server", "", s.y-s.height/2+28)
	l.Servers = append(l.Servers, server{b, s.x, s.y, s.ring, s.y + s.height/2 - 18, part, l.now[part]})
}

// spread is the place of number i of n in a length.
func spread(i, n, length int) int { return length * (2*i + 1) / (2 * n) }

// circles yields the places of those actors that have room.
func (l *layout) circles(names []string, r row) func(yield func(string, circle) bool) {
	n := min(mostActors, len(names))
	return func(yield func(string, circle) bool) {
		for i, name := range names[:n] {
			c := circle{point{r.at, spread(i, n, l.plan.height)}, min(r.radius, r.room/n)}
			if !l.plan.column {
				c.x, c.y = spread(i, n, l.plan.width), r.at
			}
			if !yield(name, c) {
				return
			}
		}
	}
}

type circle struct {
	point
	r int
}

func (l *layout) way(name string, from point, format string, at ...any) {
	l.Ways = append(l.Ways, way{name, fmt.Sprintf("M%d %d", from.x, from.y) + fmt.Sprintf(format, at...)})
}

// straight adds a way from a circle to the near side of a box.
func (l *layout) straight(name string, c circle, b box) {
	if l.plan.column {
		l.way(name, point{c.x + c.r, c.y}, "L%d %d", b.X, b.Y+b.Height/2+(c.y-l.plan.height/2)/3)
	} else {
		l.way(name, point{c.x, c.y + c.r}, "L%d %d", b.MiddleX()+(c.x-l.plan.width/2)/3, b.Y)
	}
}

func (l *layout) clients() {
	p := l.plan
	if l.cast.replica {
		master, replica := p.pair[0], p.pair[1]
		l.server("lock", master)
		l.server("lock2", replica)
		from, to := master.x+master.width/2, replica.x-replica.width/2
		l.way("copies", point{from, master.y}, "H%d", to)
		l.Texts = append(l.Texts, l.text((from+to)/2, master.y+12, "cut", "cut"))
		l.counter(p.counters[1])
	} else {
		l.server("lock", p.alone)
		l.counter(p.counters[0])
	}
	for name, c := range l.circles(l.cast.clients, p.clients) {
		edge := point{c.x - c.r, c.y}
		if !p.column {
			edge = point{c.x, c.y + c.r}
		}
		says := l.text(edge.x+p.says.x, edge.y+p.says.y, name, "says")
		l.Actors = append(l.Actors, actor{c.x, c.y, c.r, c.y + c.r/4, name, name, l.cast.colour(name), l.now[name], says, nil})
		l.Texts = append(l.Texts, l.text(edge.x+p.has.x, edge.y+p.has.y, name+"-has", "has"))
		l.clientWays(name, c)
	}
}

// clientWays lead to the lock, and to what stands behind it: from a column in a curve above the servers or below them, and from a row
// straight, below the texts of the client.
func (l *layout) clientWays(name string, c circle) {
	if !l.plan.column {
		edge := point{c.x, c.y + c.r}
		c.r += l.plan.has.y + 11
		l.way("", edge, "V%d", c.y+c.r) // nothing travels over the texts
	}
	l.straight(name+"-lock", c, l.Servers[0].Box)
	counter, behind := l.Counter.Box, l.Servers[1:]
	if !l.plan.column {
		l.straight(name+"-counter", c, counter)
		for _, s := range behind {
			l.straight(name+"-"+s.Part, c, s.Box)
		}
		return
	}
	above := c.y <= l.plan.height/2
	from, lane := point{c.x + c.r*2/3, c.y + c.r*3/4}, l.plan.height
	to, turn := point{counter.X, counter.Y + counter.Height*3/4}, counter.X-30
	if above {
		from.y, lane = c.y-c.r*3/4, 0
		to, turn = point{counter.X + counter.Width/4, counter.Y}, counter.X-115
	}
	l.way(name+"-counter", from, "C500 %d %d %d %d %d", lane, turn, lane, to.x, to.y)
	for _, s := range behind {
		y := s.Box.Y + s.Box.Height
		if above {
			y = s.Box.Y
		}
		l.way(name+"-"+s.Part, from, "C400 %d %d %d %d %d", lane, s.X-80, lane, s.X, y)
	}
}

// views places a burst: the views, the copies that count them, and the counter.
func (l *layout) views() {
	p := l.plan
	l.crowd(p.crowd)
	l.counter(p.counters[2])
	for name, c := range l.circles(l.cast.copies, p.copies) {
		l.copyAt(name, c)
		to := point{c.x - c.r, c.y}
		if !p.column {
			to = point{c.x, c.y - c.r}
		}
		l.way(name+"-views", p.crowd.exit, "L%d %d", to.x, to.y)
		l.straight(name+"-counter", c, l.Counter.Box)
	}
}

// copyAt adds a copy. Its text stands inside it.
func (l *layout) copyAt(name string, c circle) {
	x, y, r := c.x, c.y, c.r
	a := actor{x, y, r, y - r/10, name, label(name), l.cast.colour(name), l.now[name], l.text(x, y+r*3/10, name, "inside"), nil}
	if l.cast.mutex {
		a.NameY, a.Says.Y, a.Padlock = y-r*35/100, y, &padlock{x, y + r/2, float64(r) / 100}
	}
	l.Actors = append(l.Actors, a)
}

// crowd adds the dots of the views.
func (l *layout) crowd(s crowdSite) {
	for i := range min(mostViews, l.cast.views) {
		l.Views = append(l.Views, l.text(s.first.x+i%s.columns*s.apart, s.first.y+i/s.columns*s.apart, viewPart(i), "visit"))
	}
}
