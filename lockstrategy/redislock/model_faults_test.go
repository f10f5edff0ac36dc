package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/lab/history"
)

// harm does what f says.
func (w *world) harm(ctx context.Context, f fault) {
	time.Sleep(f.at)
	if !f.server() {
		w.disturb(f)
		return
	}
	keys := []string{f.key}
	if f.deed == jumped {
		keys = []string{"lock:a", "lock:{b}:7"} // all keys have the same clock
	}
	begin := make([]history.Event, len(keys))
	for i, key := range keys {
		begin[i] = history.Event{Kind: history.Fault, Timeline: server, Key: key, Owner: w.recorder.newOwner(), Text: string(f.deed)}
		w.recorder.Add(begin[i])
	}
	if err := w.breakWord(ctx, f); err != nil {
		return // the server may do it later
	}
	for _, e := range begin {
		e.Kind = history.Heal
		w.recorder.Add(e)
	}
}

// breakWord makes the server forget what it has granted.
func (w *world) breakWord(ctx context.Context, f fault) error {
	switch f.deed {
	case deleted:
		w.server.Del(f.key)
	case forgotten:
		for _, key := range w.server.Keys() {
			if strings.Contains(key, strings.Trim(f.key, "{}")) {
				w.server.Del(key)
			}
		}
	case jumped:
		w.server.FastForward(w.program.Lease + time.Second)
	case forced:
		_, err := w.admin.lock.Admin.ForceUnlock(ctx, f.key)
		return err
	}
	return nil
}

// disturb does what f says to the network of a process.
func (w *world) disturb(f fault) {
	network, text := fmt.Sprintf("network of process %d", f.process), fmt.Sprintf("%s: %s", f.deed, f.lasts)
	w.recorder.Add(history.Event{Kind: history.Fault, Timeline: network, Name: string(f.deed), Text: text})
	switch n := w.all[f.process].network; f.deed {
	case cut:
		n.cut(f.lasts)
	case lost:
		n.loseReply()
	case slow:
		n.slowDown(f.lasts, 0)
	case late:
		n.slowDown(0, f.lasts)
	}
}

// server is the timeline of the faults of the server.
const server = "server"

// look records the locks that the server stores although no client holds them.
func (w *world) look() {
	if w.server == nil {
		return
	}
	for _, key := range w.server.Keys() {
		if strings.HasPrefix(key, "lock:") {
			w.recorder.Add(history.Event{Kind: history.Left, Timeline: server, Key: key, Text: "still locked"})
		}
	}
}
