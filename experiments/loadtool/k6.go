package loadtool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/experiments/burst"
)

const k6 = "k6"

// summary holds the numbers of each metric by their names.
type summary map[string]map[string]float64

// parseK6 reads the data of handleSummary, and what --summary-export writes.
func parseK6(text []byte) (Record, error) {
	var file struct {
		Metrics map[string]json.RawMessage
		Results json.RawMessage        // what the newer form has instead
		Setup   struct{ Order uint64 } `json:"setup_data"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&file); {
	case err != nil && (errors.Is(err, io.ErrUnexpectedEOF) || bytes.Contains(text, []byte(`"lab_`))):
		return Record{}, damaged(k6, "%w", err)
	case err == nil && file.Metrics == nil && file.Results != nil:
		return Record{}, errors.New("this is k6's new machine-readable summary, which is not read here; run k6 without --new-machine-readable-summary")
	case err != nil || file.Metrics == nil:
		return Record{}, errForeign
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Record{}, damaged(k6, "something follows its end")
	}
	s := summary{}
	for name, raw := range file.Metrics {
		if strings.HasPrefix(name, "lab_") {
			s[name] = numbers(raw)
		}
	}
	return s.record(file.Setup.Order)
}

// numbers are a metric's values, which handleSummary has one level deeper than --summary-export.
func numbers(raw json.RawMessage) map[string]float64 {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	if inner, ok := fields["values"]; ok {
		return numbers(inner)
	}
	values := map[string]float64{}
	for name, field := range fields {
		var n *float64
		if json.Unmarshal(field, &n) == nil && n != nil {
			values[name] = *n
		}
	}
	return values
}

func (s summary) record(order uint64) (Record, error) {
	kind, version, err := s.ran()
	if err != nil {
		return Record{}, err
	}
	users, err := s.whole("lab_users", "value")
	if err != nil {
		return Record{}, err
	}
	if users < 1 || users > maxUsers {
		return Record{}, damaged(k6, "lab_users is %d, and must be from 1 to %d", users, maxUsers)
	}
	r := Record{Tool: k6}
	if r.Time, err = s.times(); err != nil {
		return Record{}, err
	}
	switch kind {
	case Pageview:
		r.Pageview = &burst.Views{Version: version, Users: users}
		err = s.pageview(r.Pageview)
	case Order:
		r.Order = &burst.Grabs{Version: version, Drivers: users, Order: order}
		err = s.order(r.Order)
	default:
		err = damaged(k6, "lab_run has the kind %.40q, and must have pview or order", kind)
	}
	return r, err
}

// ran finds in the tags of lab_run what was run. A threshold alone makes a metric with the value 0.
func (s summary) ran() (kind Kind, version string, err error) {
	for name, values := range s {
		metric, tags := parseName(name)
		if metric != "lab_run" || len(tags) != 2 || tags["kind"] == "" || tags["version"] == "" || values["value"] != 1 {
			continue
		}
		if kind != "" {
			return "", "", damaged(k6, "lab_run names two runs")
		}
		kind, version = Kind(tags["kind"]), tags["version"]
	}
	if kind == "" {
		return "", "", errors.New("this is a summary of k6, but not of our scripts, or their setup failed: lab_run does not say what ran; run a script of loadtest/k6")
	}
	return kind, version, nil
}

// pageview reads which values were written.
func (s summary) pageview(b *burst.Views) error {
	final, err := s.whole("lab_final", "value")
	if err != nil {
		return fmt.Errorf("the counter was not read at the end: %w", err)
	}
	b.Final = int64(final)
	parts, n, err := s.tally("lab_written", "value")
	if err != nil {
		return err
	}
	for _, p := range slices.SortedFunc(maps.Keys(parts), byTags) {
		value, err := strconv.ParseInt(p.other, 10, 64)
		if err != nil {
			return damaged(k6, "lab_written has the value %.40q", p.other)
		}
		b.Writes = append(b.Writes, slices.Repeat([]burst.Write{{Instance: p.instance, Value: value}}, parts[p])...)
	}
	if final == 0 && n > 0 && s["lab_read"]["count"] == 0 {
		return fmt.Errorf("the counter was not read at the end, after %d confirmed views (k6 shows 0 then); run it again", n)
	}
	b.Failed, err = s.failed(b.Users, len(b.Writes), n, fmt.Sprintf("a view wrote a value outside of 1 to %d, or at an instance that INSTANCES does not name", b.Users))
	return err
}

// order reads what drivers were told. Who they are k6 does not say.
func (s summary) order(b *burst.Grabs) error {
	winners, err := s.whole("lab_winners", "value")
	if err != nil {
		return fmt.Errorf("the order was not read at the end: %w", err)
	}
	if winners < 0 || winners > maxUsers {
		return damaged(k6, "lab_winners is %d", winners)
	}
	b.Recorded = make([]uint64, winners)
	parts, n, err := s.tally("lab_grabbed", "won")
	if err != nil {
		return err
	}
	for _, p := range slices.SortedFunc(maps.Keys(parts), byTags) {
		if p.other != "true" && p.other != "false" {
			return damaged(k6, "lab_grabbed has won:%.40q", p.other)
		}
		grab := burst.Grab{Instance: p.instance, Won: p.other == "true"}
		b.Answers = append(b.Answers, slices.Repeat([]burst.Grab{grab}, parts[p])...)
	}
	b.Failed, err = s.failed(b.Drivers, len(b.Answers), n, "a driver was answered by an instance that INSTANCES does not name")
	return err
}

// failed has an entry for each of the users that is not known; answered were counted in all.
func (s summary) failed(users, known, answered int, unknown string) ([]string, error) {
	refused := 0
	if _, ok := s["lab_failed"]; ok {
		var err error
		if refused, err = s.whole("lab_failed", "count"); err != nil {
			return nil, err
		}
	}
	silent := users - answered - refused
	if refused < 0 || silent < 0 || known > answered {
		return nil, damaged(k6, "it counts %d answers, %d of them known, and %d failures of %d users", answered, known, refused, users)
	}
	all := repeat("k6 got no usable answer; its own output says what it got", refused)
	all = append(all, repeat("a user has no answer: k6 was stopped, or a user did not begin", silent)...)
	return append(all, repeat(unknown, answered-known)...), nil
}

// times are in milliseconds. What a changed summaryTrendStats leaves out is not known.
func (s summary) times() (t Times, _ error) {
	for name, to := range map[string]*time.Duration{"min": &t.Min, "med": &t.P50, "p(99)": &t.P99, "max": &t.Max} {
		ms := s["lab_time"][name]
		if ms < 0 || ms > float64(maxTime.Milliseconds()) {
			return t, damaged(k6, "lab_time has %s %v", name, ms)
		}
		*to = time.Duration(ms * float64(time.Millisecond))
	}
	return t, nil
}
