package loadtool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"locklab/lab/burst"
)

// summary has the numbers of each metric by their names.
type summary map[string]struct{ Values map[string]float64 }

// Names of tagged metrics, as the thresholds of our scripts write them.
var (
	runTags     = regexp.MustCompile(`^lab_run\{kind:(pview|order|sustained),version:([^}]+)\}$`)
	refusedTags = regexp.MustCompile(`^lab_refused\{status:([^}]+)\}$`)
	writtenTags = regexp.MustCompile(`^lab_written\{instance:([^,]+),value:(\d+)\}$`)
	grabbedTags = regexp.MustCompile(`^lab_grabbed\{instance:([^,]+),won:(true|false)\}$`)
)

// parseK6 reads what our scripts write to SUMMARY: the metrics of handleSummary by their names, whatever their shape was there.
func parseK6(text []byte) (Record, error) {
	var file struct {
		Run struct {
			ID    string
			Began time.Time
		}
		Metrics summary
		Setup   struct{ Order uint64 } `json:"setup_data"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&file); {
	case err != nil && (errors.Is(err, io.ErrUnexpectedEOF) || bytes.Contains(text, []byte(`"lab_`))):
		return Record{}, damaged("%w", err)
	case err != nil || file.Metrics == nil:
		return Record{}, errForeign // k6's --out json, and its machine-readable summary, too
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Record{}, damaged("something follows its end")
	}
	r, err := file.Metrics.record(file.Setup.Order)
	if err == nil && file.Run.Began.IsZero() {
		err = errors.New("this summary of k6 does not say when its run began, because an older script wrote it; " +
			"run a script of this version's loadtest/k6")
	}
	r.Run, r.Began = file.Run.ID, file.Run.Began
	return r, err
}

func (s summary) record(order uint64) (Record, error) {
	kind, version, err := s.ran()
	if err != nil {
		return Record{}, err
	}
	if kind == sustained {
		return Record{}, errSustained
	}
	users, err := s.required("lab_users")
	if err != nil {
		return Record{}, err
	}
	if users < 1 || users > maxUsers {
		return Record{}, damaged("lab_users is %d, and must be from 1 to %d", users, maxUsers)
	}
	times := Times{s.milliseconds("lab_time", "med"), s.milliseconds("lab_time", "p(99)"), s.milliseconds("lab_time", "max")}
	if min(times.P50, times.P99, times.Max) < 0 || times.Max > maxTime {
		return Record{}, damaged("lab_time is %v", s["lab_time"].Values)
	}
	took := cmp.Or(s.milliseconds("lab_done", "max"), times.Max)
	if took < 0 || took > maxTime {
		return Record{}, damaged("lab_done is %v", s["lab_done"].Values)
	}
	if kind == Order {
		b := &burst.Grabs{Version: version, Drivers: users, Order: order, Took: took}
		err := s.order(b)
		return orderRecord("k6", b, times), err
	}
	b := &burst.Views{Version: version, Users: users, Took: took}
	err = s.pageview(b)
	return pageviewRecord("k6", b, times), err
}

// ran finds in the tags of lab_run what was run. A threshold alone makes a metric with the value 0.
func (s summary) ran() (kind Kind, version string, err error) {
	named := false
	for name, metric := range s {
		tags := runTags.FindStringSubmatch(name)
		if named = named || tags != nil; tags == nil || metric.Values["value"] != 1 {
			continue
		}
		if kind != "" {
			return "", "", damaged("lab_run names two runs")
		}
		kind, version = Kind(tags[1]), tags[2]
	}
	run, ours := s["lab_run"]
	switch {
	case ours && run.Values == nil:
		return "", "", errors.New("this is k6's --summary-export, which is not read here; run k6 with -e SUMMARY=FILE")
	case kind == "" && named:
		return "", "", errors.New("the setup failed, and nothing was sent: see whether the service answers at BASE_URL, and run it again")
	case kind == "":
		return "", "", errors.New("this summary of k6 is not of our scripts: lab_run does not say what ran; run a script of loadtest/k6")
	}
	return kind, version, nil
}

