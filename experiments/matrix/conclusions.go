package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Conclusions are what the cells say together, in three sentences. They count only what was tested.
func (m Matrix) Conclusions() []string {
	return []string{m.violated(), m.strongest(), m.token()}
}

// under is the anomalies under which a lock is in a state.
func (m Matrix) under(strategy string, state State) (all []string) {
	for _, anomaly := range m.Anomalies {
		if m.Cell(strategy, anomaly).State == state {
			all = append(all, anomaly)
		}
	}
	return all
}

// violated says how many locks are violated by something.
func (m Matrix) violated() string {
	var broken, whole []string
	for _, strategy := range m.Strategies {
		switch {
		case len(m.under(strategy, Violated)) > 0:
			broken = append(broken, strategy)
		case len(m.under(strategy, NoViolation)) > 0:
			whole = append(whole, strategy)
		}
	}
	switch tested := len(broken) + len(whole); {
	case tested == 0:
		return "No lock was tested."
	case len(whole) == 0:
		return fmt.Sprintf("No lock is safe from everything: at least one anomaly violates each lock that was tested (%d).", tested)
	default:
		return fmt.Sprintf("At least one anomaly violates %d of the %d locks that were tested. No violation was seen with %s.",
			len(broken), tested, List("and", whole...))
	}
}

// strongest names the locks with the most anomalies without a violation, and what violates them.
func (m Matrix) strongest() string {
	most := 0
	for _, strategy := range m.Strategies {
		most = max(most, len(m.under(strategy, NoViolation)))
	}
	if most == 0 {
		return "No anomaly was tested without a violation."
	}
	var names []string
	violating := map[string][]string{} // the locks that the same anomalies violate
	for _, strategy := range m.Strategies {
		if len(m.under(strategy, NoViolation)) < most {
			continue
		}
		names = append(names, strategy)
		if by := m.under(strategy, Violated); len(by) > 0 {
			anomalies := strings.Join(by, ", ")
			violating[anomalies] = append(violating[anomalies], strategy)
		}
	}
	sentence := fmt.Sprintf("%s had no violation under %d of %d anomalies, more than any other lock.",
		List("and", names...), most, len(m.Anomalies))
	for _, anomalies := range slices.Sorted(maps.Keys(violating)) {
		sentence += fmt.Sprintf(" Anomalies that violate %s: %s.", List("and", violating[anomalies]...), anomalies)
	}
	return sentence
}

// token says what a checked fencing token changes for the locks that a pause violates.
func (m Matrix) token() string {
	var helped, not, unknown []string
	for _, strategy := range m.locks("pause", Violated) {
		switch m.Cell(strategy, "pause with fencing token").State {
		case NoViolation:
			helped = append(helped, strategy)
		case Violated, NotApplicable:
			not = append(not, strategy)
		default:
			unknown = append(unknown, strategy)
		}
	}
	var sentences []string
	for _, s := range []struct {
		names []string
		says  string
	}{
		{helped, "A checked fencing token prevents the damage of a pause with %s."},
		{not, "Of the locks that a pause violates, these have no token to check: %s."},
		{unknown, "Whether a token helps %s was not tested."},
	} {
		if len(s.names) > 0 {
			sentences = append(sentences, fmt.Sprintf(s.says, List("and", s.names...)))
		}
	}
	if len(helped) == 0 && len(not) > 0 {
		sentences[0] = fmt.Sprintf("No fencing token helps %s after a pause.", List("and", not...))
	}
	if len(sentences) == 0 {
		return "No lock was violated by a pause, or none was tested with one."
	}
	return strings.Join(sentences, " ")
}

// locks is those that are in a state under an anomaly.
func (m Matrix) locks(anomaly string, state State) (all []string) {
	for _, strategy := range m.Strategies {
		if m.Cell(strategy, anomaly).State == state {
			all = append(all, strategy)
		}
	}
	return all
}

// List is names as a sentence has them, with a word before the last one. Some names have a comma: semicolons divide those.
func List(word string, names ...string) string {
	last, comma := len(names)-1, ", "
	if last < 1 {
		return strings.Join(names, "")
	}
	if strings.Contains(strings.Join(names, ""), comma) {
		comma = "; "
	}
	return strings.Join(names[:last], comma) + " " + word + " " + names[last]
}

// NotTested counts the cells that say nothing.
func (m Matrix) NotTested() (n int) {
	for _, strategy := range m.Strategies {
		n += len(slices.Concat(m.under(strategy, NotTested), m.under(strategy, Undecided)))
	}
	return n
}

// Page is docs/matrix.md: the conclusions, the matrix, and what it rests on.
func (m Matrix) Page() string {
	var b strings.Builder
	b.WriteString("# Which anomaly violates which lock\n\n<!-- written by `make matrix` from saved runs; do not edit -->\n\n")
	for i, conclusion := range m.Conclusions() {
		fmt.Fprintf(&b, "%d. %s\n", i+1, conclusion)
	}
	fmt.Fprintf(&b, `
"Violated" leads to the page that shows the counterexample. "No violation" is true of these trials, and proves nothing.
Not tested: %d of %d cells. A cell that was not tested says nothing. Below are the reasons of "not applicable", the counterexamples,
and the commands that reproduce the runs. [All experiments](experiments/README.md)

%s
%s`, m.NotTested(), len(m.Strategies)*len(m.Anomalies), m.Markdown(""), m.Details(""))
	return b.String()
}
