// Package junit writes the scorecard of `app lab try` as JUnit XML, which GitLab, Jenkins and the test reporters of GitHub read.
//
// What is NOT guaranteed: that a reader shows everything. Some show the message of a failure, and not its text.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/scorecard"
)

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   suite    `xml:"testsuite"`
}

type suite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"`
	Timestamp  string     `xml:"timestamp,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testcase `xml:"testcase"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testcase struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Time    string  `xml:"time,attr"`
	Skipped *reason `xml:"skipped"`
	Error   *reason `xml:"error"`
	Failure *reason `xml:"failure"`
	Out     string  `xml:"system-out,omitempty"`
	Err     string  `xml:"system-err,omitempty"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Write writes a scorecard as one test suite, with a test case for each row. Package xml replaces characters that XML does not allow.
func Write(w io.Writer, card *scorecard.Scorecard) error {
	s := suite{
		Name: card.Name, Tests: len(card.Rows), Failures: card.Count(scorecard.Violated), Skipped: card.Count(scorecard.NotClaimed),
		Errors: card.Count(scorecard.Inconclusive) + card.Count(scorecard.NotTried), Time: seconds(card.Took),
		Timestamp:  card.Ended.UTC().Format("2006-01-02T15:04:05"),
		Properties: []property{{"program", strings.Join(card.Program, " ")}, {"server", card.Server}, {"build", card.Build}},
	}
	for _, row := range card.Rows {
		s.Cases = append(s.Cases, caseOf(row, card.Stopped))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suites{Suite: s}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// caseOf is the test case of a row. stopped is why the run ended before its last row.
func caseOf(row scorecard.Score, stopped string) testcase {
	c := testcase{Class: "lab try", Name: row.ID + ": " + row.Title, Time: seconds(row.Took), Out: measured(row), Err: row.Stderr}
	why := reason{Message: lab.OneLine(row.Why), Type: string(row.State)}
	switch row.State {
	case scorecard.Violated:
		why.Text = evidence(row)
		c.Failure = &why
	case scorecard.NotTried:
		why.Message = "not tried: " + lab.OneLine(stopped)
		c.Error = &why
	case scorecard.Inconclusive:
		c.Error = &why
	case scorecard.NotClaimed:
		c.Skipped = &reason{Message: why.Message}
	}
	return c
}

// measured are the measurements of a row, one a line.
func measured(row scorecard.Score) string {
	var b strings.Builder
	for _, m := range row.Measures {
		fmt.Fprintf(&b, "%s: %s %s\n", m.Variant, m.Text(m.Median()), m.Label())
	}
	return b.String()
}

// evidence are the reason and the timelines of what was violated.
func evidence(row scorecard.Score) string {
	text := row.Why + "\n"
	for _, v := range row.Variants {
		if v.Verdict == lab.Unexpected {
			text += "\n" + v.Name + ":\n" + history.Timelines(v.Evidence) + "\n"
		}
	}
	return text
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
