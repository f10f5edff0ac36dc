package html

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/lab/watch"
)

// The measures of the picture of servers: columns from the left to the right, and rows below them.
const (
	serversWidth                 = 720
	balancerX, balancerWidth     = 1, 96
	instanceX, instanceWidth     = 119, 124
	masterX, masterWidth         = 277, 266
	replicaX, replicaWidth       = 577, 142
	titleHeight, boxGap          = 22, 8
	boxHeight, masterHeight      = 44, 62
	boxInset, lineBelow, rowLine = 8, 17, 16
	letters, lettersWide         = 10, 64 // so many of the smaller letters are so wide
)

// serversDrawing is the picture of the servers.
type serversDrawing struct {
	Width, Height int
	Titles        []caption
	Boxes         []serverBox
	Lines         []serverLine
}

// serverBox is a server in the picture.
type serverBox struct {
	X, Y, Width, Height int
	Class               string // holds, or off; empty: neither
	Name, State         string
	Off                 bool
	Below               bool // the state stands below the name, which leaves no place beside it
	Texts               []caption
}

// serverLine joins two servers.
type serverLine struct {
	Path, Class string
}

// Servers writes a picture of servers: their connections, the master of each replica, and the instance that holds a lock. Its height
// depends on the number of servers only, so that nothing below it moves while masters change.
func Servers(w io.Writer, p *watch.Picture) error {
	d := serversDrawing{Width: serversWidth}
	masters, others := columnsOf(p)
	d.title(balancerX, 0, "Balancer")
	d.title(instanceX, 0, "Instances")
	d.title(masterX, 0, "Redis, "+p.Topology)
	if len(p.Redis) > 1 {
		d.title(replicaX, 0, "Replicas")
	}
	at := make(map[string]serverBox)
	add := func(b serverBox, of string) {
		d.Boxes, at[of] = append(d.Boxes, b), b
	}
	balancer := serverBox{X: balancerX, Y: titleHeight, Width: balancerWidth, Height: boxHeight, Name: "round robin"}
	balancer.below(strings.TrimPrefix(p.Balancer, "http://127.0.0.1"))
	d.Boxes = append(d.Boxes, balancer)
	for i, b := range p.Instances {
		add(plainBox(b, instanceX, titleHeight+i*(boxHeight+boxGap), instanceWidth, strings.TrimPrefix(b.Addr, "127.0.0.1")), b.Name)
	}
	for i, b := range masters {
		add(masterBox(b, titleHeight+i*(masterHeight+boxGap)), b.Name)
	}
	for i, b := range others {
		add(plainBox(b, replicaX, titleHeight+i*(boxHeight+boxGap), replicaWidth, behind(b)), b.Name)
	}
	d.join(p, balancer, masters, others, at)
	below := d.row(titleHeight+tallest(p), "Sentinels", p.Sentinels, named)
	d.Height = d.row(below, "Independent nodes of RedLock, for v4", p.RedLock, holding)
	return pages.ExecuteTemplate(w, "servers-picture", d)
}

// tallest is the height of the columns, whatever server is in which.
func tallest(p *watch.Picture) int {
	first := 1 // masters, of those that run
	if p.Topology == "cluster" {
		first = len(p.Redis) / 2
	}
	return max((first+1)*(masterHeight+boxGap), len(p.Redis)*(boxHeight+boxGap), len(p.Instances)*(boxHeight+boxGap))
}

// named is the master that a sentinel names.
func named(b watch.Box) string {
	if b.Names == "" {
		return ""
	}
	return "names the master: " + b.Names
}

// holding names the holder of the first lock of a node.
func holding(b watch.Box) string {
	if len(b.Locks) == 0 {
		return ""
	}
	return "held: " + b.Locks[0].Holder()
}

// columnsOf has the masters on the left: those that run, and of the others that were one the first only, until its place is needed.
func columnsOf(p *watch.Picture) (masters, others []watch.Box) {
	free := 2
	if p.Topology == "cluster" {
		free = len(p.Redis)/2 + 1
	}
	runs := func(b watch.Box) bool { return b.Role == "master" || b.Role == "" && b.State == watch.Runs } // miniredis says no role
	for _, b := range p.Redis {
		if runs(b) {
			free--
		}
	}
	for _, b := range p.Redis {
		switch {
		case runs(b):
			masters = append(masters, b)
		case b.Was == "master" && free > 0:
			masters, free = append(masters, b), free-1
		default:
			others = append(others, b)
		}
	}
	return masters, others
}

func (d *serversDrawing) title(x, y int, text string) {
	d.Titles = append(d.Titles, caption{X: x, Y: y + titleHeight - boxInset, Text: text})
}

