package loadtool

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

const jmeterCSV = "JMeter CSV"

// delimiters that jmeter.save.saveservice.default_delimiter is known to have.
const delimiters = ",;\t|"

// columns that are read, and the setting of JMeter that writes each.
var columns = []struct{ name, setting string }{
	{"label", "label"}, {"responseCode", "response_code"}, {"responseMessage", "response_message"}, {"elapsed", "time"},
}

// parseCSV reads a .jtl with a row for each sample and the columns' names in the first.
func parseCSV(text []byte) (Record, error) {
	reader, column, err := header(text)
	if err != nil {
		return Record{}, err
	}
	for _, c := range columns {
		if _, ok := column[c.name]; !ok {
			return Record{}, fmt.Errorf("this JMeter file has no column %s; run JMeter with -Jjmeter.save.saveservice.%s=true", c.name, c.setting)
		}
	}
	if text[len(text)-1] != '\n' {
		return Record{}, damaged(jmeterCSV, "its last line has no end")
	}
	var samples []sample
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return record(jmeterCSV, samples)
		}
		if err != nil {
			return Record{}, damaged(jmeterCSV, "%w", err)
		}
		field := func(name string) string {
			if i, ok := column[name]; ok {
				return row[i]
			}
			return ""
		}
		if field("label") == "label" {
			return Record{}, errSeveral // the names again
		}
		s, err := newSample(field("label"), field("responseCode"), field("responseMessage"), field("elapsed"), field("grpThreads"))
		if err != nil {
			line, _ := reader.FieldPos(0)
			return Record{}, damaged(jmeterCSV, "line %d: %w", line, err)
		}
		samples = append(samples, s)
	}
}

// header finds the delimiter and where each column is. The reader stands behind the names.
func header(text []byte) (*csv.Reader, map[string]int, error) {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	for _, delimiter := range delimiters {
		reader := csv.NewReader(bytes.NewReader(text))
		reader.Comma = delimiter
		names, err := reader.Read()
		if err != nil {
			continue
		}
		if slices.Contains(names, "label") && slices.Contains(names, "elapsed") {
			column := map[string]int{}
			for i, name := range names {
				column[name] = i
			}
			return reader, column, nil
		}
		if slices.ContainsFunc(names, func(field string) bool {
			return slices.Contains([]string{labelReset, labelView, labelGrab, labelFinal}, field)
		}) {
			return nil, nil, errors.New("this JMeter file does not name its columns in the first line; run JMeter with -Jjmeter.save.saveservice.print_field_names=true")
		}
	}
	if line := string(first); strings.Contains(line, "label") && strings.Contains(line, "elapsed") {
		return nil, nil, fmt.Errorf("the columns of this JMeter file are divided by none of %q; run JMeter with -Jjmeter.save.saveservice.default_delimiter=,", delimiters)
	}
	return nil, nil, errForeign
}

// newSample reads the numbers of a sample. How many threads were active need not be said.
func newSample(label, code, message, elapsed, active string) (sample, error) {
	s := sample{label: label, code: code, message: message}
	ms, err := strconv.ParseInt(elapsed, 10, 64)
	if err != nil || ms < 0 || ms > maxTime.Milliseconds() {
		return s, fmt.Errorf("the time of %.40q is %.40q, which is no number of milliseconds", label, elapsed)
	}
	s.elapsed = time.Duration(ms) * time.Millisecond
	if active != "" {
		if s.active, err = strconv.Atoi(active); err != nil {
			return s, fmt.Errorf("the number of threads of %.40q is %.40q", label, active)
		}
	}
	return s, nil
}

// timesOf sums up how long samples took. Between two samples it interpolates, as k6 does.
func timesOf(samples []sample) Times {
	if len(samples) == 0 {
		return Times{}
	}
	all := make([]time.Duration, len(samples))
	for i, s := range samples {
		all[i] = s.elapsed
	}
	slices.Sort(all)
	at := func(percent int) time.Duration {
		rank := percent * (len(all) - 1)
		low, rest := all[rank/100], time.Duration(rank%100)
		if rest == 0 {
			return low
		}
		return low + (all[rank/100+1]-low)*rest/100
	}
	return Times{Min: all[0], P50: at(50), P99: at(99), Max: all[len(all)-1]}
}
