package clients

import (
	"context"

	"locklab/lab"
	"locklab/lab/history"
)

// Holder is a client that holds a lock, or believes to hold it. What it does with the lock is recorded in its client's timeline.
//
// The client is a goroutine of the lab ([LocalHolder]), or a process that speaks package protocol ([ProcessHolder]): one of this binary, or
// anybody's program. [Unlocked] is a client that asks nobody.
type Holder interface {
	// FencingToken is the token of the grant; 0: it has none.
	FencingToken() uint64
	// Record records an event of the holder.
	Record(e history.Event)
	// TryRelease releases the lock. The error is the client's, such as that it does not hold the lock any more.
	TryRelease(ctx context.Context) error
}

// grant is what every holder has.
type grant struct {
	Name  string // of its client, which is its timeline
	Key   string
	Owner string // of this grant
	Token uint64

	t *lab.Trial
}

// FencingToken implements [Holder].
func (g *grant) FencingToken() uint64 { return g.Token }

// Record implements [Holder].
func (g *grant) Record(e history.Event) {
	e.Timeline, e.Owner, e.Token = g.Name, g.Owner, g.Token
	g.t.Record(e)
}

func (g *grant) record(kind history.Kind, text string) {
	g.Record(history.Event{Kind: kind, Key: g.Key, Text: text})
}

// Note records a remark about the client.
func (g *grant) Note(text string) { g.t.Note(g.Name, text) }

// Mark records a note of the client that code finds.
func (g *grant) Mark(m history.Mark) { g.t.Mark(g.Name, m) }

// Unlocked is a client that enters the section and asks no lock. owner names this time.
func Unlocked(t *lab.Trial, name, owner string) Holder {
	return unlocked{&grant{Name: name, Owner: owner, t: t}}
}

type unlocked struct{ *grant }

// TryRelease implements [Holder]: there is nothing to release.
func (unlocked) TryRelease(context.Context) error { return nil }
