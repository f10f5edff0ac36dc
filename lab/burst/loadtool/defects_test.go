package loadtool

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"locklab/lab"
)

var (
	views = made{Pageview, "v3", 4, "a1 b2 a3 b4", 4}
	grabs = made{Order, "v3", 4, "a+ b- a- b-", 1}
)

// without drops the lines with a word.
func without(file, word string) string {
	var b strings.Builder
	for line := range strings.Lines(file) {
		if !strings.Contains(line, word) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func body(file string) string { _, rest, _ := strings.Cut(file, "\n"); return rest }

func replaced(file, from, to string) string { return strings.Replace(file, from, to, 1) }

var (
	one  = made{Pageview, "v3", 1, "a1", 1}
	dead = made{Pageview, "v3", 2, "! !", 2}
)

// jmeterDefects are files that must be refused, with what the error must say.
var jmeterDefects = []struct{ name, file, says string }{
	{"empty", "", "is empty"},
	{"blank", " \n\n", "is empty"},
	{"header alone", strings.SplitAfter(views.csv(), "\n")[0], "no samples"},
	{"no header", body(views.csv()), "print_field_names=true"},
	{"no header, semicolons", strings.ReplaceAll(body(views.csv()), ",", ";"), "print_field_names=true"},
	{"another delimiter", strings.ReplaceAll(views.csv(), ",", "^"), "default_delimiter=,"},
	{"semicolons", strings.ReplaceAll(views.csv(), ",", ";"), "default_delimiter=,"},
	{"tabs", strings.ReplaceAll(views.csv(), ",", "\t"), "default_delimiter=,"},
	{"no times", replaced(views.csv(), "timeStamp", "x"), "timestamp_format=ms"},
	{"a distant future", replaced(views.csv(), "1795653984000", "281474976710655"), "timestamp_format=ms"},
	{"dates", replaced(views.csv(), "1795653984000", "2026/11/26 01:46:24"), "timestamp_format=ms"},
	{"XML", `<?xml version="1.0"?><testResults version="1.2"></testResults>`, "output_format=csv"},
	{"XML that was cut off", `<testResults version="1.2"><sample t="1" lb="Accueil"`, "output_format=csv"},
	{"no messages", replaced(views.csv(), "responseMessage", "x"), "response_message=true"},
	{"no codes", replaced(views.csv(), "responseCode", "x"), "response_code=true"},
	{"no reset", without(views.csv(), "reset"), "reset is missing"},
	{"no final", without(views.csv(), "final"), "final is missing"},
	{"no users", without(views.csv(), "view"), "neither a sample view nor grab"},
	{"a sustained load", strings.ReplaceAll(views.csv(), ",view,", ",sustained view,"), "a sustained load"},
	{"another plan", strings.SplitAfter(views.csv(), "\n")[0] + "1,1,Home Page,200,OK,t,1,1\n", `its first label is "Home Page"`},
	{"twice the same run", views.csv() + body(views.csv()), "several runs"},
	{"twice the same run, with names", views.csv() + views.csv(), "several runs"},
	{"an interrupted run before", without(views.csv(), "final") + body(views.csv()), "several runs"},
	{"mixed versions", replaced(views.csv(), `""v3""`, `""v1""`), "several runs"},
	{"mixed kinds", replaced(views.csv(), "view", "grab"), "several runs"},
	{"a failed reset", replaced(views.csv(), "reset,200", "reset,401"), "the reset failed: status 401"},
	{"no connection", replaced(views.csv(), "reset,200", "reset,Non HTTP response code: java.net.X"), "the reset failed: no answer"},
	{"set to something else", replaced(views.csv(), `""value"":0`, `""value"":7`), "not set to 0"},
	{"a failed final", replaced(views.csv(), "final,200", "final,502"), "not read at the end: status 502"},
	{"final without a value", replaced(views.csv(), `""a"",""value"":4`, `""a"",""x"":4`), "not read at the end"},
	{"nobody answered", dead.csv(), "no request has a usable answer, the first: status 503"},
	{"plain text", replaced(one.csv(), `"{""instance"":""a"",""version"":""v3"",""value"":1}"`, "OK"), `"OK", which is no usable answer`},
	{"no version", replaced(views.csv(), `""version"":""v3"",`, ""), "names no version"},
	{"the final of another order", replaced(grabs.csv(), `""b"",""id"":5`, `""b"",""id"":6`), "order 5 was not read"},
	{"no order", replaced(grabs.csv(), `""id"":5`, `""x"":5`), "the order was not made"},
	{"a time that is none", replaced(views.csv(), ",5,reset", ",5s,reset"), "no number of milliseconds"},
	{"a field less", replaced(views.csv(), ",12\n1795653984002,", "\n1795653984002,"), "damaged"},
	{"no end of line", strings.TrimSuffix(views.csv(), "\n"), "its last line has no end"},
	{"a page", "<html><body>502 Bad Gateway</body></html>", "neither JMeter's CSV"},
	{"broken XML", "<<<", "neither JMeter's CSV"},
	{"text", "a poem\nof two lines", "neither JMeter's CSV"},
	{"k6's points", "metric_name,timestamp,metric_value\nhttp_reqs,1,1\n", "neither JMeter's CSV"},
	{"bytes", "\x00\x1f\x8b\xff\xfe", "neither JMeter's CSV"},
}

func TestDefectsOfJMeterFiles(t *testing.T) {
	for _, c := range jmeterDefects {
		t.Run(c.name, func(t *testing.T) { wantDefect(t, c.file, c.says) })
	}
}

func TestDefectsOfK6Summaries(t *testing.T) {
	type metrics = map[string]map[string]float64
	change := func(run made, with func(metrics)) string { return run.summary(with) }
	set := func(name, value string, n float64) string {
		return change(views, func(m metrics) { m[name] = map[string]float64{value: n} })
	}
	lacks := func(run made, name string) string { return change(run, func(m metrics) { delete(m, name) }) }
	for _, c := range []struct{ name, file, says string }{
		{"an older script's", replaced(views.summary(nil), `"began"`, `"x"`), "does not say when its run began"},
		{"no metrics", `{"metrics":{}}`, "not of our scripts"},
		{"another's JSON", `{"name":"x"}`, "neither JMeter's CSV"},
		{"metrics of another", `{"metrics":[1]}`, "neither JMeter's CSV"},
		{"points", `{"type":"Metric"}` + "\n" + `{"type":"Point"}`, "neither JMeter's CSV"},
		{"the machine-readable summary", `{"results":{"metrics":[]},"version":"1"}`, "-e SUMMARY=FILE"},
		{"the exported summary", views.export(), "run k6 with -e SUMMARY=FILE"},
		{"two summaries", views.summary(nil) + views.summary(nil), "something follows its end"},
		{"broken inside", replaced(views.summary(nil), `:`, `;`), "damaged"},
		{"setup failed", lacks(views, "lab_users"), "no lab_users"},
		{"setup did not begin", set("lab_run{kind:pview,version:v3}", "value", 0), "the setup failed, and nothing was sent"},
		{"two runs", set("lab_run{kind:pview,version:v1}", "value", 1), "two runs"},
		{"a sustained load", strings.ReplaceAll(views.summary(nil), "kind:pview", "kind:sustained"), "a sustained load"},
		{"another kind", strings.ReplaceAll(views.summary(nil), "kind:pview", "kind:party"), "does not say what ran"},
		{"no final", lacks(views, "lab_final"), "not read at the end"},
		{"final 0", set("lab_final", "value", 0), "not read at the end, after 4"},
		{"no winners", lacks(grabs, "lab_winners"), "not read at the end"},
		{"winners below nothing", change(grabs, func(m metrics) { m["lab_winners"]["value"] = -1 }), "lab_winners is -1"},
		{"many winners", change(grabs, func(m metrics) { m["lab_winners"]["value"] = 1e9 }), "lab_winners is 1000000000"},
		{"half a user", set("lab_users", "value", 0.5), "from 1 to"},
		{"no user", set("lab_users", "value", 0), "from 1 to"},
		{"many users", set("lab_users", "value", 1e9), "from 1 to"},
		{"many views", set("lab_written{instance:a,value:1}", "count", 1e15), "1000000000000000 of 4"},
		{"more views than users", set("lab_users", "value", 3), "it counts 4 answers"},
		{"fewer in all than in parts", set("lab_written", "count", 3), "it counts 3 answers"},
		{"no total", lacks(views, "lab_written"), "1 of 0"},
		{"below nothing", set("lab_failed", "count", -1), "-1 failures"},
		{"refused without a failure", set("lab_refused{status:503}", "count", 1e15), "0 failures"},
		{"a part below nothing", set("lab_written{instance:a,value:1}", "count", -1), "-1 of 4"},
		{"a part without an end", set("lab_written{instance:a,value:1}", "count", 1e300), "of 4"},
		{"time runs backwards", set("lab_time", "med", -1), "lab_time"},
		{"the end before the start", set("lab_done", "max", -1), "lab_done"},
		{"a late end", set("lab_done", "max", 1e300), "lab_done"},
		{"a long time", set("lab_time", "max", 1e300), "lab_time"},
	} {
		t.Run(c.name, func(t *testing.T) { wantDefect(t, c.file, c.says) })
	}
}

// k6 shows 0 for a counter that was not read; lab_read tells the two apart.
func TestACounterThatWasReadMayBeZero(t *testing.T) {
	r, err := Parse(strings.NewReader(views.summary(func(m map[string]map[string]float64) {
		m["lab_final"], m["lab_read"] = map[string]float64{"value": 0}, map[string]float64{"count": 1}
	})))
	if err != nil {
		t.Fatal(err)
	}
	if v, why := verdict(t, r); v != lab.Unexpected {
		t.Errorf("v3 lost everything, and the verdict is %s: %s", v, why)
	}
}

func wantDefect(t *testing.T, file, says string) {
	t.Helper()
	r, err := Parse(strings.NewReader(file))
	if err == nil {
		v, why := verdict(t, r)
		t.Fatalf("it is read: %s: %s; want %q", v, why, says)
	}
	wantSentence(t, err)
	if !strings.Contains(err.Error(), says) {
		t.Errorf("%q does not say %q", err, says)
	}
}

// Changes by JMeter's settings and by editors must not matter.
func TestVariantsAreRead(t *testing.T) {
	for name, file := range map[string]string{
		"lines of Windows":   strings.ReplaceAll(views.csv(), "\n", "\r\n"),
		"byte order mark":    "\ufeff" + views.csv(),
		"byte order mark, 2": "\ufeff" + views.summary(nil),
		"a listener between": replaced(views.csv(), "1795653984002,20,", "9,9,Transaction Controller,200,OK,t,4,1\n1795653984002,20,"),
		"no threads":         strings.ReplaceAll(views.csv(), "grpThreads", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(strings.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if v, why := verdict(t, r); v != "as expected" {
				t.Errorf("%s: %s", v, why)
			}
		})
	}
}

// Answers that k6 counted, and of which no part is readable, may be anything.
func TestUnknownPartsOfK6AreNotSupported(t *testing.T) {
	for _, c := range []struct {
		run             made
		part, now, says string
	}{
		{views, "lab_written{instance:b,value:4}", "lab_written", "larger than the number of users"},
		{views, "lab_written{instance:b,value:4}", "lab_written{instance:b,value:x}", "larger than the number of users"},
		{grabs, "lab_grabbed{instance:b,won:false}", "lab_grabbed{instance:b,won:maybe}", "before the burst"},
	} {
		r, err := Parse(strings.NewReader(c.run.summary(func(m map[string]map[string]float64) {
			part := m[c.part]
			delete(m, c.part)
			if c.now != "lab_written" {
				m[c.now] = part
			}
		})))
		if err != nil {
			t.Fatal(err)
		}
		if v, why := verdict(t, r); v != lab.Inconclusive || !strings.Contains(why, c.says) {
			t.Errorf("%s: %s", v, why)
		}
	}
}

func TestLongFilesAreRefused(t *testing.T) {
	_, err := Parse(bytes.NewReader(make([]byte, maxSize+1)))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxSize>>20)) {
		t.Error(err)
	}
}
