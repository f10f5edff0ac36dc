package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// board has the parts of pages that change while somebody looks on: a text of HTML for each name. A browser that comes late, or comes
// back, gets the present one.
type board struct {
	mu      sync.Mutex
	parts   map[string]part
	watched map[string]int // by how many browsers
	changed chan struct{}  // closed at the next change
}

// part makes a text when a browser needs it. Its functions are called without the mutex.
type part struct {
	version int                 // from 1
	of      func(viewer) string // the present text
	event   func() string       // of a text that is the same for everybody, made once; nil: each viewer has a text of its own
	put     *string             // that text, unless it was not made yet
}

func newBoard() *board {
	return &board{parts: make(map[string]part), watched: make(map[string]int), changed: make(chan struct{})}
}

// put replaces the text of a part.
func (b *board) put(name, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before := b.parts[name].put; before == nil || *before != text {
		b.change(name, part{
			of: func(viewer) string { return text }, put: &text, event: sync.OnceValue(func() string { return event(name, text) }),
		})
	}
}

// putMade replaces the text of a part by one that make returns. It is called once, and only if a browser needs the text: nothing is drawn
// that nobody looks at.
func (b *board) putMade(name string, make func() string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := sync.OnceValue(make)
	b.change(name, part{
		of: func(viewer) string { return text() }, event: sync.OnceValue(func() string { return event(name, text()) }),
	})
}

// putEach replaces the texts of a part by those that of returns for each viewer.
func (b *board) putEach(name string, of func(viewer) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(name, part{of: of})
}

// again sends parts whose texts depend on something that has changed; without a name, all of them.
func (b *board) again(names ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(names) == 0 {
		for name := range b.parts {
			names = append(names, name)
		}
	}
	for _, name := range names {
		b.change(name, b.parts[name])
	}
}

// change needs the mutex.
func (b *board) change(name string, p part) {
	p.version = b.parts[name].version + 1
	b.parts[name] = p
	close(b.changed)
	b.changed = make(chan struct{})
}

// has reports whether there is a part of this name.
func (b *board) has(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, is := b.parts[name]
	return is
}

// get is the present text for a viewer; empty: there is no such part.
func (b *board) get(name string, v viewer) string {
	b.mu.Lock()
	p := b.parts[name]
	b.mu.Unlock()
	if p.of == nil {
		return ""
	}
	return p.of(v)
}

// event is a text as browsers get it. Its id is the time at which it was made, in microseconds since 1970.
func event(name, text string) string {
	line, _ := json.Marshal(map[string]string{"part": name, "html": text})
	return fmt.Sprintf("id: %d\ndata: %s\n\n", time.Now().UnixMicro(), line)
}

// seen is a part that a browser has.
type seen struct {
	name    string
	version int
	text    *string // of a part whose text differs from viewer to viewer
}

// line is the event that a viewer gets; empty: the viewer has this text.
func (p part) line(has *seen, v viewer) string {
	if p.event != nil {
		has.text = nil
		return p.event()
	}
	text := p.of(v)
	if has.text != nil && *has.text == text {
		return ""
	}
	has.text = &text
	return event(has.name, text)
}

// changes returns the parts whose version differs from the one that a browser has, and what is closed at the next change.
func (b *board) changes(has []seen) (which []*seen, parts []part, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, h := range has {
		p := b.parts[h.name]
		if h.version == p.version {
			continue
		}
		has[i].version = p.version
		which, parts = append(which, &has[i]), append(parts, p)
	}
	return which, parts, b.changed
}

// looks counts the browsers that look at parts.
func (b *board) looks(names []string, more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		if b.watched[name] += more; b.watched[name] == 0 {
			delete(b.watched, name)
		}
	}
}

// isWatched reports whether a browser looks at a part.
func (b *board) isWatched(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.watched[name] > 0
}

const (
	mostParts = 32                     // of one page
	pause     = 100 * time.Millisecond // after a text that was made for one browser alone
	heartbeat = 15 * time.Second       // so often a silent connection shows that it is open: the script opens it again after 40 s of silence
	stalled   = 5 * time.Second        // a browser that does not take what has changed in that time loses its connection, and comes back
)

// Events without a part.
const (
	beat      = "event: beat\ndata: {}\n\n"      // the browser has the present state
	restarted = "event: restarted\ndata: {}\n\n" // another server made the page: nothing of it need be there
)

// events sends server-sent events: each is a part, as {"part": its name, "html": its text}. The first ones are the present texts, up to a
// beat. A page names the server that made it as ?server=.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx, as it comes, would hold the events back
	if id := r.URL.Query().Get("server"); id != "" && id != s.id {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, restarted)
		return nil
	}
	names := r.URL.Query()["of"]
	if len(names) == 0 || len(names) > mostParts {
		return refuse(http.StatusBadRequest, fmt.Errorf("?of= names from 1 to %d parts of a page", mostParts))
	}
	for _, name := range names {
		if !s.board.has(name) {
			return refuse(http.StatusNotFound, fmt.Errorf("there is no part %q; the attribute data-parts of a page names its parts", name))
		}
	}
	s.board.looks(names, 1)
	defer s.board.looks(names, -1)
	has := make([]seen, len(names))
	for i, name := range slices.Sorted(slices.Values(names)) {
		has[i].name = name
	}
	defer s.notice(s.viewerOf(r))()
	s.stream(w, r, has)
	return nil
}

// notice counts a page of a participant that is open, until the returned function is called.
func (s *Server) notice(v viewer) (gone func()) {
	if v.ID == "" {
		return func() {}
	}
	s.class.Looks(v.ID, 1)
	s.showPeople()
	return func() {
		s.class.Looks(v.ID, -1)
		s.showPeople()
	}
}

// stream sends what changes until the browser leaves.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, has []seen) {
	to := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	every := time.NewTicker(heartbeat)
	defer every.Stop()
	due := beat
	for {
		which, parts, changed := s.board.changes(has)
		v := s.viewerOf(r)        // it may have joined, or been removed, meanwhile
		var lines strings.Builder // one write for all of them
		var rest time.Duration
		for i, p := range parts {
			lines.WriteString(p.line(which[i], v))
			if p.event == nil {
				rest = pause
			}
		}
		lines.WriteString(due)
		due = ""
		_ = to.SetWriteDeadline(time.Now().Add(stalled))
		if _, err := io.WriteString(w, lines.String()); err != nil || to.Flush() != nil {
			return
		}
		rested := time.After(rest)
		select {
		case <-changed:
		case <-every.C:
			due = beat
		case <-r.Context().Done():
			return
		}
		select {
		case <-rested:
		case <-r.Context().Done():
			return
		}
	}
}
