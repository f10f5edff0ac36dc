package loadtool

import (
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

func replaced(file, from, to string) string { return strings.Replace(file, from, to, 1) }

// A file that shows nothing is refused, with a sentence that says why and what to do.
func TestDefects(t *testing.T) {
	header, body, _ := strings.Cut(views.csv(), "\n")
	lacks := func(run made, name string) string { return run.summary(func(m metrics) { delete(m, name) }) }
	set := func(name, value string, n float64) string {
		return views.summary(func(m metrics) { m[name] = map[string]float64{value: n} })
	}
	for _, c := range []struct{ name, file, says string }{
		{"blank", " \n\n", "is empty"},
		{"a page", "<html><body>502 Bad Gateway</body></html>", "neither JMeter's CSV"},

		{"JMeter: header alone", header + "\n", "stopped before its first answer"},
		{"JMeter: no messages", replaced(views.csv(), "responseMessage", "x"), "no column responseMessage"},
		{"JMeter: dates", replaced(views.csv(), "1795653984000", "2026/11/26 01:46:24"), "line 2 has no times in milliseconds"},
		{"JMeter: a field less", replaced(views.csv(), ",12\n1795653984002,", "\n1795653984002,"), "line 3: wrong number of fields"},
		{"JMeter: no reset", without(views.csv(), "reset"), "one of them is missing"},
		{"JMeter: no final", without(views.csv(), "final"), "stopped before its end"},
		{"JMeter: a sustained load", strings.ReplaceAll(views.csv(), ",view,", ",sustained view,"), "a sustained load"},
		{"JMeter: another plan", header + "\n1,1,Home Page,200,OK,t,1,1\n", "another plan"},
		{"JMeter: twice the same run", views.csv() + body, "several runs"},
		{"JMeter: a failed reset", replaced(views.csv(), "reset,200", "reset,401"), "the reset failed: status 401"},
		{"JMeter: set to something else", replaced(views.csv(), `""value"":0`, `""value"":7`), "not set to 0"},
		{"JMeter: a failed final", replaced(views.csv(), "final,200", "final,502"), "not read at the end: status 502"},
		{"JMeter: nobody answered", made{Pageview, "v3", 2, "! !", 2}.csv(), "no request has a usable answer, the first: status 503"},
		{"JMeter: no version", replaced(views.csv(), `""version"":""v3"",`, ""), "names no version"},
		{"JMeter: the final of another order", replaced(grabs.csv(), `""b"",""id"":5`, `""b"",""id"":6`), "order 5 was not read"},

		{"k6: points", `{"type":"Metric"}` + "\n" + `{"type":"Point"}`, "-e SUMMARY=FILE"},
		{"k6: setup failed", lacks(views, "lab_users"), "no lab_users"},
		{"k6: setup did not begin", set("lab_run{kind:pview,version:v3}", "value", 0), "the setup failed, and nothing was sent"},
		{"k6: a sustained load", strings.ReplaceAll(views.summary(nil), "kind:pview", "kind:sustained"), "a sustained load"},
		{"k6: no final", lacks(views, "lab_read"), "no lab_read"}, // k6 shows 0 for a counter that was not read
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Parse([]byte(c.file))
			if err == nil {
				v, why := verdict(t, r)
				t.Fatalf("it is read: %s: %s; want %q", v, why, c.says)
			}
			wantSentence(t, err)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
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
		r, err := Parse([]byte(file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if v, why := verdict(t, r); v != lab.AsExpected {
			t.Errorf("%s: %s: %s", name, v, why)
		}
	}
}

// Answers that k6 counted, and of which no part is readable, may be anything.
func TestUnknownPartsOfK6AreNotSupported(t *testing.T) {
	for part, says := range map[string]string{
		"lab_written{instance:b,value:4}": "larger than the number of users", "lab_grabbed{instance:b,won:false}": "before the burst",
	} {
		run := views
		if strings.HasPrefix(part, "lab_grabbed") {
			run = grabs
		}
		r, err := Parse([]byte(run.summary(func(m metrics) { delete(m, part) })))
		if err != nil {
			t.Fatal(err)
		}
		if v, why := verdict(t, r); v != lab.Inconclusive || !strings.Contains(why, says) {
			t.Errorf("%s: %s", v, why)
		}
	}
}