// row adds servers side by side below y, and returns where the next row begins.
func (d *serversDrawing) row(y int, title string, all []watch.Box, text func(watch.Box) string) int {
	if len(all) == 0 {
		return y
	}
	d.title(balancerX, y, title)
	width := (serversWidth-2)/len(all) - boxGap
	for i, b := range all {
		d.Boxes = append(d.Boxes, plainBox(b, balancerX+i*(width+boxGap), y+titleHeight, width, text(b)))
	}
	return y + titleHeight + boxHeight + boxGap
}

// plainBox is a server with one line of text, or with its state there if it does not run.
func plainBox(b watch.Box, x, y, width int, text string) serverBox {
	s := serverBox{X: x, Y: y, Width: width, Height: boxHeight, Name: b.Name, State: string(b.State), Off: b.State != watch.Runs}
	if s.Off {
		s.Class, s.Below = "off", true
		return s
	}
	if len(b.Locks) > 0 {
		s.Class = "holds"
	}
	s.below(text)
	return s
}

// masterBox is a server that grants locks, with the first of them.
func masterBox(b watch.Box, y int) serverBox {
	s := plainBox(b, masterX, y, masterWidth, "")
	s.Height, s.Below = masterHeight, false
	if b.Role == "master" {
		s.State = "master · " + s.State
	}
	switch {
	case len(b.Locks) > 0:
		l := b.Locks[0]
		s.below(l.Key + " → " + l.Holder())
		s.below(lockLine(l, len(b.Locks)-1))
	case b.Slots != "":
		s.below("slots " + b.Slots)
	default:
		s.below(b.Addr)
	}
	return s
}

const lastDigits = 1_000_000 // of a token, which is long

// lockLine says how long a lock is held still, and how many processes listen for its release.
func lockLine(l watch.Lock, more int) string {
	left := "no expiry"
	if l.Left >= 0 {
		left = fmt.Sprintf("%.0f s left", l.Left.Seconds())
	}
	text := fmt.Sprintf("%s, token …%06d, %s", left, l.Token%lastDigits, number(int(l.Listeners), "listener"))
	if more > 0 {
		text += fmt.Sprintf(", +%d", more)
	}
	return text
}

// behind says how far a replica is behind.
func behind(b watch.Box) string {
	switch {
	case b.Role != "replica":
		return ""
	case !b.Linked:
		return "connection down"
	}
	return fmt.Sprintf("%d bytes behind", b.Behind)
}

// below adds a line of text, cut to the width of the box.
func (s *serverBox) below(text string) {
	if text == "" {
		return
	}
	if most := (s.Width - 2*boxInset) * letters / lettersWide; len([]rune(text)) > most+1 {
		text = string([]rune(text)[:most]) + "…"
	}
	s.Texts = append(s.Texts, caption{X: s.X + boxInset, Y: s.Y + lineBelow + (len(s.Texts)+1)*rowLine, Text: text})
}

// join draws the connections of the balancer, the instances, the masters, and their replicas. The line of the holder of a lock is strong.
func (d *serversDrawing) join(p *watch.Picture, balancer serverBox, masters, others []watch.Box, at map[string]serverBox) {
	for _, i := range p.Instances {
		if i.State == watch.Runs {
			d.line(balancer, at[i.Name], "sends", false)
		}
		for _, m := range masters {
			holds := slices.ContainsFunc(m.Locks, func(l watch.Lock) bool { return l.By == i.Name })
			switch {
			case holds:
				d.line(at[i.Name], at[m.Name], "held", true)
			case m.State == watch.Runs && i.State == watch.Runs:
				d.line(at[i.Name], at[m.Name], "sends", false)
			}
		}
	}
	for _, r := range others {
		if from, is := at[r.Follows]; is && r.Role == "replica" {
			class := "copies"
			if !r.Linked {
				class = "copies down"
			}
			d.line(from, at[r.Name], class, true)
		}
	}
}

// line joins the right side of a box with the left side of another.
func (d *serversDrawing) line(from, to serverBox, class string, arrow bool) {
	x1, y1, x2, y2 := from.X+from.Width, from.Y+from.Height/2, to.X, to.Y+to.Height/2
	if to.X <= from.X { // a replica of a replica
		return
	}
	const head = 7
	l := serverLine{Class: class, Path: fmt.Sprintf("M%d %dL%d %d", x1, y1, x2, y2)}
	if arrow {
		l.Path = fmt.Sprintf("M%d %dL%d %dM%d %dl-%d -4v8z", x1, y1, x2-head, y2, x2, y2, head)
	}
	d.Lines = append(d.Lines, l)
}
