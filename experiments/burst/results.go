package burst

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/experiments"
	"locklab/experiments/terminal"
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

// planTimeout bounds the two bursts of one version. It is far above what the instances allow.
const planTimeout = 2 * time.Minute

// Results are the bursts of several versions, judged. `app demo --json` and `app burst --json` print them.
type Results struct {
	Redis     string              `json:"redis,omitempty"` // redis-server or miniredis, where the caller started it
	Topology  string              `json:"topology"`
	Users     int                 `json:"users"`
	Drivers   int                 `json:"drivers"`
	Rounds    int                 `json:"rounds"`
	URL       string              `json:"url"` // of the balancer
	Instances []Instance          `json:"instances"`
	Pageview  []PageviewRow       `json:"pageview"`
	Order     []OrderRow          `json:"order"`
	Ranges    []Range             `json:"ranges"`             // one for each version
	LeftOut   []string            `json:"left_out,omitempty"` // versions that cannot run here: a sentence for each
	Verdict   experiments.Verdict `json:"verdict"`
	TookMS    int64               `json:"took_ms"` // from the start of the command to the last answer

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
	Round       int                 `json:"round"`
	Version     string              `json:"version"`
	Lock        string              `json:"lock"`
	PerInstance map[string]int      `json:"per_instance"`
	TookMS      float64             `json:"took_ms"`
	Stale       int                 `json:"stale,omitempty"` // requests refused as a stale holder's; none of them had its effect
	Failed      []string            `json:"failed,omitempty"`
	Verdict     experiments.Verdict `json:"verdict"`
	Why         string              `json:"why,omitempty"` // it is not as expected
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

// Run sends the bursts to target, version by version, and judges them. An error means that not all of them were sent. tell is called
// before each step, as fmt.Printf is.
func (p Plan) Run(ctx context.Context, target Target, tell func(format string, args ...any)) (*Results, error) {
	tell("warming up: a burst that does not count opens every connection")
	warming, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	if _, err := RunViews(warming, target, "v0", p.Users, Simultaneous); err != nil {
		return nil, err
	}
	r := &Results{URL: target.URL, Users: p.Users, Drivers: p.Drivers, Rounds: p.Rounds, expected: p.Instances}
	for round := range p.Rounds {
		for _, v := range versions.All() {
			if !slices.Contains(p.Versions, v.Name) {
				continue
			}
			tell("round %d of %d, %s: %d simultaneous page views, then %d drivers for one order", round+1, p.Rounds, v.Name, p.Users, p.Drivers)
			if err := p.try(ctx, r, round+1, v, target); err != nil {
				return nil, fmt.Errorf("%s: %w", v.Name, err)
			}
		}
	}
	return r, nil
}

func (p Plan) try(ctx context.Context, r *Results, round int, v versions.Version, target Target) error {
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	views, err := RunViews(ctx, target, v.Name, p.Users, Simultaneous)
	if err != nil {
		return err
	}
	grabs, err := RunGrabs(ctx, target, v.Name, p.Drivers, Simultaneous)
	if err != nil {
		return err
	}
	r.add(round, v, views, grabs)
	return nil
}

func (r *Results) add(round int, v versions.Version, views Views, grabs Grabs) {
	pageview := PageviewRow{judged(round, v, views, r.instances(), views.Took, views.Stale, views.Failed), views.Counts(), v.Article}
	order := OrderRow{judged(round, v, grabs, r.instances(), grabs.Took, grabs.Stale, grabs.Failed), grabs.Order, grabs.Winners()}
	all := []experiments.Verdict{pageview.Verdict, order.Verdict}
	if len(r.Pageview) > 0 {
		all = append(all, r.Verdict)
	}
	r.extend(v.Name, pageview.Final, order.Winners)
	r.Pageview, r.Order, r.Verdict = append(r.Pageview, pageview), append(r.Order, order), experiments.Worst(all...)
}

// instances is how many must have answered.
func (r *Results) instances() int { return cmp.Or(r.expected, 2) }

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
	OutcomeOf(instances int) experiments.Outcome
	PerInstance() map[string]int
}

