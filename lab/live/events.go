package live

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

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
