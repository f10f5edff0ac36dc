// Package loadtool lets k6 and JMeter send a burst, and reads what they write: JMeter's CSV (.jtl), or the JSON summary of our k6 scripts.
// It makes the records that package burst judges.
//
// What is NOT guaranteed:
//   - The file is believed. A file that was edited, or another plan under our labels, is judged as it is.
//   - Other clients may have counted, because a load tool does not own the counter, as the demo does: [burst.Views] are Shared.
//   - A summary of k6 has counts only: no sequence of events, no single request, no driver's number.
//   - Times of the two tools do not compare: JMeter's contain the connecting, k6's do not.
package loadtool

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
)

// maxUsers is far above what one machine can send simultaneously.
const maxUsers = 100_000

// Kind is what the users of a burst did.
type Kind string

// The kinds, as k6's lab_run names them.
const (
	Pageview Kind = "pview"
	Order    Kind = "order"

	sustained Kind = "sustained" // which is not read here
)

var errSustained = errors.New("this is a sustained load, which is not judged here: k6 and JMeter print its outcome; " +
	"run them without app")

// Record is one burst as a load tool saw it. Exactly one of Pageview and Order is set, and the fields above them are taken from it. For
// every user there is either a Write (an Answer) or an entry in Failed.
type Record struct {
	Tool        string    // "JMeter CSV" or "k6"
	Run         string    // is in no other file; JMeter has none
	Began       time.Time // when the tool began
	Kind        Kind
	Version     string         // that answered, as in the URL
	Users       int            // requests that were to be sent simultaneously
	PerInstance map[string]int // usable answers of each instance
	Failed      []string       // what went wrong with each request without a usable answer; it may have had its effect
	Pageview    *burst.Views
	Order       *burst.Grabs // of k6: every driver, and maybe the order's number, is 0: not known
	Time        Times
}

func pageviewRecord(tool string, b *burst.Views, t Times) Record {
	b.Shared = true
	return Record{
		Tool: tool, Kind: Pageview, Version: b.Version, Users: b.Users, PerInstance: b.PerInstance(), Failed: b.Failed, Pageview: b, Time: t,
	}
}

func orderRecord(tool string, b *burst.Grabs, t Times) Record {
	return Record{
		Tool: tool, Kind: Order, Version: b.Version, Users: b.Drivers, PerInstance: b.PerInstance(), Failed: b.Failed, Order: b, Time: t,
	}
}

// Times say how long the requests with a usable answer took. Zero: not known.
type Times struct{ P50, P99, Max time.Duration }

// Read reads the file at path. An *fs.PathError means that it cannot be read at all. Any other error is one sentence that says why the
// file shows nothing, and what to do.
func Read(path string) (Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Record{}, err
	}
	return Parse(text)
}

// Parse recognises the format and reads the record, with errors as Read has them. It guarantees no verdict: Outcome may still find that
// the record proves nothing.
func Parse(text []byte) (Record, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return Record{}, errors.New("the file is empty: the run is not over, or was stopped before its first answer; run it again")
	case text[0] == '{':
		return parseK6(text)
	}
	return parseJMeter(text)
}

var errForeign = errors.New("this is neither JMeter's CSV nor the summary of our k6 scripts; give the file of " +
	"jmeter -n -f -t PLAN -l FILE -Jjmeter.save.saveservice.output_format=csv, or of k6 run -e SUMMARY=FILE")

// Outcome is what the record shows, for lab.Judge.
func (r Record) Outcome() lab.Outcome {
	if r.Order != nil {
		return r.Order.Outcome()
	}
	return r.Pageview.Outcome()
}

// repeat is a list of n times text; empty when n is negative.
func repeat(text string, n int) []string { return slices.Repeat([]string{text}, max(0, n)) }