func judged(round int, v versions.Version, b record, instances int, took time.Duration, stale, failed []string) Judged {
	outcome := b.OutcomeOf(instances)
	verdict := experiments.Judge(Expect(v), outcome)
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

// Text is the result for people: two tables and what they mean.
func (r *Results) Text(colour bool) string {
	where, several := "two processes behind a round-robin balancer", "both"
	if n := r.instances(); n > 2 {
		where, several = fmt.Sprintf("%d processes behind a round-robin balancer", n), "more than one"
	}
	redis := map[string]string{"redis-server": " (redis-server)", "miniredis": " (miniredis, no real redis-server)"}[r.Redis]
	if r.Redis == "" {
		where = "two instances behind " + r.URL
	}
	pageviews := terminal.NewTable("version", "lock", "final", "lost", "same", "both", "requests", "time", "A4", "verdict").
		Right("final", "lost", "same", "both", "requests", "time", "A4")
	orders := terminal.NewTable("version", "lock", "winners", "requests", "time", "verdict").Right("winners", "requests", "time")
	for i, views := range r.Pageview {
		article := views.Article
		if r.Users != 666 { // for which alone the article reports a value
			article = "-"
		}
		pageviews.Row(r.name(views.Judged), views.Lock, views.Final, views.Lost, views.Inside, views.Across,
			halves(views.PerInstance), Milliseconds(views.TookMS), article, views.Verdict.Painted(colour))
		grabs := r.Order[i]
		orders.Row(r.name(grabs.Judged), grabs.Lock, grabs.Winners,
			halves(grabs.PerInstance), Milliseconds(grabs.TookMS), grabs.Verdict.Painted(colour))
	}
	return fmt.Sprintf(`%d simultaneous page views, %s, Redis %s%s

%s

 same: values that one process wrote twice · both: values that %s wrote · requests: of each process
 A4: the final value that the article reports · same and both need not add up to lost: a later write may be lower
%s
%d drivers grab one order simultaneously

%s

%s
Verdict: %s (%.1f s). %s
`, r.Users, where, r.Topology, redis, pageviews, several, r.spread(), r.Drivers, orders,
		r.explanation(), r.Verdict, float64(r.TookMS)/1000, experiments.Meaning)
}

// spread says how far the runs of a version that loses updates lie apart: one run is no measure of it.
func (r *Results) spread() string {
	chance := ""
	if slices.ContainsFunc(r.Ranges, func(of Range) bool { v, _ := versions.Find(of.Version); return v.Loses }) {
		chance = " A4 reports one run. The final value of a version that loses updates differs from run to run: v1 may end above v2.\n"
	}
	switch {
	case r.Rounds < 2 && chance == "":
		return ""
	case r.Rounds < 2:
		return chance + " --rounds 10 shows the lowest and the highest of ten runs.\n"
	}
	table := terminal.NewTable("version", "lowest final", "highest final", "winners").Right("lowest final", "highest final", "winners")
	for _, of := range r.Ranges {
		winners := fmt.Sprint(of.LowWinners)
		if of.HighWinners > of.LowWinners {
			winners += "–" + fmt.Sprint(of.HighWinners)
		}
		table.Row(of.Version, of.LowFinal, of.HighFinal, winners)
	}
	return fmt.Sprintf("%s\nThe range of %d rounds\n\n%s\n", chance, r.Rounds, table)
}

// name is the version, with its round where there are several.
func (r *Results) name(row Judged) string {
	if r.Rounds > 1 {
		return fmt.Sprintf("%s #%d", row.Version, row.Round)
	}
	return row.Version
}

// halves shows how the requests were spread, without the names, which are ports.
func halves(perInstance map[string]int) string {
	var counts []string
	for _, n := range perInstance {
		counts = append(counts, fmt.Sprint(n))
	}
	slices.Sort(counts)
	return strings.Join(counts, " + ")
}

// Milliseconds is a time for a table.
func Milliseconds(ms float64) string { return fmt.Sprintf("%.0f ms", ms) }

// explanation says which requests were refused, which versions were left out, and what each version that did as expected shows.
func (r *Results) explanation() string {
	var b strings.Builder
	for i, views := range r.Pageview {
		if n, m := views.Stale, r.Order[i].Stale; n+m > 0 {
			fmt.Fprintf(&b, "%s: %d page views and %d drivers were refused, for their holder was stale; none of them counted.\n",
				r.name(views.Judged), n, m)
		}
	}
	for _, sentence := range r.LeftOut {
		b.WriteString(sentence + "\n")
	}
	for _, v := range versions.All() {
		if slices.ContainsFunc(r.Pageview, func(row PageviewRow) bool {
			return row.Version == v.Name && row.Verdict == experiments.AsExpected
		}) {
			b.WriteString(v.Shows + "\n")
		}
	}
	return b.String()
}
