package loadtool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/lab/burst"
)

// summary has the numbers of each metric by their names.
type summary map[string]struct{ Values map[string]float64 }

// parseK6 reads what our scripts write to SUMMARY: the metrics of handleSummary by their names, whatever their shape was there.
func parseK6(text []byte) (r Record, err error) {
	var file struct {
		Run struct {
			ID    string
			Began time.Time
		}
		Metrics summary
		Setup   struct{ Order uint64 } `json:"setup_data"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return r, fmt.Errorf("this file is damaged or cut off, or not what k6 run -e SUMMARY=FILE writes: %w; run it again", err)
	}
	s := file.Metrics
	kind, version, err := s.ran()
	if err != nil {
		return r, err
	}
	required := map[Kind][]string{Pageview: {"lab_users", "lab_read", "lab_final"}, Order: {"lab_users", "lab_winners"}}[kind]
	for _, metric := range required {
		if s[metric].Values == nil {
			return r, fmt.Errorf("the summary of k6 has no %s: the run was stopped, or its setup or teardown failed; run it again", metric)
		}
	}
	users := s.number("lab_users", "value")
	times := Times{s.milliseconds("lab_time", "med"), s.milliseconds("lab_time", "p(99)"), s.milliseconds("lab_time", "max")}
	took := cmp.Or(s.milliseconds("lab_done", "max"), times.Max)
	if kind == Order {
		r = orderRecord("k6", s.order(&burst.Grabs{Version: version, Drivers: users, Order: file.Setup.Order, Took: took}), times)
	} else {
		r = pageviewRecord("k6", s.pageview(&burst.Views{Version: version, Users: users, Took: took}), times)
	}
	r.Run, r.Began = file.Run.ID, file.Run.Began
	return r, nil
}

// ran finds in the tags of lab_run what was run. A threshold alone makes a metric with the value 0.
func (s summary) ran() (kind Kind, version string, err error) {
	if s["lab_run"].Values == nil { // of another script, or of k6's --summary-export
		return "", "", errForeign
	}
	for name, metric := range s {
		if of, tags := tagged(name); of == "lab_run" && metric.Values["value"] == 1 {
			kind, version = cmp.Or(Kind(tags["kind"]), kind), cmp.Or(tags["version"], version)
		}
	}
	switch kind {
	case Pageview, Order:
		return kind, version, nil
	case sustained:
		return "", "", errSustained
	}
	return "", "", errors.New("the setup failed, and nothing was sent: see whether the service answers at BASE_URL, and run it again")
}

// pageview reads which values were written.
func (s summary) pageview(b *burst.Views) *burst.Views {
	b.Final = int64(s["lab_final"].Values["value"])
	const unknown = "a view wrote a value that is larger than the number of users, or at an instance that did not answer before the burst"
	b.Failed = s.answers("lab_written", b.Users, unknown, func(tags map[string]string, n int) bool {
		value, err := strconv.ParseInt(tags["value"], 10, 64)
		if err == nil {
			b.Writes = append(b.Writes, slices.Repeat([]burst.Write{{Instance: tags["instance"], Value: value}}, n)...)
		}
		return err == nil
	})
	return b
}

// order reads what drivers were told. k6 does not say which driver was told what.
func (s summary) order(b *burst.Grabs) *burst.Grabs {
	b.Recorded = make([]uint64, s.number("lab_winners", "value"))
	const unknown = "a driver was answered by an instance that did not answer before the burst"
	b.Failed = s.answers("lab_grabbed", b.Drivers, unknown, func(tags map[string]string, n int) bool {
		b.Answers = append(b.Answers, slices.Repeat([]burst.Grab{{Instance: tags["instance"], Won: tags["won"] == "true"}}, n)...)
		return true
	})
	return b
}

// answers gives keep the parts of a counter. It returns an entry for each user that is in none of those that keep could read.
func (s summary) answers(metric string, users int, unknown string, keep func(tags map[string]string, n int) bool) (failed []string) {
	answered, unusable := s.number(metric, "count"), s.number("lab_failed", "count")
	silent := users - answered - unusable
	for _, name := range slices.Sorted(maps.Keys(s)) {
		n := s.number(name, "count")
		switch of, tags := tagged(name); {
		case of == metric && tags["instance"] != "" && keep(tags, n): // other parts have one tag alone
			answered -= n
		case of == "lab_refused" && tags["status"] != "":
			failed = append(failed, repeat("status "+tags["status"]+", which is no usable answer", n)...)
		}
	}
	return slices.Concat(
		failed,
		repeat("k6 got no usable answer; its own output says what it got", unusable-len(failed)),
		repeat("a user has no answer: k6 was stopped, or a user did not begin", silent),
		repeat(unknown, answered))
}

// tagged splits the name of a metric as the thresholds of our scripts write it: lab_written{instance:a,value:1}.
func tagged(name string) (metric string, tags map[string]string) {
	metric, rest, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
	tags = map[string]string{}
	for pair := range strings.SplitSeq(rest, ",") {
		if tag, value, found := strings.Cut(pair, ":"); found {
			tags[tag] = value
		}
	}
	return metric, tags
}

// number is 0 for a counter to which nothing was added: k6 leaves it out.
func (s summary) number(metric, stat string) int {
	return int(min(max(0, s[metric].Values[stat]), maxUsers))
}

// milliseconds is not known, and 0, when a changed summaryTrendStats leaves it out.
func (s summary) milliseconds(metric, stat string) time.Duration {
	return time.Duration(s[metric].Values[stat] * float64(time.Millisecond))
}
