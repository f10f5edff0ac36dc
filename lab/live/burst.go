package live

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/lab/burst"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
	"locklab/versions"
)

// bursts are what the page Burst shows, apart from the guesses. The mutex of the server protects them.
type bursts struct {
	plan    burst.Plan   // that was chosen last
	asked   int          // number of the present question, from 1
	runs    bool         // a run waits or goes on, or is seen again
	replays bool         // it is seen again
	health  burst.Health // of an instance; without versions it is not known
	ended   []endedBurst // of this session
	shown   *burstNow    // on the cards
}

// endedBurst is a run whose bursts were all sent.
type endedBurst struct {
	*burst.Results
	About    burst.PageviewRow // what was guessed
	question string
	told     bool // views were answered
}

const mostEnded = 50 // runs in the history

var firstPlan = burst.Plan{Users: versions.ArticleUsers, Drivers: 20, Rounds: 1, Versions: versions.DefaultNames()}

// question is the name of the present question.
func (b bursts) question() string { return fmt.Sprintf("burst-%d", b.asked) }

// last is the newest run whose bursts were all sent; without one it has no question.
func (b bursts) last() endedBurst {
	if len(b.ended) == 0 {
		return endedBurst{}
	}
	return b.ended[len(b.ended)-1]
}

// good reports whether a guess is within a tenth of the users from the final value.
func (e endedBurst) good(guess string) bool {
	n, err := strconv.ParseInt(guess, 10, 64)
	return err == nil && 10*max(n-e.About.Final, e.About.Final-n) <= int64(e.Users)
}

// presentBursts returns a copy.
func (s *Server) presentBursts() bursts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bursts
}

// box is a version that can be chosen.
type box struct {
	versions.Version
	Chosen bool
	Lacks  bool // the instances do not have it
}

// The parts of the page Burst.
const (
	burstRun   = "burst-run"
	burstAfter = "burst-after"
)

var burstParts = append(
	[]string{
		"burst-form", "burst-up", "burst-question", "burst-guesses", "burst-go", burstAfter, afterCount(burstAfter), burstRun, "burst-left",
		"burst-history",
	}, cardParts()...)

func cardPart(version string) string { return "burst-card-" + version }

func cardParts() (all []string) {
	for _, v := range versions.All() {
		all = append(all, cardPart(v.Name))
	}
	return all
}

// showBurst shows what has changed apart from the run.
func (s *Server) showBurst() {
	b := s.presentBursts()
	s.showGo()
	var boxes []box
	for _, v := range versions.All() {
		lacks := b.health.Lacks(v) != nil
		boxes = append(boxes, box{v, slices.Contains(b.plan.Versions, v.Name) && !lacks, lacks})
	}
	s.board.put("burst-form", s.fragment("burst-form", map[string]any{"Boxes": boxes, "Plan": b.plan, "Most": burst.MostUsers}))
	s.board.putEach("burst-up", func(v viewer) string {
		running := s.instances.Load()
		return s.fragment("burst-up", map[string]any{"Running": running, "Topology": b.health.Topology, "Links": v.Trains()})
	})
	s.board.putEach("burst-question", func(v viewer) string {
		return s.fragment("burst-question", map[string]any{
			"Plan": b.plan, "About": b.plan.About(), "Asked": s.ask(b.question(), v), "Runs": b.runs,
		})
	})
	s.showGuesses()
	s.showBurstAfter()
}

// showGuesses shows how many have guessed. The field in which somebody types a guess is in another part, and is not replaced.
func (s *Server) showGuesses() {
	s.board.putEach("burst-guesses", func(v viewer) string {
		b := s.presentBursts()
		shown := map[string]any{"Asked": s.ask(b.question(), v), "Runs": b.runs}
		if n := len(b.ended); n > 0 {
			if e, a := b.ended[n-1], s.ask(b.ended[n-1].question, v); !a.Hidden() {
				shown["Last"], shown["Good"], shown["About"] = a.Mine, e.good(a.Mine), e.About
			}
		}
		return s.fragment("burst-guesses", shown)
	})
}

func (s *Server) burstPage(r *http.Request) (page, error) {
	s.lead(r, "the burst")
	return page{Name: "burst", Title: "Burst", Parts: slices.Clone(burstParts), Body: map[string]any{
		"Able": s.cfg.Service != nil, "Most": burst.MostUsers, "Cards": cardParts(),
	}}, nil
}

