package loadtool

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/versions"
)

// verdict judges a record as the command does.
func verdict(t *testing.T, r Record) (lab.Verdict, string) {
	t.Helper()
	claim, ok := versions.Find(r.Version)
	if !ok {
		return lab.Inconclusive, "no claim"
	}
	o := r.Outcome()
	v := lab.Judge(burst.Expect(claim), o)
	return v, v.Because(o)
}

// judgements are runs, and how they must be judged.
var judgements = []struct {
	name    string
	run     made
	lost    int
	inside  int
	across  int
	verdict lab.Verdict
	why     string
}{
	{"v3 holds", made{Pageview, "v3", 4, "a1 b2 a3 b4", 4}, 0, 0, 0, lab.AsExpected, ""},
	{"v3 loses", made{Pageview, "v3", 4, "a1 b2 a3 b3", 3}, 1, 0, 1, lab.Unexpected, "must not happen"},
	{"v1 loses", made{Pageview, "v1", 4, "a1 b1 a2 b2", 2}, 2, 0, 2, lab.AsExpected, ""},
	{"v2 loses nothing", made{Pageview, "v2", 4, "a1 b2 a3 b4", 4}, 0, 0, 0, lab.Inconclusive, "run it again"},
	{"v3 refuses a user", made{Pageview, "v3", 4, "a1 b2 a3 !", 3}, 0, 0, 0, lab.Inconclusive, "the first: status 503"},
	{"v3 with another's view", made{Pageview, "v3", 4, "a1 b2 a3 b4", 5}, 0, 0, 0, lab.Inconclusive, "did somebody else count"},
	{"v3 at one instance", made{Pageview, "v3", 2, "a1 a2", 2}, 0, 0, 0, lab.Inconclusive, "half"},
	{"v3 with a stale holder", made{Pageview, "v3", 4, "a1 b2 a3 ~", 3}, 0, 0, 0, lab.Inconclusive, "1 requests failed"},
	{"no such version", made{Pageview, "v99", 2, "a1 b2", 2}, 0, 0, 0, lab.Inconclusive, "no claim"},
	{"one winner", made{Order, "v3", 4, "a+ b- a- b-", 1}, 0, 0, 0, lab.AsExpected, ""},
	{"two winners", made{Order, "v3", 4, "a+ b+ a- b-", 2}, 0, 0, 0, lab.Unexpected, "must not happen"},
	{"has no winner", made{Order, "v3", 4, "a- b- a- b-", 0}, 0, 0, 0, lab.Inconclusive, "has no winner"},
}

// The same run must be judged the same, no matter which tool wrote it.
func TestBothFormatsAreJudgedTheSame(t *testing.T) {
	for _, c := range judgements {
		for form, file := range c.run.forms() {
			t.Run(c.name+"/"+form, func(t *testing.T) {
				r, err := Parse([]byte(file))
				if err != nil {
					t.Fatal(err)
				}
				if r.Kind != c.run.kind || r.Version != c.run.version || r.Users != c.run.users || !r.Began.Equal(begun) {
					t.Errorf("%s of %s, %d users, at %s", r.Kind, r.Version, r.Users, r.Began)
				}
				if b := r.Pageview; b != nil && (b.Lost() != c.lost || b.Inside() != c.inside || b.Across() != c.across) {
					t.Errorf("lost %d, inside %d, across %d; want %d, %d, %d", b.Lost(), b.Inside(), b.Across(), c.lost, c.inside, c.across)
				}
				if b := r.Order; b != nil && b.Winners() != c.run.final {
					t.Errorf("%d winners, want %d", b.Winners(), c.run.final)
				}
				if v, why := verdict(t, r); v != c.verdict || !strings.Contains(why, c.why) {
					t.Errorf("%s: %q; want %s with %q", v, why, c.verdict, c.why)
				}
			})
		}
	}
}

// A burst takes from its first request to its last answer. A script of k6 that does not say so has at least its longest request.
func TestTimes(t *testing.T) {
	const ms = time.Millisecond
	done := func(m metrics) { m["lab_done"] = map[string]float64{"max": 55} }
	jmeter, k6 := Times{25 * ms, 39700 * time.Microsecond, 40 * ms}, Times{20500 * time.Microsecond, 39 * ms, 40 * ms}
	for _, c := range []struct {
		file string
		want Times
		took time.Duration
	}{
		{views.csv(), jmeter, 43 * ms}, // a user begins each millisecond
		{strings.Replace(views.csv(), "1795653984001,10,", "1795653984003,10,", 1), jmeter, 42 * ms}, // the first row is not of the first request
		{views.summary(nil), k6, 40 * ms},
		{views.summary(done), k6, 55 * ms},
	} {
		r, err := Parse([]byte(c.file))
		if err != nil || r.Time != c.want || r.Pageview.Took != c.took {
			t.Errorf("%v, %+v in %v; want %+v in %v", err, r.Time, r.Pageview.Took, c.want, c.took)
		}
	}
}

// The files are from real runs with 20 users. A format that is not read is refused with the flag that makes the tool write the other.
func TestRealFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	refused := map[string]string{"xml.jtl": "-Jjmeter.save.saveservice.output_format=csv", "export.json": "-e SUMMARY=FILE"}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			kind, rest, _ := strings.Cut(filepath.Base(name), "-")
			version, format, _ := strings.Cut(rest, ".")
			r, err := Read(name)
			if flag := refused[format]; flag != "" {
				if err == nil || !strings.Contains(err.Error(), flag) {
					t.Fatalf("%v does not name %s", err, flag)
				}
				wantSentence(t, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			timed := r.Time.P50 > 0 && r.Time.Max >= r.Time.P99 && r.Began.Year() == 2026
			if string(r.Kind) != kind || r.Version != version || r.Users != 20 || len(r.PerInstance) != 2 || !timed {
				t.Errorf("it is %s of %s by %d users at %v in %+v", r.Kind, r.Version, r.Users, r.PerInstance, r.Time)
			}
			if v, why := verdict(t, r); v != lab.AsExpected {
				t.Errorf("%s: %s", v, why)
			}
		})
	}
}

// A file that was cut off anywhere must not pass.
func TestCutFilesAreNotSupported(t *testing.T) {
	files := map[string]string{}
	for _, run := range []made{{Pageview, "v3", 2, "a1 b2", 2}, {Pageview, "v1", 2, "a1 b1", 1}, {Order, "v3", 2, "a+ b-", 1}} {
		for form, file := range run.forms() {
			files[string(run.kind)+" "+run.version+" "+form] = file
		}
	}
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			for n := range len(file) - 3 { // without JMeter's last field, which is not read
				r, err := Parse([]byte(file[:n]))
				if err != nil {
					wantSentence(t, err)
					continue
				}
				if v, _ := verdict(t, r); v == lab.AsExpected {
					t.Fatalf("the first %d of %d bytes are as expected", n, len(file))
				}
			}
			if r, err := Parse([]byte(file)); err != nil {
				t.Error(err)
			} else if v, why := verdict(t, r); v != lab.AsExpected {
				t.Error(v, why)
			}
		})
	}
}

// wantSentence checks that an error is for people: one line, which says what to do.
func wantSentence(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if strings.Contains(text, "\n") || !(strings.Contains(text, "run") || strings.Contains(text, "give")) {
		t.Errorf("%q does not say in one line what to do", text)
	}
}
