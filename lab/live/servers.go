package live

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"locklab/lab/burst"
	"locklab/lab/live/bench"
	"locklab/lab/live/stage"
	"locklab/lab/watch"
)

// serverParts are the parts of the page. What changes all the time is apart from the boxes with the buttons: a press must not miss.
var serverParts = []string{"servers", "lock", "newest", "redlock", "faults", "instances", "load", "load-line"}

// serversPage shows the servers and a load.
func (s *Server) serversPage(r *http.Request) (page, error) {
	s.bench.Glance(r.Context())
	s.lead(r, "the servers")
	return page{Name: "servers", Title: "Servers", Parts: serverParts, Body: map[string]any{
		"Able": s.bench.Sees(), "Trainer": s.viewerOf(r).Trains(), "Versions": watch.Loads(),
		"Version": loadVersion, "Clients": loadClients, "Rate": loadRate, "MostRate": burst.MostRate,
		"MostClients": burst.MostClients, "LongestLoad": burst.LongestLoad, "MostAnswers": burst.MostAnswers,
	}}, nil
}

// watchesServers reports whether a browser shows the servers. A look at them would disturb what a burst measures.
func (s *Server) watchesServers() bool {
	return s.board.isWatched("servers") && !s.isRunning(runPart(burstName))
}

// showServers shows what the bench has seen.
func (s *Server) showServers() {
	now := s.bench.View()
	of := func(v viewer) serversView {
		return serversView{View: now, Trainer: v.Trains(), Class: s.class != nil, Post: s.curl(v.Origin, "''") + "/ui/servers"}
	}
	for _, part := range []string{"servers", "lock", "newest", "redlock"} {
		texts := map[bool]func() string{}
		for _, r := range []role{visitor, trainer} { // a text for each role, however many look on
			texts[r == trainer] = sync.OnceValue(func() string { return s.fragment(part+"-now", of(viewer{Role: r})) })
		}
		s.board.putEach(part, func(v viewer) string { return texts[v.Trains()]() })
	}
	s.board.putEach("faults", func(v viewer) string { return s.fragment("faults-now", of(v)) })
}

// startService starts the instances, unless they run.
func (s *Server) startService(*http.Request) error {
	if !s.bench.Sees() {
		return bench.ErrNoInstances
	}
	return s.start(job{"instances", link{"/ui/servers", "The start of the instances"}, func(ctx context.Context) func() {
		_, err := s.bench.Service(ctx, func(what string) { s.board.put("instances", s.fragment("starting", what)) })
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return func() { s.board.put("instances", s.fragment("started", err)) }
	}})
}

// breakServer does a fault, or ends one.
func (s *Server) breakServer(w http.ResponseWriter, r *http.Request) error {
	name, what := r.PathValue("name"), r.PathValue("fault")
	done, err := s.bench.Break(r.Context(), name, what)
	if err == nil {
		redirect(w, r, "/ui/servers", fmt.Sprintf("%s %s: %s.", what, name, done.Proof))
	}
	return err
}

// curl begins a line that sends a form to this page from a terminal. The trainer of a class has the token in LAB_TRAINER_TOKEN.
func (s *Server) curl(origin, form string) string {
	token := ""
	if s.class != nil {
		token = `-H "Authorization: Bearer $LAB_TRAINER_TOKEN" `
	}
	return fmt.Sprintf("curl %s-d %s %s", token, form, origin)
}

// serversView is the servers as a viewer sees them.
type serversView struct {
	bench.View
	Trainer, Class bool
	Post           string // begins the line that does a fault from a terminal
}

// Sizes in the picture, in rem: servers.css has them, too.
const boxHeight, placeHeight = 4.4, 5.0 // of a box, and of the place that it stands in

// column is a tier of the picture, and the wires to the next one.
type column struct {
	Title  string
	Boxes  []serverBox
	Free   int     // places without a server
	Height float64 // of every column
	Wires  []wire
	Last   bool
}

// serverBox is a server that somebody may break.
type serverBox struct {
	watch.Box
	Colour  string // the class of an instance's colour
	Trainer bool
}

// wire joins the middles of two boxes.
type wire struct {
	Class    string
	From, To float64
}

// Columns are the picture, from the left.
func (v serversView) Columns() (all []column) {
	tiers, rows := v.Tiers(), 0
	for _, t := range tiers {
		rows = max(rows, t.Room)
	}
	for i, t := range tiers {
		c := column{Title: t.Title, Boxes: v.boxes(t.Boxes), Free: t.Room - len(t.Boxes), Height: float64(rows) * placeHeight}
		if c.Last = i+1 == len(tiers); !c.Last {
			c.Wires = wires(t, tiers[i+1], rows)
		}
		all = append(all, c)
	}
	return all
}

// Nodes are the servers of RedLock.
func (v serversView) Nodes() []serverBox { return v.boxes(v.RedLock) }

func (v serversView) boxes(of []watch.Box) (all []serverBox) {
	for _, b := range of {
		all = append(all, serverBox{b, v.Colour(b.Name), v.Trainer})
	}
	return all
}

// Colour is the class that gives an instance its colour; empty: it is none.
func (v serversView) Colour(name string) string {
	i := slices.IndexFunc(v.Instances, func(b watch.Box) bool { return b.Name == name })
	if i < 0 || i > 2 {
		return ""
	}
	return stage.Colour(i)
}

// wires are the connections of two tiers that stand beside each other.
func wires(from, to watch.Tier, rows int) (all []wire) {
	middle := func(t watch.Tier, i int) float64 {
		return (float64(rows-t.Room)/2+float64(i))*placeHeight + boxHeight/2
	}
	for i, a := range from.Boxes {
		for j, b := range to.Boxes {
			class := ""
			switch {
			case to.Title == "Replicas" && b.Follows == a.Name && b.Linked:
				class = "copies"
			case to.Title == "Replicas" && b.Follows == a.Name:
				class = "copies down"
			case to.Title == "Instances" || from.Title == "Instances":
				class = "sends"
			}
			if class == "" || class == "sends" && (a.State != watch.Runs || b.State != watch.Runs) {
				continue
			}
			all = append(all, wire{class, middle(from, i), middle(to, j)})
		}
	}
	return all
}
