package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/lab/burst"
	"locklab/lab/report/html"
	"locklab/versions"
)

// bursts are what a quiz is about: page views that arrive simultaneously.
type bursts struct {
	s *Server

	// The lock of the server protects these.
	plan   burst.Plan       // that was chosen last
	health burst.Health     // of an instance; without versions it is not known
	ended  []*burst.Results // since the program started, the newest last
	shown  *burstNow        // on the cards
}

// endedBurst is a run whose bursts were all sent.
type endedBurst struct {
	*burst.Results
	About burst.PageviewRow // what was guessed
}

const (
	burstName = "burst"
	mostEnded = 50 // runs in the history
)

var firstPlan = burst.Plan{Users: versions.ArticleUsers, Drivers: 20, Rounds: 1, Versions: versions.DefaultNames()}

// addBurst makes the quiz about bursts. Each run asks a new question.
func (s *Server) addBurst() {
	s.bursts = &bursts{s: s, plan: firstPlan, shown: newBurstNow(firstPlan), health: burst.Health{Versions: s.cfg.Versions}}
	q := s.addQuiz(burstName, s.bursts)
	q.number, q.question = 1, burstName+"-1"
	q.next()
	s.bursts.recall(q)
	s.bursts.draw(q)
}

// good reports whether a guess is within a tenth of the users from the final value.
func (e endedBurst) good(guess string) bool {
	n, err := strconv.ParseInt(guess, 10, 64)
	return err == nil && 10*max(n-e.About.Final, e.About.Final-n) <= int64(e.Users)
}

// The parts of the page that everybody sees alike.
const (
	burstLeft    = "burst-left"
	burstHistory = "burst-history"
)

func cardPart(version string) string { return "burst-card-" + version }

// againPart shows a run that is seen again.
func againPart(name string) string { return name + "-again" }

func (b *bursts) link() link       { return link{"/ui/burst", "Burst"} }
func (b *bursts) template() string { return "burst" }

func (b *bursts) parts() []string {
	all := []string{runPart(burstName), againPart(burstName), burstLeft, burstHistory}
	for _, v := range versions.All() {
		all = append(all, cardPart(v.Name))
	}
	return all
}

// check takes a number of page views.
func (b *bursts) check(r *http.Request) (string, error) {
	b.s.mu.Lock()
	most := b.plan.Users
	b.s.mu.Unlock()
	n, err := strconv.Atoi(strings.TrimSpace(r.FormValue("guess")))
	if err != nil || n < 0 || n > most {
		return "", refuse(http.StatusBadRequest, fmt.Errorf("guess a number from 0 to %d, the number of users", most))
	}
	return strconv.Itoa(n), nil
}

// burstPage is the page of the bursts.
func (s *Server) burstPage(r *http.Request) (page, error) {
	s.lead(r, "the burst")
	q := s.quizzes[burstName]
	return q.page(q.view(s.viewerOf(r), nil)), nil
}

// askBurst takes the form with a plan. A class is asked what that plan will show. Without a class it runs, after a guess if there is one.
func (s *Server) askBurst(w http.ResponseWriter, r *http.Request) error {
	q := s.quizzes[burstName]
	p, err := s.bursts.planOf(r)
	if err == nil {
		err = s.bursts.choose(q, p)
	}
	switch {
	case err != nil || s.class != nil:
		return q.respond(w, r, "go", err)
	case r.FormValue("guess") == "":
		return q.respond(w, r, "go", q.begin())
	}
	return q.respond(w, r, "guess", q.guess(r))
}

// planOf is the plan that a form has. The error names a field, and says what to do.
func (b *bursts) planOf(r *http.Request) (burst.Plan, error) {
	number := func(name string) int { n, _ := strconv.Atoi(r.FormValue(name)); return n } // Validate names 0, too
	p := burst.Plan{Users: number("users"), Drivers: number("drivers"), Rounds: 1}
	p.Versions = r.Form["version"] // FormValue has parsed it
	if b.s.cfg.Service == nil {
		return p, errNoBursts
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	err := p.Validate()
	if err == nil {
		err = b.health.CanRun(p)
	}
	if err == nil {
		return p, nil
	}
	field, _, _ := strings.Cut(err.Error(), " ")
	if field != "users" && field != "drivers" {
		field = "versions"
	}
	return p, wrongField{refuse(http.StatusBadRequest, err), field}
}

// Errors of a plan, apart from those of package burst.
var (
	errNoBursts = refuse(http.StatusNotFound,
		errors.New("this program has no instances to send a burst to; start the page with app lab serve"))
	errBurstRuns = refuse(http.StatusConflict, errors.New("a burst waits or runs; ask again when it has ended"))
	errNotShown  = refuse(http.StatusConflict, errors.New("the answers of the last burst are not shown yet; show them, and ask again"))
)

// choose makes a plan the present one, and drops the guesses about another one.
func (b *bursts) choose(q *quiz, p burst.Plan) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	switch a := b.s.viewQuestion(q.question, viewer{}); {
	case a.Runs:
		return errBurstRuns
	case a.Waits():
		return errNotShown
	}
	b.plan = p
	b.s.questions.Reopen(q.question)
	b.describe(q)
	if b.s.class != nil {
		b.hide(q)
	}
	return nil
}

