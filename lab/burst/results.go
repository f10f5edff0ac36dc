package burst

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/versions"
)

// Plan says which bursts are sent.
type Plan struct {
	Users    int      // simultaneous page views
	Drivers  int      // simultaneous requests for one order
	Rounds   int      // how often all of it is done
	Versions []string // in the order of the table of versions, whatever the order here

	Instances int // behind the balancer; 0: two
}

// Chosen are the versions of a plan, in the order of the table.
func (p Plan) Chosen() []versions.Version {
	return slices.DeleteFunc(versions.All(), func(v versions.Version) bool { return !slices.Contains(p.Versions, v.Name) })
}

// About is the version of a plan whose final value surprises most: the first that loses views, or else the first. There must be one.
func (p Plan) About() versions.Version {
	all := p.Chosen()
	return all[max(0, slices.IndexFunc(all, func(v versions.Version) bool { return v.LosesUpdates }))]
}

// Bounds of a plan.
const (
	MostUsers  = 4000 // and drivers: as many as the containers of the lab and of its load tools can serve
	mostRounds = 1000
)

// Validate returns an error for a number or version that cannot be. It begins with the name of the field, and says what to take instead.
func (p Plan) Validate() error {
	for _, field := range []struct {
		name        string
		value, most int
		halved      bool // each of two instances gets half
	}{{"users", p.Users, MostUsers, true}, {"drivers", p.Drivers, MostUsers, true}, {"rounds", p.Rounds, mostRounds, false}} {
		least := 1
		if field.halved {
			least = 2
		}
		switch {
		case field.value < least || field.value > field.most:
			return fmt.Errorf("%s is %d; it must be from %d to %d", field.name, field.value, least, field.most)
		case field.halved && field.value%2 != 0:
			return fmt.Errorf("%s is %d; it must be even, so that each instance gets exactly half", field.name, field.value)
		}
	}
	if len(p.Versions) == 0 {
		return errors.New("versions is empty; name at least one, such as v3")
	}
	for i, v := range p.Versions {
		if _, known := versions.Find(v); !known {
			return fmt.Errorf("versions names %s, which does not exist; take some of %s", v, strings.Join(versions.Names(), ", "))
		}
		if slices.Contains(p.Versions[:i], v) {
			return fmt.Errorf("versions names %s twice; name each version once", v)
		}
	}
	return nil
}

// planTimeout bounds the two bursts of one version, with the start and the end of a load tool. It is far above what the instances allow.
const planTimeout = 3 * time.Minute

// Results are the bursts of several versions, judged. `app demo --json` and `app burst --json` print them.
type Results struct {
	Redis     string        `json:"redis,omitempty"` // redis-server or miniredis, where the caller started it
	Topology  string        `json:"topology"`
	Users     int           `json:"users"`
	Drivers   int           `json:"drivers"`
	Tool      string        `json:"tool"` // the name of the sender
	Rounds    int           `json:"rounds"`
	URL       string        `json:"url"` // of the balancer
	Instances []Instance    `json:"instances"`
	Pageview  []PageviewRow `json:"pageview"`
	Order     []OrderRow    `json:"order"`
	Ranges    []Range       `json:"ranges"`             // one for each version
	LeftOut   []string      `json:"left_out,omitempty"` // versions that cannot run here: a sentence for each
	Verdict   lab.Verdict   `json:"verdict"`
	TookMS    int64         `json:"took_ms"` // from the start of the command to the last answer

	expected int // instances; 0: two
}

// Range is what the rounds of one version left, from the lowest to the highest.
type Range struct {
	Version     string `json:"version"`
	LowFinal    int64  `json:"low_final"`
	HighFinal   int64  `json:"high_final"`
	LowWinners  int    `json:"low_winners"`
	HighWinners int    `json:"high_winners"`
}

// Instance is one of the instances behind the balancer.
type Instance struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Judged is what both kinds of rows have.
type Judged struct {
	Round       int            `json:"round"`
	Version     string         `json:"version"`
	Lock        string         `json:"lock"`
	PerInstance map[string]int `json:"per_instance"`
	TookMS      float64        `json:"took_ms"`
	Stale       int            `json:"stale,omitempty"` // requests refused as a stale holder's; none of them had its effect
	Failed      []string       `json:"failed,omitempty"`
	Verdict     lab.Verdict    `json:"verdict"`
	Why         string         `json:"why,omitempty"` // it is not as expected
}

// PageviewRow is one version's burst of page views.
type PageviewRow struct {
	Judged
	Counts
	Article string `json:"article_a4"` // final value that A4 reports for 666
}

