package history

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A recorder numbers events, and gives a time to those without one. Its receiver is told each of them in this order.
func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRecorder()
		var told []Event
		r.Added = func(e Event) { told = append(told, e) }
		time.Sleep(time.Second)
		r.Add(Event{Timeline: "A"})
		r.Add(Event{Timeline: "B", At: time.Minute})
		want := []Event{{Seq: 1, Timeline: "A", At: time.Second}, {Seq: 2, Timeline: "B", At: time.Minute}}
		if !slices.Equal(told, want) || !slices.Equal(r.Events(), want) {
			t.Errorf("told %v, recorded %v, want %v", told, r.Events(), want)
		}
		r.Events()[0].Timeline = "changed" // the caller's copy
		if r.Add(Event{Timeline: "C", At: 1}); len(r.Events()) != 3 || r.Events()[0].Timeline != "A" {
			t.Errorf("later it has recorded %v", r.Events())
		}
		if r.Now() != time.Second || time.Since(r.Began()) != time.Second {
			t.Errorf("it is %s since %s", r.Now(), r.Began())
		}
	})
}