// hide takes the newest burst from the page, and empties the cards: a result beside an open question would answer it. It needs the lock.
func (b *bursts) hide(q *quiz) {
	b.s.cancel(againPart(q.name))
	b.shown = newBurstNow(b.plan)
	q.forget()
}

// asks reports whether a class is asked about the present plan. It needs the lock.
func (b *bursts) asks(q *quiz) bool {
	return b.s.class != nil && q.ran == nil && b.s.questions.Of(q.question, "").Open
}

// reset drops every burst so far: a new class begins.
func (b *bursts) reset(q *quiz) {
	b.plan, b.ended = firstPlan, nil
	b.hide(q)
}

// describe notes what the guesses are about, for a program that starts anew.
func (b *bursts) describe(q *quiz) {
	plan, _ := json.Marshal(b.plan) // it has only numbers and names
	b.s.questions.Describe(q.question, string(plan))
}

// recall is the plan that the guesses of a kept class are about.
func (b *bursts) recall(q *quiz) {
	var plan burst.Plan
	if json.Unmarshal([]byte(b.s.questions.Of(q.question, "").About), &plan) == nil && plan.Validate() == nil {
		b.plan, b.shown = plan, newBurstNow(plan)
	}
}

func (b *bursts) isRecorded(*quiz) bool { return false }