// pageview reads which values were written.
func (s summary) pageview(b *burst.Views) error {
	final, err := s.required("lab_final")
	if err != nil {
		return fmt.Errorf("the counter was not read at the end: %w", err)
	}
	b.Final = int64(final)
	const unknown = "a view wrote a value that is larger than the number of users, or at an instance that did not answer before the burst"
	parts, failed, err := s.answers("lab_written", writtenTags, b.Users, unknown)
	b.Failed = failed
	for _, p := range parts {
		value, _ := strconv.ParseInt(p.tag, 10, 64)
		b.Writes = append(b.Writes, slices.Repeat([]burst.Write{{Instance: p.instance, Value: value}}, p.count)...)
	}
	if final == 0 && len(b.Writes) > 0 && s.count("lab_read") == 0 {
		return fmt.Errorf("the counter was not read at the end, after %d confirmed views (k6 shows 0 then); run it again", len(b.Writes))
	}
	return err
}

// order reads what drivers were told. k6 does not say which driver was told what.
func (s summary) order(b *burst.Grabs) error {
	winners, err := s.required("lab_winners")
	if err != nil {
		return fmt.Errorf("the order was not read at the end: %w", err)
	}
	if winners < 0 || winners > maxUsers {
		return damaged("lab_winners is %d", winners)
	}
	b.Recorded = make([]uint64, winners)
	const unknown = "a driver was answered by an instance that did not answer before the burst"
	parts, failed, err := s.answers("lab_grabbed", grabbedTags, b.Drivers, unknown)
	b.Failed = failed
	for _, p := range parts {
		grab := burst.Grab{Instance: p.instance, Won: p.tag == "true"}
		b.Answers = append(b.Answers, slices.Repeat([]burst.Grab{grab}, p.count)...)
	}
	return err
}

// part is how many answers have an instance and another tag.
type part struct {
	instance, tag string
	count         int
}

// answers returns the parts of a counter, and an entry for each user that is in none of them.
func (s summary) answers(metric string, tags *regexp.Regexp, users int, unknown string) (parts []part, failed []string, _ error) {
	answered, failures, known := s.count(metric), s.count("lab_failed"), 0
	silent := users - answered - failures
	for _, name := range slices.Sorted(maps.Keys(s)) {
		tag := tags.FindStringSubmatch(name)
		if tag == nil {
			continue
		}
		n := s.count(name)
		if n < 0 || n > answered {
			return nil, nil, damaged("%s is %d of %d", name, n, answered)
		}
		parts, known = append(parts, part{tag[1], tag[2], n}), known+n
	}
	refused := s.refused()
	if failures < len(refused) || silent < 0 || known > answered {
		return nil, nil, damaged("it counts %d answers, %d of them known, and %d failures of %d users", answered, known, failures, users)
	}
	return parts, slices.Concat(
		refused,
		repeat("k6 got no usable answer; its own output says what it got", failures-len(refused)),
		repeat("a user has no answer: k6 was stopped, or a user did not begin", silent),
		repeat(unknown, answered-known)), nil
}

// refused has the status of each request that was answered without a usable answer. Older scripts do not count them.
func (s summary) refused() (statuses []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if tag := refusedTags.FindStringSubmatch(name); tag != nil {
			statuses = append(statuses, repeat("status "+tag[1]+", which is no usable answer", min(s.count(name), maxUsers))...)
		}
	}
	return statuses
}

// count is 0 for a counter to which nothing was added: k6 leaves it out.
func (s summary) count(metric string) int { return int(s[metric].Values["count"]) }

// required is a value that every whole run has.
func (s summary) required(metric string) (int, error) {
	n, ok := s[metric].Values["value"]
	if !ok {
		return 0, fmt.Errorf("the summary of k6 has no %s: the run was stopped, or its setup or teardown failed; run it again", metric)
	}
	return int(n), nil
}

// milliseconds is not known, and 0, when a changed summaryTrendStats or an older script leaves it out.
func (s summary) milliseconds(metric, stat string) time.Duration {
	return time.Duration(s[metric].Values[stat] * float64(time.Millisecond))
}
