package loadtool

import (
	"errors"
	"fmt"

	"locklab/experiments/burst"
)

// pageview reads the views; answered are those that were confirmed.
func (p plan) pageview() (_ *burst.Views, answered []sample, _ error) {
	final, err := p.counted()
	if err != nil {
		return nil, nil, err
	}
	b := &burst.Views{Final: final}
	for _, s := range p.shots {
		var view struct {
			Instance, Version string
			Value             *int64
		}
		if err := s.into(&view, "200"); err != nil || view.Instance == "" || view.Value == nil {
			b.Failed = append(b.Failed, s.problem())
			continue
		}
		if b.Version, err = same(b.Version, view.Version); err != nil {
			return nil, nil, err
		}
		b.Writes = append(b.Writes, burst.Write{Instance: view.Instance, Value: *view.Value})
		answered = append(answered, s)
	}
	b.Failed = append(b.Failed, p.missing()...)
	b.Users = len(b.Writes) + len(b.Failed)
	return b, answered, somebody(b.Version, b.Failed)
}

// order reads the grabs; answered are those whose driver was told.
func (p plan) order() (_ *burst.Grabs, answered []sample, _ error) {
	b := &burst.Grabs{}
	var err error
	if b.Order, b.Recorded, err = p.granted(); err != nil {
		return nil, nil, err
	}
	for _, s := range p.shots {
		var grab struct {
			Instance, Version     string
			Order, Driver, Winner uint64
			Won                   *bool
		}
		if err := s.into(&grab, "200", "409"); err != nil || grab.Instance == "" || grab.Won == nil || grab.Order != b.Order {
			b.Failed = append(b.Failed, s.problem())
			continue
		}
		if b.Version, err = same(b.Version, grab.Version); err != nil {
			return nil, nil, err
		}
		b.Answers = append(b.Answers, burst.Grab{Instance: grab.Instance, Driver: grab.Driver, Won: *grab.Won, Winner: grab.Winner})
		answered = append(answered, s)
	}
	b.Failed = append(b.Failed, p.missing()...)
	b.Drivers = len(b.Answers) + len(b.Failed)
	return b, answered, somebody(b.Version, b.Failed)
}

// counted checks where the counter began and reads where it ended.
func (p plan) counted() (final int64, _ error) {
	start, err := counter(p.reset)
	if err != nil {
		return 0, fmt.Errorf("the counter was not reset: %w; see whether the service answers, and run it again", err)
	}
	if start != 0 {
		return 0, fmt.Errorf("the counter was set to %d, not to 0; run the plan of loadtest/jmeter", start)
	}
	if final, err = counter(p.final); err != nil {
		return 0, fmt.Errorf("the counter was not read at the end: %w; run it again", err)
	}
	return final, nil
}

// granted reads which order was made and who the data say has won it.
func (p plan) granted() (order uint64, winners []uint64, _ error) {
	var made, final struct {
		ID      uint64
		Winners *[]struct{ Driver uint64 }
	}
	if err := p.reset.into(&made, "200", "201"); err != nil || made.ID == 0 {
		return 0, nil, fmt.Errorf("the order was not made: %s; see whether the service answers, and run it again", p.reset.problem())
	}
	if err := p.final.into(&final, "200"); err != nil || final.ID != made.ID || final.Winners == nil {
		return 0, nil, fmt.Errorf("order %d was not read at the end: %s; run it again", made.ID, p.final.problem())
	}
	for _, w := range *final.Winners {
		winners = append(winners, w.Driver)
	}
	return made.ID, winners, nil
}

// counter reads the answer of GET or PUT /pview.
func counter(s *sample) (int64, error) {
	var answer struct{ Value *int64 }
	if err := s.into(&answer, "200"); err != nil || answer.Value == nil || *answer.Value < 0 {
		return 0, errors.New(s.problem())
	}
	return *answer.Value, nil
}

// same holds the version of all answers.
func same(version, another string) (string, error) {
	switch {
	case another == "":
		return "", errors.New("an answer names no version; run the plan of loadtest/jmeter")
	case version != "" && version != another:
		return "", errSeveral
	}
	return another, nil
}

// somebody says that nobody has an answer, when that is so.
func somebody(version string, failed []string) error {
	if version != "" {
		return nil
	}
	return fmt.Errorf("no request has a usable answer, the first: %s; see whether the service answers, and run it again", failed[0])
}
