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

// box is where a server stands in the picture.
type box struct{ x, y, width, height float64 }

// serversPlot is the picture of the servers, with the place of each.
type serversPlot struct {
	plot
	at map[string]box
}

// Servers writes a picture of servers: their connections, the master of each replica, and the instance that holds a lock. Its height
// depends on the number of servers only, so that nothing below it moves while masters change.
func Servers(w io.Writer, of *watch.Picture) error {
	p := &serversPlot{at: make(map[string]box)}
	p.Class, p.Width, p.Says = "servers", serversWidth, "The servers as a picture. The list below it says the same."
	masters, others := columnsOf(of)
	p.title(balancerX, 0, "Balancer")
	p.title(instanceX, 0, "Instances")
	p.title(masterX, 0, "Redis, "+of.Topology)
	if len(of.Redis) > 1 {
		p.title(replicaX, 0, "Replicas")
	}
	balancer := box{balancerX, titleHeight, balancerWidth, boxHeight}
	p.frame("server", balancer, "round robin", strings.TrimPrefix(of.Balancer, "http://127.0.0.1"))
	for i, b := range of.Instances {
		at := box{instanceX, titleHeight + float64(i)*(boxHeight+boxGap), instanceWidth, boxHeight}
		p.server(b, at, strings.TrimPrefix(b.Addr, "127.0.0.1"))
	}
	for i, b := range masters {
		p.server(b, box{masterX, titleHeight + float64(i)*(masterHeight+boxGap), masterWidth, masterHeight}, linesOf(b)...)
	}
	for i, b := range others {
		p.server(b, box{replicaX, titleHeight + float64(i)*(boxHeight+boxGap), replicaWidth, boxHeight}, behind(b))
	}
	p.join(of, balancer, masters, others)
	below := p.row(titleHeight+tallest(of), "Sentinels", of.Sentinels, named)
	p.Height = p.row(below, "Independent nodes of RedLock, for v4", of.RedLock, holding)
	return pages.ExecuteTemplate(w, "chart", p.plot)
}

// tallest is the height of the columns, whatever server is in which.
func tallest(p *watch.Picture) float64 {
	first := 1 // masters, of those that run
	if p.Topology == "cluster" {
		first = len(p.Redis) / 2
	}
	return float64(max((first+1)*(masterHeight+boxGap), len(p.Redis)*(boxHeight+boxGap), len(p.Instances)*(boxHeight+boxGap)))
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

func (p *serversPlot) title(x, y float64, text string) {
	p.text("title", x, y+titleHeight-boxInset, text)
}

// row adds servers side by side below y, and returns where the next row begins.
func (p *serversPlot) row(y float64, title string, all []watch.Box, text func(watch.Box) string) float64 {
	if len(all) == 0 {
		return y
	}
	p.title(balancerX, y, title)
	width := float64((serversWidth-2)/len(all) - boxGap)
	for i, b := range all {
		p.server(b, box{balancerX + float64(i)*(width+boxGap), y + titleHeight, width, boxHeight}, text(b))
	}
	return y + titleHeight + boxHeight + boxGap
}

// server draws a server with some lines, or with its state in their place if it does not run.
func (p *serversPlot) server(b watch.Box, at box, lines ...string) {
	p.at[b.Name] = at
	switch {
	case b.State != watch.Runs:
		p.frame("server off", at, b.Name)
		p.text("state off", at.x+boxInset, at.y+lineBelow+rowLine, string(b.State))
		return
	case len(b.Locks) > 0:
		p.frame("server holds", at, b.Name, lines...)
	default:
		p.frame("server", at, b.Name, lines...)
	}
	state := string(b.State)
	if b.Role == "master" {
		state = "master · " + state
	}
	p.text("state", at.x+at.width-boxInset, at.y+lineBelow+1, state)
}

// linesOf says what a server that grants locks has: the first of them, or else its slots, or its address.
func linesOf(b watch.Box) []string {
	switch {
	case len(b.Locks) > 0:
		l := b.Locks[0]
		return []string{l.Key + " → " + l.Holder(), lockLine(l, len(b.Locks)-1)}
	case b.Slots != "":
		return []string{"slots " + b.Slots}
	}
	return []string{b.Addr}
}

// frame draws a box with a name and lines of text, each cut to its width.
func (p *serversPlot) frame(class string, at box, name string, lines ...string) {
	const r = 6 // of its corners
	p.path(class, "M%v %[2]vh%[3]va%[5]v %[5]v 0 0 1 %[5]v %[5]vv%[4]va%[5]v %[5]v 0 0 1 -%[5]v %[5]vh-%[3]va%[5]v %[5]v 0 0 1 -%[5]v -%[5]v"+
		"v-%[4]va%[5]v %[5]v 0 0 1 %[5]v -%[5]vz", at.x+r, at.y, at.width-2*r, at.height-2*r, r)
	p.text("name", at.x+boxInset, at.y+lineBelow+1, name)
	for i, line := range lines {
		most := (int(at.width) - 2*boxInset) * letters / lettersWide
		if len([]rune(line)) > most+1 {
			line = string([]rune(line)[:most]) + "…"
		}
		if line != "" {
			p.text("", at.x+boxInset, at.y+lineBelow+float64(i+1)*rowLine, line)
		}
	}
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

// join draws the connections of the balancer, the instances, the masters, and their replicas. The line of the holder of a lock is strong.
func (p *serversPlot) join(of *watch.Picture, balancer box, masters, others []watch.Box) {
	for _, i := range of.Instances {
		if i.State == watch.Runs {
			p.line(balancer, p.at[i.Name], "sends", false)
		}
		for _, m := range masters {
			holds := slices.ContainsFunc(m.Locks, func(l watch.Lock) bool { return l.By == i.Name })
			switch {
			case holds:
				p.line(p.at[i.Name], p.at[m.Name], "held", true)
			case m.State == watch.Runs && i.State == watch.Runs:
				p.line(p.at[i.Name], p.at[m.Name], "sends", false)
			}
		}
	}
	for _, r := range others {
		if from, is := p.at[r.Follows]; is && r.Role == "replica" {
			class := "copies"
			if !r.Linked {
				class = "copies down"
			}
			p.line(from, p.at[r.Name], class, true)
		}
	}
}

// line joins the right side of a box with the left side of another.
func (p *serversPlot) line(from, to box, class string, arrow bool) {
	x1, y1, x2, y2 := from.x+from.width, from.y+from.height/2, to.x, to.y+to.height/2
	if to.x <= from.x { // a replica of a replica
		return
	}
	const head = 7
	if arrow {
		p.path(class, "M%v %vL%v %vM%v %vl-%d -4v8z", x1, y1, x2-head, y2, x2, y2, head)
	} else {
		p.path(class, "M%v %vL%v %v", x1, y1, x2, y2)
	}
}
