package runner

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"locklab/lab/report/benchfile"
)

var overHTTP = Workload{Name: "http", Kind: HTTP, Waiters: 666, Count: 2}

// Each round of the demo is a repetition of its own, so that v3 / v1 is a ratio inside one round.
func TestParseDemo(t *testing.T) {
	out, err := os.ReadFile("testdata/demo.json")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := parseDemo(out, overHTTP, []string{"v1", "v3"}, 4)
	if err != nil {
		t.Fatal(err)
	}
	var got []benchfile.Run
	for _, r := range runs {
		if r.Rate <= 0 || r.Processes != 2 || r.Waiters != 666 || r.Want != 666 || r.Done != 666 {
			t.Errorf("got %+v", r)
		}
		r.Rate, r.Processes, r.Waiters, r.Want, r.Done = 0, 0, 0, 0, 0
		got = append(got, r)
	}
	want := []benchfile.Run{
		{Workload: "http", Lock: "v1", Rep: 8, Seconds: 0.2, Lost: 649},
		{Workload: "http", Lock: "v3", Rep: 8, Seconds: 0.15},
		{Workload: "http", Lock: "v1", Rep: 9, Seconds: 0.25, Lost: 571},
		{Workload: "http", Lock: "v3", Rep: 9, Seconds: 0.175},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseDemoOfBadBursts(t *testing.T) {
	one := Workload{Name: "http", Kind: HTTP, Waiters: 666, Count: 1}
	for _, c := range []struct {
		row          string
		failed, lost int
		said         string
	}{
		{`"version":"v3","verdict":"unexpected","why":"it must not happen and did","lost":2`, 0, 2, "it must not happen and did"},
		{`"version":"v3","verdict":"inconclusive","why":"2 requests failed","failed":["a","b"],"stale":1`, 3, 0, "2 requests failed"},
		{`"version":"v1","verdict":"inconclusive","why":"1 requests failed","failed":["a"],"lost":7`, 1, 7, "1 requests failed"},
		{`"version":"v1","verdict":"inconclusive","why":"nothing was lost this time"`, 0, 0, ""},
	} {
		out := `{"redis":"redis-server","users":666,"pageview":[{"round":1,"took_ms":5,` + c.row + `}]}`
		runs, err := parseDemo([]byte(out), one, []string{"v1"}, 0)
		if err != nil || len(runs) != 1 || runs[0].Failed != c.failed || runs[0].Lost != c.lost || runs[0].Error != c.said {
			t.Errorf("%s: %+v, %v", c.row, runs, err)
		}
	}
}

func TestParseDemoThatIsNone(t *testing.T) {
	for out, want := range map[string]string{
		`{"redis":"miniredis"}`:    "miniredis",
		`{"redis":"redis-server"}`: "missing",
		`usage: app`:               "app demo --json",
	} {
		if _, err := parseDemo([]byte(out), overHTTP, []string{"v1"}, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", out, err)
		}
	}
}

// The error of a demo that failed is in the record of every version, and the bench continues.
func TestDemoThatFails(t *testing.T) {
	b := &Bench{app: "/bin/false"}
	runs, err := b.runHTTP(t.Context(), overHTTP, []string{"v1", "v3"}, 1)
	if err != nil || len(runs) != 2 {
		t.Fatalf("got %+v, %v", runs, err)
	}
	if r := runs[1]; r.Lock != "v3" || r.Rep != 2 || r.Failed != 1 || !strings.Contains(r.Error, "exit status 1") {
		t.Errorf("got %+v", r)
	}
}