// run sends the bursts of the present plan.
func (b *bursts) run(ctx context.Context, q *quiz) conclusion {
	b.s.mu.Lock()
	plan := b.plan
	b.s.mu.Unlock()
	now, shown := newBurstNow(plan), make(map[string]int)
	b.showCards(now, always) // empty ones, so that nothing moves when the run begins
	var results *burst.Results
	var err error
	b.s.follow(redrawBurst, func(changed func()) {
		results, err = b.send(ctx, plan, func(what string) { now.say(what); changed() }, func(e burst.Event) { now.apply(e); changed() })
	}, func() {
		b.s.board.putMade(runPart(q.name), func() string { return b.s.fragment("burst-runs", now.progress()) })
		b.showNews(now, always, shown)
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	seen := now.longest() > 0
	if seen && (err == nil || b.s.class == nil) { // otherwise what was on the cards before comes back
		b.shown = now
	}
	if err != nil {
		return conclusion{failed: err, spoilt: seen}
	}
	results.Topology = b.health.Topology
	b.keep(results)
	return concludeBurst(results, plan.About().Name)
}

// send starts the instances if they were not, saying what it does, and sends the bursts of a plan.
func (b *bursts) send(ctx context.Context, plan burst.Plan, say func(string), tell func(burst.Event)) (*burst.Results, error) {
	if b.s.cfg.Service == nil {
		return nil, errNoBursts
	}
	running, err := b.s.bench.Service(ctx, say)
	if err != nil {
		return nil, err
	}
	health, err := running.Health(ctx)
	if err != nil {
		return nil, err
	}
	b.s.mu.Lock()
	b.health = health
	b.s.mu.Unlock()
	b.s.board.again(burstName)
	if err := health.CanRun(plan); err != nil {
		return nil, err
	}
	plan.Instances = len(running.Instances)
	return plan.Run(ctx, running.Target, burst.App{}, tell)
}

// keep adds a run to the history. It needs the lock.
func (b *bursts) keep(results *burst.Results) {
	b.ended = append(b.ended[max(0, len(b.ended)-mostEnded+1):], results)
}

// concludeBurst is what a run came to whose bursts were all sent. With requests that failed, it shows nothing about a version.
func concludeBurst(results *burst.Results, about string) conclusion {
	at := slices.IndexFunc(results.Pageview, func(p burst.PageviewRow) bool { return p.Version == about })
	e := endedBurst{results, results.Pageview[at]}
	o := conclusion{result: e, good: e.good}
	if len(e.About.Failed) == 0 {
		o.right = strconv.FormatInt(e.About.Final, 10)
	}
	return o
}

// draw shows the cards, the history, and the table of the newest run. The question may be a new one, about the same plan.
func (b *bursts) draw(q *quiz) {
	b.describe(q)
	b.showCards(b.shown, always)
	b.s.board.put(runPart(q.name), "")
	var guesses []int64
	var about string
	if q.ran != nil {
		e := q.ran.result.(endedBurst)
		about, guesses = e.About.Version, b.guesses(q.ran.question)
		b.s.board.put(burstLeft, b.s.fragment("burst-left", e))
	} else {
		b.s.board.put(burstLeft, "")
	}
	if b.asks(q) && len(b.ended) > 0 {
		b.s.board.put(burstHistory, b.s.fragment("burst-hidden", nil))
		return
	}
	runs := slices.Clone(b.ended)
	b.s.board.putMade(burstHistory, func() string {
		if len(runs) == 0 {
			return b.s.fragment("burst-none", nil)
		}
		return string(markup(func(w io.Writer) error { return html.Finals(w, runs, about, guesses) }))
	})
}

// guesses are those of a question that may be seen.
func (b *bursts) guesses(question string) (all []int64) {
	a := b.s.viewQuestion(question, viewer{})
	if a.Hidden() {
		return nil
	}
	for guess, times := range a.Counts {
		n, _ := strconv.ParseInt(guess, 10, 64)
		all = append(all, slices.Repeat([]int64{n}, times)...)
	}
	return all
}

// showCards shows the versions of a plan, as they were so long after the first answer of each. The others have no card.
func (b *bursts) showCards(now *burstNow, after time.Duration) {
	for _, v := range versions.All() {
		if now.courses[v.Name] == nil {
			b.s.board.put(cardPart(v.Name), "")
		} else {
			b.showCard(now, v, after)
		}
	}
}

// showNews shows the versions of which more was told than shown counts.
func (b *bursts) showNews(now *burstNow, after time.Duration, shown map[string]int) {
	for _, v := range now.plan.Chosen() {
		if n := now.changes(v.Name, after); n != shown[v.Name] {
			shown[v.Name] = n
			b.showCard(now, v, after)
		}
	}
}

func (b *bursts) showCard(now *burstNow, v versions.Version, after time.Duration) {
	b.s.board.putMade(cardPart(v.Name), func() string { return b.s.fragment("burst-card", now.card(v, after)) })
}

// box is a version that can be chosen.
type box struct {
	versions.Version
	Chosen bool
	Lacks  bool // the instances do not have it
}

// burstView is the page of the bursts.
type burstView struct {
	Able     bool // there are instances, or they can be started
	Asks     bool // a class is asked about the plan: before the first run, and when its trainer has chosen one
	Boxes    []box
	Plan     burst.Plan
	About    versions.Version
	Running  *burst.Running // nil: the instances were not started
	Topology string
	Parts    []string    // with the cards
	Ended    *endedBurst // the newest; nil: there is none
	Right    int         // guesses about it that are within a tenth
	Good     bool        // the viewer's is
}

func (b *bursts) data(q *quiz, v *quizView) any {
	b.s.mu.Lock()
	of := burstView{
		Able: b.s.cfg.Service != nil, Asks: q.ran == nil, Plan: b.plan, About: b.plan.About(),
		Running: b.s.bench.Instances(), Topology: b.health.Topology,
	}
	replays, canReplay := b.s.busy[againPart(q.name)] != nil, b.shown.longest() > 0
	for _, version := range versions.All() {
		lacks := b.health.Lacks(version) != nil
		of.Boxes = append(of.Boxes, box{version, slices.Contains(b.plan.Versions, version.Name) && !lacks, lacks})
		of.Parts = append(of.Parts, cardPart(version.Name))
	}
	b.s.mu.Unlock()
	if !v.Class {
		v.RunForm = "plan"
	}
	v.AgainForm, v.AgainText, v.CanAgain = "replay", "See it again, slowly", canReplay && !v.Runs && !replays
	v.CanStop = v.Runs || replays
	if v.Ended {
		e := v.ran.result.(endedBurst)
		of.Ended, of.Good = &e, e.good(v.Last.Mine)
		for guess, times := range v.Last.Counts {
			if e.good(guess) {
				of.Right += times
			}
		}
	}
	return of
}

// slowly is how long the longest version takes when it is seen again.
const slowly = 12 * time.Second

// replayBurst shows the answers of the newest burst once more, all versions side by side, and slowly. Nothing is sent.
func (s *Server) replayBurst(w http.ResponseWriter, r *http.Request) error {
	q := s.quizzes[burstName]
	s.mu.Lock()
	shown := s.bursts.shown
	s.mu.Unlock()
	err := refuse(http.StatusConflict, errors.New("there was no burst yet; press “Run it”"))
	if shown.longest() > 0 {
		err = s.start(job{againPart(q.name), q.subject.link(), func(ctx context.Context) func() {
			s.bursts.play(ctx, shown)
			return func() {
				s.board.put(againPart(q.name), "")
				s.board.again(q.name)
			}
		}})
	}
	return q.respond(w, r, "go", err)
}

// play shows each moment of a burst that is over, until ctx ends.
func (b *bursts) play(ctx context.Context, of *burstNow) {
	longest, shown := of.longest(), make(map[string]int)
	slower := max(1, int((slowly+longest-1)/longest))
	b.showCards(of, -1)
	defer func() { // a class may be asked about another burst meanwhile
		b.s.mu.Lock()
		defer b.s.mu.Unlock()
		b.showCards(b.shown, always)
	}()
	tick := time.NewTicker(redrawBurst)
	defer tick.Stop()
	for began := time.Now(); ctx.Err() == nil; {
		after := time.Since(began) / time.Duration(slower)
		told := map[string]any{"Slower": slower, "At": min(after, longest).Milliseconds(), "Of": longest.Milliseconds()}
		b.s.board.put(againPart(burstName), b.s.fragment("burst-again", told))
		b.showNews(of, after, shown)
		if after > longest {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
