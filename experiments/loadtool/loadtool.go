// Package loadtool reads what a load tool left behind, a JMeter .jtl (CSV or XML) or k6's summary,
// into the records that package experiments judges.
//
// What is NOT guaranteed:
//   - The file is believed. Who edits it, or runs another plan under our labels, gets a verdict on that.
//   - Nobody else counted. A load tool does not own the counter, as the demo does: a final value above
//     the confirmed views is no breach here, and makes the record inconclusive.
//   - A k6 summary has counts only: no order of events, no single request, no driver's number.
//   - Times of the two tools do not compare: JMeter's contain the connecting, k6's do not.
package loadtool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
)

// Bounds of what is read: far above what one machine can send at once.
const (
	maxSize  = 64 << 20 // bytes
	maxUsers = 100_000
	maxTime  = 24 * time.Hour // of one request
)

// Kind is what the users of a burst did.
type Kind string

// The kinds, as k6's lab_run names them.
const (
	Pageview Kind = "pview"
	Order    Kind = "order"
)

// Record is one burst as a load tool saw it. Exactly one of Pageview and Order is there. For every
// user there is either a Write (an Answer) or an entry in Failed.
type Record struct {
	Tool     string // "JMeter CSV", "JMeter XML" or "k6"
	Pageview *burst.Views
	Order    *burst.Grabs // of k6: every driver, and maybe the order's number, is 0: not known
	Time     Times
}

// Times say how long the requests with a usable answer took. Zero: the tool did not say.
type Times struct{ Min, P50, P99, Max time.Duration }

// Read reads the file at path. An *fs.PathError means that it cannot be read at all. Any other error
// is one sentence that says why the file shows nothing and what to do.
func Read(path string) (Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return Record{}, err
	}
	defer f.Close()
	return Parse(f)
}

// Parse recognises the format and reads the record, with errors as Read has them. It guarantees no
// verdict: Outcome may still find that the record proves nothing.
func Parse(r io.Reader) (Record, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return Record{}, err
	}
	if len(text) > maxSize {
		return Record{}, fmt.Errorf("the file is longer than %d MB: no single burst leaves that much; give the file of one run", maxSize>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	start := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case len(start) == 0:
		return Record{}, errors.New("the file is empty: the run is not over, or was stopped before its first answer; run it again")
	case start[0] == '{':
		return parseK6(text)
	case start[0] == '<':
		return parseXML(start)
	}
	return parseCSV(text)
}

// errForeign is of files that neither tool wrote in a format that is read here.
var errForeign = errors.New("this is neither a JMeter file nor k6's summary; give the file of jmeter -l FILE, of k6 run -e SUMMARY=FILE or of k6 run --summary-export=FILE")

// damaged says what is broken in a file that was recognised.
func damaged(tool string, format string, args ...any) error {
	return fmt.Errorf("this file of %s is damaged or cut off: %w; run it again", tool, fmt.Errorf(format, args...))
}

// Kind is what the users did.
func (r Record) Kind() Kind {
	if r.Order != nil {
		return Order
	}
	return Pageview
}

// Version is the one that answered, as in the URL.
func (r Record) Version() string {
	if r.Order != nil {
		return r.Order.Version
	}
	return r.Pageview.Version
}

// Users is how many requests were to be sent at once.
func (r Record) Users() int {
	if r.Order != nil {
		return r.Order.Drivers
	}
	return r.Pageview.Users
}

// Failed is what went wrong with each request that has no usable answer; it may have had its effect.
func (r Record) Failed() []string {
	if r.Order != nil {
		return r.Order.Failed
	}
	return r.Pageview.Failed
}

// PerInstance counts the usable answers of each instance.
func (r Record) PerInstance() map[string]int {
	if r.Order != nil {
		return r.Order.PerInstance()
	}
	return r.Pageview.PerInstance()
}

// Outcome is what the record shows, for experiments.Judge. It differs from the bursts' own in one
// point: a counter that shows too much breaks nothing, for others can reach it, too.
func (r Record) Outcome() experiments.Outcome {
	if r.Order != nil {
		return r.Order.Outcome()
	}
	o, b := r.Pageview.Outcome(), r.Pageview
	if surplus := b.Surplus(); surplus > 0 {
		if b.Lost()+b.Inside()+b.Across() == 0 {
			o.Violations = 0
		}
		o.Err = errors.Join(o.Err, fmt.Errorf("the counter shows %d more than the %d confirmed views: did somebody else count, or was a request sent twice? Run it again, alone", surplus, len(b.Writes)))
	}
	return o
}
