package loadtool

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/lab/burst"
)

// sample is one row of JMeter's file. A post-processor of our plans puts the answer's JSON where JMeter has the status text ("OK").
type sample struct {
	label, code, message string
	began                time.Time
	elapsed              time.Duration
	active               int // threads of its group that were active when it ended; 0: not known
}

// answer is the JSON of every answer of the service.
type answer struct {
	Instance, Version         string
	Value                     *int64 // of the counter
	ID, Order, Driver, Winner uint64
	Won                       *bool
	Winners                   *[]struct{ Driver uint64 }
}

var errSeveral = errors.New("several runs are in this file, because JMeter appends to a file that exists; " +
	"run each with jmeter -n -f, and an -l FILE of its own")

// parseJMeter reads a table: the columns' names, then a row for each sample.
func parseJMeter(text []byte) (Record, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	names, err := reader.Read()
	if err != nil || !slices.Contains(names, "label") {
		return Record{}, errForeign
	}
	for _, name := range []string{"timeStamp", "elapsed", "responseCode", "responseMessage"} {
		if !slices.Contains(names, name) {
			return Record{}, fmt.Errorf("this JMeter file has no column %s; run JMeter with its default settings jmeter.save.saveservice.*", name)
		}
	}
	var samples []sample
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return readPlan(samples)
		}
		if err != nil { // which names the line
			return Record{}, fmt.Errorf("this file is damaged or cut off: %w; run it again", err)
		}
		s, err := newSample(names, row)
		if err != nil {
			line, _ := reader.FieldPos(0)
			return Record{}, fmt.Errorf("line %d has no times in milliseconds: %w; run JMeter with its default settings", line, err)
		}
		samples = append(samples, s)
	}
}

func newSample(names, row []string) (sample, error) {
	field := map[string]string{}
	for i, name := range names {
		field[name] = row[i]
	}
	began, noTime := strconv.ParseUint(field["timeStamp"], 10, 42) // until the year 2109
	elapsed, noDuration := strconv.ParseUint(field["elapsed"], 10, 32)
	active, _ := strconv.Atoi(field["grpThreads"])
	return sample{
		label: field["label"], code: field["responseCode"], message: field["responseMessage"], active: active,
		began: time.UnixMilli(int64(began)), elapsed: time.Duration(elapsed) * time.Millisecond,
	}, cmp.Or(noTime, noDuration)
}

// readPlan reads one run of our plan. The sample reset sets the counter to 0, or makes the order. Each user has a sample view or grab. The
// sample final reads the result. Samples with other labels may stand between.
func readPlan(samples []sample) (Record, error) {
	var plan []sample
	var labels string
	for _, s := range samples {
		if slices.Contains([]string{"reset", "view", "grab", "final"}, s.label) {
			plan, labels = append(plan, s), labels+s.label[:1]
		}
	}
	last := len(plan) - 1
	switch {
	case slices.ContainsFunc(samples, func(s sample) bool { return s.label == "sustained view" }):
		return Record{}, errSustained
	case len(plan) == 0:
		return Record{}, errors.New("no sample of this JMeter file is called reset, view or grab, or final: the run was stopped before its " +
			"first answer, or is of another plan; run a plan of loadtest/jmeter")
	case !regexp.MustCompile(`^r?(v*|g*)f?$`).MatchString(labels):
		return Record{}, errSeveral
	case labels[0] == 'r' && plan[0].code != "200" && plan[0].code != "201": // the plan ends there
		return Record{}, fmt.Errorf("the reset failed: %s; see whether the service answers, and run it again", plan[0].problem())
	case labels[0] != 'r' || labels[last] != 'f' || last < 2:
		return Record{}, errors.New("a run has a sample reset, one view or grab for each user, and a sample final, and one of them is missing: " +
			"JMeter was stopped before its end, or the file is cut off; run it again")
	}
	read := pageview
	if labels[1] == 'g' {
		read = order
	}
	r, err := read(plan[0], plan[1:last], plan[last])
	r.Began = plan[0].began
	return r, err
}

