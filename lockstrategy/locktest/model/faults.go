package model

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"locklab/lockstrategy/locktest/history"
)

// harm does what f says.
func (w *world) harm(ctx context.Context, f fault) {
	time.Sleep(f.at)
	if !f.server() {
		w.trouble(f)
		return
	}
	keys := []string{f.key}
	if f.deed == jumped {
		keys = []string{"lock:a", "lock:{b}:7"} // the clock is everybody's
	}
	attempts := make([]int, len(keys))
	for i, key := range keys {
		attempts[i] = w.recorder.Attempt()
		w.recorder.Add(history.Event{Kind: history.FaultFrom, Key: key, Attempt: attempts[i], Note: string(f.deed)})
	}
	note := w.breakWord(ctx, f)
	for i, key := range keys {
		w.recorder.Add(history.Event{Kind: history.FaultTo, Key: key, Attempt: attempts[i], Note: note})
	}
}

// breakWord makes the server forget what it has granted. It returns "", or what there is to say.
func (w *world) breakWord(ctx context.Context, f fault) string {
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
		if _, err := w.admin.lock.Admin.ForceUnlock(ctx, f.key); err != nil {
			return err.Error()
		}
	}
	return ""
}

func (w *world) trouble(f fault) {
	w.recorder.Add(history.Event{Kind: history.Trouble, Process: f.process, Note: fmt.Sprintf("%s: %s", f.deed, f.lasts)})
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

// look records what the server has although nobody holds it.
func (w *world) look() {
	if w.server == nil {
		return
	}
	for _, key := range w.server.Keys() {
		if strings.HasPrefix(key, "lock:") {
			w.recorder.Add(history.Event{Kind: history.Left, Key: key})
		}
	}
}

// dialer returns how a network gets to the server.
func (w *world) dialer() func() (net.Conn, error) {
	if w.server == nil {
		return func() (net.Conn, error) { return nil, errors.New("there is no server") }
	}
	return w.server.Dial
}
