package loadtool

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// made is a run that the tests write as each tool would.
type made struct {
	kind    Kind
	version string
	users   int
	writes  string // of pview: "a1 b2"; of order: "a+ b-"; "!": no usable answer; "~": refused as a stale holder
	final   int    // of the counter, or the number of winners
}

// begun is when such a run began.
var begun = time.UnixMilli(1795653984000).UTC()

// rows are a .jtl's samples: label, code, message, milliseconds.
func (m made) rows() [][]string {
	view, reset, final := "view", `{"instance":"a","value":0}`, fmt.Sprintf(`{"instance":"a","value":%d}`, m.final)
	code := "200"
	if m.kind == Order {
		winners := strings.Repeat(`,{"driver":7}`, m.final)
		view, code, reset = "grab", "201", `{"instance":"a","id":5,"winners":[]}`
		final = fmt.Sprintf(`{"instance":"b","id":5,"winners":[%s]}`, strings.TrimPrefix(winners, ","))
	}
	rows := [][]string{{"reset", code, reset, "5"}}
	for i, w := range strings.Fields(m.writes) {
		ms := fmt.Sprint(10 * (i + 1))
		status := map[string]string{"+": "200", "-": "409"}[w[1:]]
		switch {
		case w == "!":
			rows = append(rows, []string{view, "503", `{"error":"the lock was not obtained"}`, ms})
		case w == "~":
			rows = append(rows, []string{view, "409", `{"error":"stale holder","stale":true,"instance":"b"}`, ms})
		case m.kind == Order:
			const grab = `{"instance":%q,"version":%q,"order":5,"driver":%d,"won":%v,"winner":1}`
			rows = append(rows, []string{view, status, fmt.Sprintf(grab, w[:1], m.version, i+1, status == "200"), ms})
		default:
			rows = append(rows, []string{view, "200", fmt.Sprintf(`{"instance":%q,"version":%q,"value":%s}`, w[:1], m.version, w[1:]), ms})
		}
	}
	return append(rows, []string{"final", "200", final, "3"})
}

func (m made) csv() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "grpThreads", "Connect"})
	for i, r := range m.rows() {
		at, active := fmt.Sprint(begun.UnixMilli()+int64(i)), fmt.Sprint(min(m.users, m.users+1-i))
		_ = w.Write([]string{at, r[3], r[0], r[1], r[2], "users 1-1", active, "12"})
	}
	w.Flush()
	return b.String()
}

type metrics = map[string]map[string]float64

// metrics are those of k6, flat.
func (m made) metrics() metrics {
	name, other, final := "lab_written", "value", "lab_final"
	if m.kind == Order {
		name, other, final = "lab_grabbed", "won", "lab_winners"
	}
	all := metrics{
		"lab_users": {"value": float64(m.users), "min": 0, "max": 0},
		"lab_run":   {"value": 1}, "lab_read": {"count": 1}, name: {"count": 0, "rate": 1},
		fmt.Sprintf("lab_run{kind:%s,version:%s}", m.kind, m.version): {"value": 1},
		final:      {"value": float64(m.final)},
		"lab_time": {"min": 10, "med": 20.5, "p(99)": 39, "max": 40},
		"vus":      {"value": 9},
	}
	for _, w := range strings.Fields(m.writes) {
		if w == "!" || w == "~" {
			refused := fmt.Sprintf("lab_refused{status:%s}", map[string]string{"!": "503", "~": "409"}[w])
			for _, name := range []string{"lab_failed", refused} {
				all[name] = map[string]float64{"count": all[name]["count"] + 1}
			}
			continue
		}
		value := strings.NewReplacer("+", "true", "-", "false").Replace(w[1:])
		part := fmt.Sprintf("%s{instance:%s,%s:%s}", name, w[:1], other, value)
		if all[part] == nil {
			all[part] = map[string]float64{}
		}
		all[part]["count"]++
		all[name]["count"]++
	}
	return all
}

// summary is what handleSummary gets; change edits the metrics.
func (m made) summary(change func(metrics)) string {
	shaped := map[string]any{}
	flat := m.metrics()
	if change != nil {
		change(flat)
	}
	for name, values := range flat {
		shaped[name] = map[string]any{"type": "counter", "values": values, "thresholds": map[string]any{"count>=0": map[string]bool{"ok": true}}}
	}
	return text(map[string]any{
		"run": map[string]any{"id": "x", "began": begun}, "metrics": shaped, "setup_data": map[string]any{"order": 5, "start": 17.5},
	})
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// forms are the run in both formats.
func (m made) forms() map[string]string {
	return map[string]string{"csv": m.csv(), "k6": m.summary(nil)}
}
