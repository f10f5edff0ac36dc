package burst

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
)

// lines is a history in short.
func lines(events []history.Event) string {
	var b strings.Builder
	for _, e := range events {
		words := strings.Fields(fmt.Sprintf("%s %s: %s (%s)", e.At, e.Timeline, e.Summary(), e.Owner))
		b.WriteString(strings.Join(words, " ") + "\n")
	}
	return b.String()
}

// A loser, a stale holder, and an answer of another program get the same status, and are told apart.
func TestViewsAreAHistory(t *testing.T) {
	var views Views
	got := eventsOf([]answer{
		{Status: 200, Body: []byte(`{"instance":"a","value":7,"fence":42}`), Sent: 1, Got: 9},
		{Status: 409, Body: []byte(`{"error":"stale","stale":true,"instance":"b"}`), Sent: 2, Got: 6},
		{Status: 503, Body: []byte("busy"), Sent: 3, Got: 7},
		{Err: errors.New("reset by peer"), Sent: 4, Got: 8},
		{Status: 200, Body: []byte(`{"instance":"b","value":1}`), Sent: 5, Got: 5},
		{Status: 409, Body: []byte("<html>"), Sent: 6, Got: 10},
	}, views.record)
	if !slices.Equal(views.Writes, []Write{{"a", 7}, {"b", 1}}) || !slices.Equal(views.Stale, []string{"b"}) || len(views.Failed) != 3 {
		t.Errorf("the views are %+v", views)
	}
	want := `1ns a: request (request 1)
2ns b: request (request 2)
3ns balancer: request (request 3)
4ns balancer: request (request 4)
5ns b: request (request 5)
5ns b: write 1 (request 5)
6ns b: refused answer (request 2)
6ns balancer: request (request 6)
7ns balancer: refuse status 503: busy (request 3)
8ns balancer: no answer: reset by peer (request 4)
9ns a: write 7 token 42 (request 1)
10ns balancer: refuse status 409: <html> (request 6)
`
	if text := lines(got); text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	for _, e := range got {
		if e.Key != CounterKey {
			t.Errorf("%s is about %q", e, e.Key)
		}
	}
}

// Where an instance tells its steps, they stand in the place of its answer, at their own times.
func TestStepsOfViewsAreAHistory(t *testing.T) {
	views := Views{Began: time.UnixMicro(1_000_000)}
	const body = `{"instance":%q,"value":%d,"fence":%d,"steps":[{"kind":"grant","key":"lock","at_us":%[4]d0},` +
		`{"kind":"read","key":"pview","value":0,"text":"from a replica","at_us":%[4]d1},` +
		`{"kind":"write","key":"pview","value":%[2]d,"at_us":%[4]d2}]}`
	got := views.withSteps(eventsOf([]answer{
		{Status: 200, Body: fmt.Appendf(nil, body, "b", 1, 43, 100002), Sent: 1, Got: 90_000},
		{Status: 200, Body: fmt.Appendf(nil, body, "a", 1, 42, 100001), Sent: 2, Got: 80_000},
		{Status: 200, Body: []byte(`{"instance":"a","value":2}`), Sent: 3, Got: 70_000},
	}, views.record))
	const want = `1ns b: request (request 1)
2ns a: request (request 2)
3ns a: request (request 3)
10µs a: grant token 42 (request 2)
11µs a: read 0 from a replica (request 2)
12µs a: write 1 (request 2)
20µs b: grant token 43 (request 1)
21µs b: read 0 from a replica (request 1)
22µs b: write 1 (request 1)
70µs a: write 2 (request 3)
`
	if text := lines(got); text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}

func TestGrabsAreAHistory(t *testing.T) {
	grabs := &Grabs{Order: 3}
	got := eventsOf([]answer{
		{Status: 200, Body: []byte(`{"instance":"a","won":true,"driver":1,"winner":1}`), Sent: 1, Got: 5},
		{Status: 409, Body: []byte(`{"instance":"b","won":false,"driver":2,"winner":1}`), Sent: 1, Got: 6},
		{Status: 409, Body: []byte(`{"error":"stale","stale":true,"instance":"b"}`), Sent: 1, Got: 7},
		{Status: 200, Body: []byte(`null`), Sent: 1, Got: 8},
		{Status: 503, Body: []byte("busy"), Sent: 1, Got: 9},
		{Status: 423, Body: []byte(`{"error":"locked","locked":{"by":"this instance"},"instance":"a"}`), Sent: 1, Got: 10},
		{Status: 423, Body: []byte(`{"error":"locked","locked":{"by":"another client","lease_ms":7.4},"instance":"b"}`), Sent: 1, Got: 11},
		{Status: 423, Body: []byte(`{"error":"locked","instance":"b"}`), Sent: 1, Got: 12},
	}, grabs.record)
	if !grabs.Answers[0].Won || grabs.Answers[1].Winner != 1 || !slices.Equal(grabs.Stale, []string{"b"}) {
		t.Errorf("the grabs are %+v", grabs)
	}
	if perInstance := grabs.PerInstance(); perInstance["a"] != 2 || perInstance["b"] != 4 || len(grabs.Locked) != 3 || len(grabs.Failed) != 1 {
		t.Errorf("answers %v, locked %v, failed %v", perInstance, grabs.Locked, grabs.Failed)
	}
	got = append(got, winner{Driver: 1, Instance: "a", Fence: 4}.event(3))
	want := `5ns driver 1: a: you have it (driver 1)
6ns driver 2: b: driver 1 has it (driver 2)
7ns driver 3: refused answer by b (driver 3)
8ns driver 4: was told nothing (driver 4)
9ns driver 5: refuse status 503: busy (driver 5)
10ns driver 6: refuse a: locked by this instance (driver 6)
11ns driver 7: refuse b: locked by another client, with 7 ms of its lease left (driver 7)
12ns driver 8: was told nothing (driver 8)
0s driver 1: win token 4 by a (driver 1)
`
	asks := strings.Count(lines(got), ": request (")
	if text := lines(got[asks:]); asks != 8 || text != want {
		t.Errorf("%d asks, and\n%swant\n%s", asks, text, want)
	}
	if found := history.Noted(got, ToldNothing); len(found) != 2 {
		t.Errorf("%d were told nothing: %+v", len(found), found)
	}
}

func TestSharesOfInstancesAreEven(t *testing.T) {
	for _, c := range []struct {
		perInstance         map[string]int
		requests, instances int
		even, byChance      bool // whether two instances at least have answered
	}{
		{map[string]int{"a": 3, "b": 3}, 6, 2, true, true},
		{map[string]int{"a": 4, "b": 3}, 7, 2, true, true},
		{map[string]int{"a": 4, "b": 2}, 6, 2, false, true},
		{map[string]int{"a": 6}, 6, 1, true, true},
		{map[string]int{"a": 6}, 6, 2, false, false},
		{map[string]int{"a": 3, "b": 3}, 6, 1, false, false},
		{map[string]int{"a": 2, "b": 2, "c": 3}, 7, 3, true, true},
		{map[string]int{}, 6, 1, false, false},
		{map[string]int{"a": 5, "b": 1}, 6, 4, false, true},
	} {
		for byChance, want := range map[bool]bool{false: c.even, true: c.byChance} {
			if err := even(c.perInstance, c.requests, c.instances, byChance); (err == nil) != want {
				t.Errorf("%v of %d over %d, by chance %v: %v", c.perInstance, c.requests, c.instances, byChance, err)
			}
		}
	}
}
