package live

import (
	"encoding/json"
	"fmt"
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

// again sends a part whose texts depend on something that has changed.
func (b *board) again(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change(name, b.parts[name])
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