// showGo shows the buttons that begin and stop a run.
func (s *Server) showGo() {
	s.board.putEach("burst-go", func(v viewer) string {
		b := s.presentBursts()
		return s.fragment("burst-go", map[string]any{
			"Waits": !b.runs && s.ask(b.last().question, v).Waits(), "Asked": s.ask(b.question(), v), "Runs": b.runs,
			"Stopping": s.isStopping(burstRun), "Trains": v.Trains(),
			"Ended": b.shown.longest() > 0,
		})
	})
}

// planOf is the plan that a form has. The error says what to do.
func (s *Server) planOf(r *http.Request) (burst.Plan, error) {
	number := func(name string) int { n, _ := strconv.Atoi(r.FormValue(name)); return n } // Validate names 0, too
	p := burst.Plan{Users: number("users"), Drivers: number("drivers"), Rounds: 1}
	p.Versions = r.Form["version"] // FormValue has parsed it
	err := p.Validate()
	if err == nil {
		err = s.presentBursts().health.CanRun(p)
	}
	return p, refuse(http.StatusBadRequest, err)
}

// choose makes a plan the present one, and drops the guesses. It reports false while a burst runs.
func (s *Server) choose(p burst.Plan) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.bursts.runs {
		s.bursts.plan = p
		s.questions.Reopen(s.bursts.question())
	}
	return !s.bursts.runs
}

// askBurst asks a class what a plan will show: that plan runs. Without a class the guess is sent together with the plan.
func (s *Server) askBurst(r *http.Request) error {
	p, err := s.planOf(r)
	if err == nil && !s.choose(p) {
		err = refuse(http.StatusConflict, errors.New("a burst runs, or is seen again; ask again when it has ended"))
	}
	if err == nil {
		s.showBurst()
	}
	return err
}

// guessBurst takes a guess.
func (s *Server) guessBurst(r *http.Request) error {
	defer s.showGuesses()
	b := s.presentBursts()
	guess, err := strconv.Atoi(r.FormValue("guess"))
	if err != nil || guess < 0 || guess > b.plan.Users {
		return refuse(http.StatusBadRequest, fmt.Errorf("guess a number from 0 to %d, the number of users", b.plan.Users))
	}
	return s.guess(b.question(), s.viewerOf(r), strconv.Itoa(guess))
}

// runBurst begins the run. In a class it is that of the plan that was asked about. Otherwise it is that of the form, with its guess.
func (s *Server) runBurst(r *http.Request) error {
	if s.cfg.Service == nil {
		return refuse(http.StatusNotFound,
			errors.New("this program has no instances to send a burst to; start the page with app lab serve"))
	}
	if s.class == nil {
		p, err := s.planOf(r)
		if err == nil && s.choose(p) && r.FormValue("guess") != "" {
			err = s.guessBurst(r)
		}
		if err != nil {
			return err
		}
	}
	return s.beginBurst()
}

// Showed is what became of the page views of the version that was guessed.
func (e endedBurst) Showed() outcome.Outcome { return viewsOf(e.About) }

// AnswerClass is the class of the sentence about them.
func (e endedBurst) AnswerClass() string { return answerOf(e.Showed()) }

// Views is what became of the page views of a row.
func (e endedBurst) Views(row int) template.HTML { return shown(viewsOf(e.Pageview[row])) }

// Winners is what became of the order of a row.
func (e endedBurst) Winners(row int) template.HTML { return shown(winnersOf(e.Order[row])) }

