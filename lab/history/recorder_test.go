package history_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lab/history"
)

// A recorder numbers events, and gives a time to those without one. Its receiver is told each of them in this order.
func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := history.NewRecorder()
		var told []history.Event
		r.Added = func(e history.Event) { told = append(told, e) }
		time.Sleep(time.Second)
		r.Add(history.Event{Timeline: "A"})
		r.Add(history.Event{Timeline: "B", At: time.Minute})
		want := []history.Event{{Seq: 1, Timeline: "A", At: time.Second}, {Seq: 2, Timeline: "B", At: time.Minute}}
		if !slices.Equal(told, want) || !slices.Equal(r.Events(), want) {
			t.Errorf("told %v, recorded %v, want %v", told, r.Events(), want)
		}
		r.Events()[0].Timeline = "changed" // the caller's copy
		if r.Add(history.Event{Timeline: "C", At: 1}); len(r.Events()) != 3 || r.Events()[0].Timeline != "A" {
			t.Errorf("later it has recorded %v", r.Events())
		}
		if r.Now() != time.Second || time.Since(r.Began()) != time.Second {
			t.Errorf("it is %s since %s", r.Now(), r.Began())
		}
	})
}
