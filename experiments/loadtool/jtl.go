package loadtool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Labels of the samples in our JMeter plans.
const (
	labelReset = "reset" // sets the counter to 0, or makes the order; once, before all users
	labelView  = "view"  // one for each user
	labelGrab  = "grab"  // one for each driver
	labelFinal = "final" // reads what is left; once, after all users
)

// sample is one row of a .jtl. A post-processor of our plans puts the answer's JSON where JMeter has
// the words behind the status ("OK").
type sample struct {
	label, code, message string
	elapsed              time.Duration
	active               int // threads of its group that were active when it ended; 0: not said
}

// plan is the samples of one run of our plan.
type plan struct {
	reset, final *sample
	shots        []sample // views or grabs
}

// record makes a record of a file's samples, in the file's order.
func record(tool string, samples []sample) (Record, error) {
	p, err := sortOut(samples)
	if err != nil {
		return Record{}, err
	}
	r := Record{Tool: tool}
	var answered []sample
	if p.shots[0].label == labelGrab {
		r.Order, answered, err = p.order()
	} else {
		r.Pageview, answered, err = p.pageview()
	}
	if err != nil {
		return Record{}, err
	}
	r.Time = timesOf(answered)
	return r, nil
}

var errSeveral = errors.New(`several runs are in this file: JMeter appends to a file that is there; run each with jmeter -n -f, and an -l FILE of its own`)

// sortOut finds the parts of one run, in their order.
func sortOut(samples []sample) (plan, error) {
	var p plan
	var foreign []string
	for i, s := range samples {
		switch s.label {
		case labelReset:
			if p.reset != nil || len(p.shots) > 0 || p.final != nil {
				return p, errSeveral
			}
			p.reset = &samples[i]
		case labelView, labelGrab:
			if p.final != nil || len(p.shots) > 0 && p.shots[0].label != s.label {
				return p, errSeveral
			}
			p.shots = append(p.shots, s)
		case labelFinal:
			if p.final != nil {
				return p, errSeveral
			}
			p.final = &samples[i]
		default:
			foreign = append(foreign, s.label)
		}
	}
	return p, p.complete(foreign)
}

// complete says what is missing.
func (p plan) complete(foreign []string) error {
	switch {
	case p.reset == nil && p.final == nil && len(p.shots) == 0 && len(foreign) == 0:
		return errors.New("this JMeter file has no samples: the run is not over, or was stopped before its first answer; run it again")
	case p.reset == nil && p.final == nil && len(p.shots) == 0:
		return fmt.Errorf("this is a JMeter file, but not of our plan: its first label is %.40q, and ours are reset, view or grab, and final; run a plan of loadtest/jmeter", foreign[0])
	case len(p.shots) > maxUsers:
		return fmt.Errorf("this JMeter file has %d users; more than %d are not read", len(p.shots), maxUsers)
	case p.reset == nil:
		return errors.New("the sample reset is missing, so that nobody knows where the users began; run the whole plan of loadtest/jmeter")
	case !slices.Contains([]string{"200", "201"}, p.reset.code): // the plan ends there
		return fmt.Errorf("the reset failed: %s; see whether the service answers, and run it again", p.reset.problem())
	case len(p.shots) == 0:
		return errors.New("there is neither a sample view nor grab: no user has an answer; run it again")
	case p.final == nil:
		return errors.New("the sample final is missing: JMeter was stopped before its end, or the file is cut off; run it again")
	}
	return nil
}

// missing has an entry for every thread that JMeter counted as active and that left no sample.
func (p plan) missing() []string {
	active := 0
	for _, s := range p.shots {
		active = max(active, s.active)
	}
	return repeat("a user left no sample: JMeter was stopped", min(active, maxUsers)-len(p.shots))
}

// into reads the answer's JSON, if it has one of the statuses.
func (s sample) into(result any, statuses ...string) error {
	if !slices.Contains(statuses, s.code) {
		return errors.New(s.problem())
	}
	return json.Unmarshal([]byte(s.message), result)
}

// problem shows what a sample has instead of a usable answer.
func (s sample) problem() string {
	if strings.HasPrefix(s.code, "Non HTTP") {
		return fmt.Sprintf("no answer: %.200s", strings.TrimPrefix(s.message, "Non HTTP response message: "))
	}
	return fmt.Sprintf("status %.40s with %.200q, which is no usable answer", s.code, s.message)
}

// repeat is a list of n times text, and of none when n is below.
func repeat(text string, n int) []string {
	if n <= 0 {
		return nil
	}
	return slices.Repeat([]string{text}, n)
}