// Kept are the other versions that lost no view and had one winner, as a list for a sentence.
func (e endedBurst) Kept() string {
	var all []string
	for i, p := range e.Pageview {
		if p.Version != e.About.Version && p.Lost == 0 && e.Order[i].Winners == 1 {
			all = append(all, p.Version)
		}
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return strings.Join(all, "")
}

// take notes that a run is shown from now on, and returns the state before. It reports false when another one is shown.
func (s *Server) take(replays bool) (b bursts, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, taken = s.bursts, !s.bursts.runs
	if taken {
		s.bursts.runs, s.bursts.replays = true, replays
	}
	return b, taken
}

// beginBurst begins the run of the present plan, unless one waits or runs.
func (s *Server) beginBurst() error {
	b, taken := s.take(false)
	if !taken {
		return nil
	}
	s.questions.Close(b.question())
	s.showCards(newBurstNow(b.plan), always) // empty ones, so that nothing moves when the run begins
	s.showBurst()
	err := s.start(job{burstRun, func(ctx context.Context) func() {
		e, err := s.sendBurst(ctx, b)
		return func() { s.burstEnded(e, err) }
	}})
	if err != nil {
		s.burstEnded(endedBurst{}, err)
	}
	return err
}

// stopBurst stops the run, also one that is seen again.
func (s *Server) stopBurst(*http.Request) error {
	s.stop(burstRun)
	s.showGo()
	return nil
}

// sendBurst sends the bursts of the present plan.
func (s *Server) sendBurst(ctx context.Context, b bursts) (e endedBurst, err error) {
	now, shown := newBurstNow(b.plan), make(map[string]int)
	show := func() {
		s.board.putMade(burstRun, func() string { return s.fragment("burst-runs", now.copy()) })
		for _, v := range b.plan.Chosen() {
			if n := now.changes(v.Name); n != shown[v.Name] {
				shown[v.Name] = n
				s.showCard(now, v, always)
			}
		}
	}
	s.follow(redrawBurst, func(changed func()) {
		e.Results, err = s.sendPlan(ctx, b.plan, func(what string) { now.say(what); changed() },
			func(e burst.Event) { now.tell(e); changed() })
	}, show)
	if e.told = now.longest() > 0; e.told { // otherwise the burst before stays on the cards
		s.mu.Lock()
		s.bursts.shown = now
		s.mu.Unlock()
	}
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	if err == nil {
		e.question, e.Topology = b.question(), s.presentBursts().health.Topology
		e.About = e.Pageview[slices.IndexFunc(e.Pageview, func(p burst.PageviewRow) bool { return p.Version == b.plan.About().Name })]
	}
	return e, err
}

// showCards shows the versions of a plan, as they were so long after the first answer of each. The others have no card.
func (s *Server) showCards(now *burstNow, after time.Duration) {
	for _, v := range versions.All() {
		if now.courses[v.Name] == nil {
			s.board.put(cardPart(v.Name), "")
		} else {
			s.showCard(now, v, after)
		}
	}
}

func (s *Server) showCard(now *burstNow, v versions.Version, after time.Duration) {
	s.board.putMade(cardPart(v.Name), func() string { return s.fragment("burst-card", now.card(v, after)) })
}

// slowly is how long the longest version takes when it is seen again.
const slowly = 12 * time.Second

// seeAgain shows the answers of the newest burst once more, all versions side by side, and slowly. Nothing is sent.
func (s *Server) seeAgain(*http.Request) error {
	if s.presentBursts().shown.longest() == 0 {
		return refuse(http.StatusConflict, errors.New("there was no burst yet; press “Run it”"))
	}
	b, taken := s.take(true)
	if !taken {
		return nil
	}
	before := s.board.get(burstRun, viewer{})
	ended := func() {
		s.mu.Lock()
		s.bursts.runs, s.bursts.replays = false, false
		s.mu.Unlock()
		s.showCards(b.shown, always)
		s.board.put(burstRun, before)
		s.showBurst()
	}
	s.showBurst()
	err := s.start(job{burstRun, func(ctx context.Context) func() {
		s.playBurst(ctx, b.shown)
		return ended
	}})
	if err != nil {
		ended()
	}
	return err
}

// playBurst shows each moment of a burst that is over, until ctx ends.
func (s *Server) playBurst(ctx context.Context, of *burstNow) {
	longest, shown := of.longest(), make(map[string]int)
	slower := max(1, int((slowly+longest-1)/longest))
	s.showCards(of, -1)
	tick := time.NewTicker(redrawBurst)
	defer tick.Stop()
	for began := time.Now(); ctx.Err() == nil; {
		after := time.Since(began) / time.Duration(slower)
		told := map[string]any{"Slower": slower, "At": min(after, longest).Milliseconds(), "Of": longest.Milliseconds()}
		s.board.put(burstRun, s.fragment("burst-again", told))
		for _, v := range of.plan.Chosen() {
			if n := of.answers(v.Name, after); n != shown[v.Name] {
				shown[v.Name] = n
				s.showCard(of, v, after)
			}
		}
		if after > longest {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// sendPlan starts the instances if they were not, saying what it does, and sends the bursts of a plan.
func (s *Server) sendPlan(ctx context.Context, plan burst.Plan, say func(string), tell func(burst.Event)) (*burst.Results, error) {
	running, err := s.service(ctx, say)
	if err != nil {
		return nil, err
	}
	health, err := running.Health(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.bursts.health = health
	s.mu.Unlock()
	s.showBurst()
	if err := health.CanRun(plan); err != nil {
		return nil, err
	}
	plan.Instances = len(running.Instances)
	return plan.Run(ctx, running.Target, burst.App{}, tell)
}

// burstEnded shows what a run left, and asks the next question. After a run that failed before a view was answered, the question is the
// same, and the guesses stay.
func (s *Server) burstEnded(e endedBurst, failed error) {
	s.ending.Lock()
	defer s.ending.Unlock()
	counts := false
	if question := s.presentBursts().question(); failed == nil {
		counts = s.questions.Ended(question)
	} else {
		s.questions.NotRun(question, true)
	}
	s.mu.Lock()
	s.bursts.runs = false
	if failed != nil && e.told { // its counters were seen
		s.bursts.asked++
	}
	if failed == nil {
		s.bursts.asked++
		s.bursts.ended = append(s.bursts.ended[max(0, len(s.bursts.ended)-mostEnded+1):], e)
	}
	s.mu.Unlock()
	if failed == nil {
		if counts { // otherwise the class is a new one, which was not asked
			s.scoreBurst(e)
		}
		s.board.put("burst-left", s.fragment("burst-left", e))
		s.showEnded()
	} else {
		s.board.put(burstRun, s.fragment("burst-ended", map[string]any{"Failed": failed, "Stopped": errors.Is(failed, errStopped)}))
	}
	s.showCards(s.presentBursts().shown, always)
	s.showBurst()
}

// scoreBurst scores the guesses, unless requests failed, and asks a class what was lost.
func (s *Server) scoreBurst(e endedBurst) {
	if len(e.About.Failed) > 0 {
		return
	}
	s.questions.Answered(e.question, strconv.FormatInt(e.About.Final, 10), e.good)
	lost := 0
	for _, p := range e.Pageview {
		if p.Lost > 0 {
			lost++
		}
	}
	s.askAfterwards(e.question, howMany("What was lost: how many of the versions lost page views?", lost, len(e.Pageview)))
}

// showEnded shows what the newest run left, with the guesses, unless a class must not see them yet.
func (s *Server) showEnded() {
	b := s.presentBursts()
	e := b.last()
	asked := s.ask(e.question, viewer{})
	shown := map[string]any{"Run": e, "Class": s.class != nil, "Hidden": asked.Hidden() && len(e.About.Failed) == 0}
	var guesses []int64
	if !asked.Hidden() {
		right := 0
		for guess, times := range asked.Counts {
			n, _ := strconv.ParseInt(guess, 10, 64)
			guesses = append(guesses, slices.Repeat([]int64{n}, times)...)
			if e.good(guess) {
				right += times
			}
		}
		shown["Guesses"], shown["Right"] = len(guesses), right
	}
	var runs []*burst.Results
	for _, e := range b.ended {
		runs = append(runs, e.Results)
	}
	plot := markup(func(w io.Writer) error { return html.Finals(w, runs, e.About.Version, guesses) })
	s.board.put("burst-history", string(plot))
	s.board.put(burstRun, s.fragment("burst-ended", shown))
}

// answerBurst takes what a participant has seen in the newest run.
func (s *Server) answerBurst(r *http.Request) error {
	err := s.answer(r, s.presentBursts().last().question)
	s.showBurstAfter()
	return err
}

// tellBurst shows a class the guesses, and which are right.
func (s *Server) tellBurst(*http.Request) error {
	if s.presentBursts().runs {
		return refuse(http.StatusConflict, errors.New("a burst runs, or is seen again; show the answers when it has ended"))
	}
	err := s.tell(s.presentBursts().last().question)
	if err == nil {
		s.showEnded()
	}
	s.showBurst()
	return err
}

// showBurstAfter shows what a class is asked about the newest run.
func (s *Server) showBurstAfter() {
	s.showAfter(burstAfter, s.presentBursts().last().question, "/ui/burst/answer")
}