// OrderRow is one version's burst of drivers.
type OrderRow struct {
	Judged
	Order   uint64 `json:"order"` // its number
	Winners int    `json:"winners"`
}

// Run lets sender send the bursts to target, version by version, and judges them. An error means that not all of them were sent, and names
// the one that failed. tell is told each [Event].
func (p Plan) Run(ctx context.Context, target Target, sender Sender, tell func(Event)) (*Results, error) {
	chosen := p.Chosen()
	n, all := 0, p.Rounds*len(chosen)
	tell(WarmingUp{})
	warming, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	if _, err := RunViews(warming, target, "v0", p.Users, Simultaneous); err != nil {
		return nil, err
	}
	r := &Results{URL: target.URL, Users: p.Users, Drivers: p.Drivers, Tool: sender.Name(), Rounds: p.Rounds, expected: p.Instances}
	for round := range p.Rounds {
		for _, v := range chosen {
			n++
			tell(VersionBegan{v.Name, n, all, round + 1, p.Rounds, p.Users, p.Drivers})
			if err := p.try(ctx, r, round+1, v, target, sender, tell); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func (p Plan) try(
	ctx context.Context, r *Results, round int, v versions.Version, target Target, sender Sender, tell func(Event),
) error {
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	views, err := sender.Views(ctx, target, v.Name, p.Users, tell)
	if err != nil {
		return fmt.Errorf("%s, page views by %s: %w", v.Name, sender.Name(), err)
	}
	grabs, err := sender.Grabs(ctx, target, v.Name, p.Drivers)
	if err != nil {
		return fmt.Errorf("%s, drivers by %s: %w", v.Name, sender.Name(), err)
	}
	r.add(round, v, views, grabs)
	last := len(r.Pageview) - 1
	tell(VersionJudged{r.Pageview[last], r.Order[last]})
	return nil
}

func (r *Results) add(round int, v versions.Version, views Views, grabs Grabs) {
	pageview := PageviewRow{judged(round, v, views, r.Behind(), views.Took, views.Stale, views.Failed), views.Counts(), v.ArticleValue}
	order := OrderRow{judged(round, v, grabs, r.Behind(), grabs.Took, grabs.Stale, grabs.Failed), grabs.Order, grabs.Winners()}
	all := []lab.Verdict{pageview.Verdict, order.Verdict}
	if len(r.Pageview) > 0 {
		all = append(all, r.Verdict)
	}
	r.extend(v.Name, pageview.Final, order.Winners)
	r.Pageview, r.Order, r.Verdict = append(r.Pageview, pageview), append(r.Order, order), lab.Worst(all...)
}

// Behind is how many instances are behind the balancer. All of them must have answered.
func (r *Results) Behind() int { return cmp.Or(r.expected, 2) }

// extend puts one round of a version into its range.
func (r *Results) extend(version string, final int64, winners int) {
	i := slices.IndexFunc(r.Ranges, func(of Range) bool { return of.Version == version })
	if i < 0 {
		r.Ranges = append(r.Ranges, Range{version, final, final, winners, winners})
		return
	}
	of := &r.Ranges[i]
	of.LowFinal, of.HighFinal = min(of.LowFinal, final), max(of.HighFinal, final)
	of.LowWinners, of.HighWinners = min(of.LowWinners, winners), max(of.HighWinners, winners)
}

type record interface {
	OutcomeOf(instances int) lab.Outcome
	PerInstance() map[string]int
}

func judged(round int, v versions.Version, b record, instances int, took time.Duration, stale, failed []string) Judged {
	outcome := b.OutcomeOf(instances)
	verdict := lab.Judge(Expect(v), outcome)
	return Judged{
		Round: round, Version: v.Name, Lock: v.Title, PerInstance: b.PerInstance(), TookMS: float64(took.Microseconds()) / 1000,
		Stale: len(stale), Failed: failed, Verdict: verdict, Why: verdict.Because(outcome),
	}
}

// Reasons lists the rows with the worst verdict.
func (r *Results) Reasons() string {
	var reasons []string
	for i, views := range r.Pageview {
		if views.Verdict == r.Verdict {
			reasons = append(reasons, fmt.Sprintf("%s page views, round %d: final %d of %d, lost %d, written twice %d in one and %d over both: %s",
				views.Version, views.Round, views.Final, r.Users, views.Lost, views.Inside, views.Across, views.Why))
		}
		if grabs := r.Order[i]; grabs.Verdict == r.Verdict {
			reasons = append(reasons, fmt.Sprintf("%s order, round %d: %d winners: %s", grabs.Version, grabs.Round, grabs.Winners, grabs.Why))
		}
	}
	return strings.Join(reasons, "; ")
}