func pageview(reset sample, views []sample, final sample) (Record, error) {
	start, end := reset.answer(), final.answer()
	switch {
	case start.Value == nil || *start.Value != 0:
		return Record{}, fmt.Errorf("the counter was not set to 0: %s; run the plan of loadtest/jmeter", reset.problem())
	case final.code != "200" || end.Value == nil || *end.Value < 0:
		return Record{}, fmt.Errorf("the counter was not read at the end: %s; run it again", final.problem())
	}
	b := &burst.Views{Final: *end.Value}
	var times Times
	var err error
	b.Version, b.Failed, times, err = each(views, func(code string, a answer) bool {
		usable := code == "200" && a.Value != nil
		if usable {
			b.Writes = append(b.Writes, burst.Write{Instance: a.Instance, Value: *a.Value})
		}
		return usable
	})
	b.Users, b.Took = len(b.Writes)+len(b.Failed), took(views)
	return pageviewRecord("JMeter CSV", b, times), err
}

func order(reset sample, grabs []sample, final sample) (Record, error) {
	made, end := reset.answer(), final.answer()
	switch {
	case made.ID == 0:
		return Record{}, fmt.Errorf("the order was not made: %s; see whether the service answers, and run it again", reset.problem())
	case final.code != "200" || end.ID != made.ID || end.Winners == nil:
		return Record{}, fmt.Errorf("order %d was not read at the end: %s; run it again", made.ID, final.problem())
	}
	b := &burst.Grabs{Order: made.ID}
	for _, w := range *end.Winners {
		b.Recorded = append(b.Recorded, w.Driver)
	}
	var times Times
	var err error
	b.Version, b.Failed, times, err = each(grabs, func(code string, a answer) bool {
		usable := (code == "200" || code == "409") && a.Won != nil && a.Order == made.ID
		if usable {
			b.Answers = append(b.Answers, burst.Grab{Instance: a.Instance, Driver: a.Driver, Won: *a.Won, Winner: a.Winner})
		}
		return usable
	})
	b.Drivers, b.Took = len(b.Answers)+len(b.Failed), took(grabs)
	return orderRecord("JMeter CSV", b, times), err
}

// took is the time from the first request to the last answer.
func took(users []sample) time.Duration {
	first, last := users[0].began, users[0].began
	for _, s := range users {
		if s.began.Before(first) {
			first = s.began
		}
		if end := s.began.Add(s.elapsed); end.After(last) {
			last = end
		}
	}
	return last.Sub(first)
}

// each gives every user's answer to keep, which reports whether it is usable. A user without a usable answer has failed, and so has every
// thread that JMeter counted as active and that left no sample.
func each(users []sample, keep func(code string, a answer) bool) (version string, failed []string, _ Times, _ error) {
	var times []time.Duration
	active := 0
	for _, s := range users {
		active = max(active, s.active)
		a := s.answer()
		switch {
		case a.Instance == "" || !keep(s.code, a):
			failed = append(failed, s.problem())
			continue
		case a.Version == "":
			return "", nil, Times{}, errors.New("an answer names no version; run the plan of loadtest/jmeter")
		case version != "" && version != a.Version:
			return "", nil, Times{}, errSeveral
		}
		version, times = a.Version, append(times, s.elapsed)
	}
	failed = append(failed, repeat("a user left no sample: JMeter was stopped", min(active, maxUsers)-len(users))...)
	if version == "" {
		return "", nil, Times{}, fmt.Errorf("no request has a usable answer, the first: %s; "+
			"see whether the service answers, and run it again", failed[0])
	}
	slices.Sort(times)
	at := func(percent int) time.Duration { // interpolates between two samples, as k6 does
		rank := percent * (len(times) - 1)
		low, high := times[rank/100], times[min(rank/100+1, len(times)-1)]
		return low + (high-low)*time.Duration(rank%100)/100
	}
	return version, failed, Times{P50: at(50), P99: at(99), Max: at(100)}, nil
}

// answer is zero where the message is no JSON.
func (s sample) answer() (a answer) {
	if json.Unmarshal([]byte(s.message), &a) != nil {
		return answer{}
	}
	return a
}

// problem shows what a sample has instead of a usable answer.
func (s sample) problem() string {
	if strings.HasPrefix(s.code, "Non HTTP") {
		return fmt.Sprintf("no answer: %.200s", strings.TrimPrefix(s.message, "Non HTTP response message: "))
	}
	return fmt.Sprintf("status %.40s with %.200q, which is no usable answer", s.code, s.message)
}
