package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/live/class"
	"locklab/lab/testenv"
)

// A run is stopped from its page: it shows nothing, its question is open again with the guess, and what had happened is saved. One that
// waits does not begin, and saves nothing. The next run begins.
func TestARunIsStopped(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	s, base := serving(t, paused("X1-first", never), paused("X2-second", never))
	first, second := looks(t, base, "X1-first-run"), looks(t, base, "X2-second-run")
	buttons := looks(t, base, "X1-first")
	do(t, http.MethodPost, base+"/ui/quiz/X1-first/guess", map[string][]string{"choice": {"0"}}, nil)
	first.until("X1-first-run", "Running now: waits")
	buttons.until("X1-first", ">Stop</button>")
	do(t, http.MethodPost, base+"/ui/quiz/X2-second/run", nil, nil)
	second.until("X2-second-run", "This run waits until it ends")
	do(t, http.MethodPost, base+"/ui/quiz/X2-second/stop", nil, nil)
	looks(t, base, "X2-second").until("X2-second", "The run was stopped, so it shows nothing.")
	do(t, http.MethodPost, base+"/ui/quiz/X1-first/stop", nil, nil)
	looks(t, base, "X1-first").until("X1-first", "The run was stopped, so it shows nothing.")
	testenv.Eventually(t, "no run is active", func() bool { return !s.isBusy("X1-first-run") && !s.isBusy("X2-second-run") })
	if a := s.viewQuestion("X1-first", viewer{}); !a.Open || a.Mine != "0" || a.Runs {
		t.Errorf("after the stop the question is %+v", a)
	}
	looks(t, base, "X1-first").until("X1-first", "inconclusive", "Replay")
	if runs := lab.History(s.cfg.Store, "X2-second"); len(runs) != 0 {
		t.Errorf("a run that never began saved %v", runs)
	}
	do(t, http.MethodPost, base+"/ui/quiz/X2-second/stop", nil, nil) // nothing runs, and nothing happens
	do(t, http.MethodPost, base+"/ui/quiz/X2-second/run", nil, nil)
	second.until("X2-second-run", "Running now: waits")
}

// A run that takes its time to stop says so, and is not asked again.
func TestARunThatIsStopping(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := paused("X5-slow", release)
	slow.Variants[0].Run = func(context.Context, *lab.Trial) { <-release }
	_, base := serving(t, slow)
	looker, buttons := looks(t, base, "X5-slow-run"), looks(t, base, "X5-slow")
	do(t, http.MethodPost, base+"/ui/quiz/X5/run", nil, nil)
	looker.until("X5-slow-run", "Running now")
	for range 2 {
		do(t, http.MethodPost, base+"/ui/quiz/X5/stop", nil, nil)
	}
	buttons.until("X5-slow", "Stopping …")
	close(release)
	buttons.until("X5-slow", "The run was stopped", ">Run it without a guess</button>")
}

// A burst that cannot be sent, or seen again, now leaves the page as it was: the next one may be sent.
func TestABurstThatCannotBeginNow(t *testing.T) {
	s, told := full(t), newBurstNow(burst.Plan{Users: 2, Versions: []string{"v1"}})
	for value := int64(1); value < 3 || told.longest() == 0; value++ { // the clock may not tell two answers apart
		told.apply(burst.Answered{Version: "v1", Instance: "a", Value: value})
	}
	s.bursts.shown = told
	w, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/ui/burst/replay", nil)
	if _ = s.replayBurst(w, request); w.Code != http.StatusServiceUnavailable || s.isBusy(againPart(burstName)) {
		t.Errorf("it ends with %d", w.Code)
	}
	err := s.quizzes[burstName].begin()
	if !errors.Is(err, errBusy) || s.isBusy(runPart(burstName)) || !s.viewQuestion("burst-1", viewer{}).Open {
		t.Errorf("a new one ends with %v", err)
	}
}

// A scene that is stopped says so, and can be played again.
func TestASceneIsStopped(t *testing.T) {
	t.Parallel()
	_, base := serving(t, paused("X1-first", nil))
	looker := looks(t, base, "scene-3")
	do(t, http.MethodPost, base+"/ui/quiz/X1-first/run", nil, nil)
	do(t, http.MethodPost, base+"/ui/quiz/scene-3/guess", map[string][]string{"choice": {"1"}}, nil) // it waits
	do(t, http.MethodPost, base+"/ui/quiz/scene-3/stop", nil, nil)
	looker.until("scene-3", "The run was stopped")
	do(t, http.MethodPost, base+"/ui/quiz/scene-3/again", nil, nil)
	looks(t, base, "scene-3").until("scene-3", "Press your answer")
}

// A burst is stopped while its instances start, and so is their start from the page Servers. Each can be asked for again.
func TestAStartIsStopped(t *testing.T) {
	t.Parallel()
	starts := make(chan bool, 9)
	s, base := burstPage(t, nil, func(ctx context.Context, _ func(string)) (burst.Running, error) {
		starts <- true
		<-ctx.Done()
		return burst.Running{}, errors.New("a server was cut off while it started")
	})
	for range 2 {
		form := plan("20", "v3")
		form.Set("guess", "20")
		do(t, http.MethodPost, base+"/ui/burst", form, nil)
		<-starts
		do(t, http.MethodPost, base+"/ui/quiz/burst/stop", nil, nil)
		looks(t, base, burstName).until(burstName, "The run was stopped")
		testenv.Eventually(t, "it can be sent again", func() bool { return s.viewQuestion("burst-1", viewer{}).Open })
	}
	if a := s.viewQuestion("burst-1", viewer{}); !a.Open || a.Mine != "20" || len(s.bursts.ended) != 0 {
		t.Errorf("after the stop the question is %+v", a)
	}
	do(t, http.MethodPost, base+"/ui/servers/start", nil, nil)
	<-starts
	do(t, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	looks(t, base, "instances").until("instances", "could not be started: it was stopped")
	if status, body := do(t, http.MethodPost, base+"/ui/burst/replay", nil, nil); status != http.StatusConflict ||
		!strings.Contains(body, "There was no burst yet") {
		t.Error("a burst that never was is seen again:", status, body)
	}
}

// While a run goes on, the page shows what has become of each variant. After a stop that is over, the question can be asked anew.
func TestARunShowsItsVariants(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	two := paused("X4-two", release)
	two.Trials = 2
	s, base := serving(t, two)
	variants := looks(t, base, "X4-two-run")
	do(t, http.MethodPost, base+"/ui/quiz/X4/guess", map[string][]string{"choice": {"0"}}, nil)
	release <- struct{}{}
	variants.until("X4-two-run", "no violation in 1 trial")
	do(t, http.MethodPost, base+"/ui/quiz/X4/again", nil, nil) // not while it runs
	if a := s.viewQuestion("X4-two", viewer{}); a.Open || a.Mine != "0" {
		t.Errorf("during the run the question is asked anew: %+v", a)
	}
	release <- struct{}{}
	variants.until("X4-two-run", "no violation in 2 trials")
	testenv.Eventually(t, "it has ended", func() bool { return !s.isBusy("X4-two-run") })
	do(t, http.MethodPost, base+"/ui/quiz/X4/again", nil, nil)
	if a := s.viewQuestion("X4-two", viewer{}); !a.Open || a.Mine != "" || s.board.get("X4-two-run", viewer{}) != "" {
		t.Errorf("asked anew it is %+v", a)
	}
}

// While guesses are open, participants of a class see nothing that tells the answer: no saved run, and nothing of a run that was stopped. A
// new class sees nothing of the class before.
func TestAParticipantSeesNoAnswer(t *testing.T) {
	t.Parallel()
	cfg := config(t.TempDir(), paused("X1-first", nil))
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	s, base := serve(t, cfg)
	leads := trains(t, base)
	guesses, runs := viewer{Person: class.Person{ID: "ana"}, Role: participant}, viewer{Role: trainer}
	told := func(what string, v viewer, want bool) {
		t.Helper()
		all := s.board.get("X1-first", v) + s.board.get("X1-first-run", v)
		if strings.Contains(all, "inconclusive") != want {
			t.Errorf("%s a viewer %+v sees %s", what, v, all)
		}
	}
	looker := looks(t, base, "X1-first-run")
	send(t, leads, http.MethodPost, base+"/ui/quiz/X1/run", nil, nil)
	looker.until("X1-first-run", "Running now")
	send(t, leads, http.MethodPost, base+"/ui/quiz/X1/stop", nil, nil)
	testenv.Eventually(t, "it has ended", func() bool { return s.viewQuestion("X1-first", viewer{}).Open })
	told("after a stop", guesses, false)
	told("after a stop", runs, true)
	send(t, leads, http.MethodPost, base+"/ui/class/reset", nil, nil)
	if text := s.board.get("X1-first", runs); strings.Contains(text, "was stopped") {
		t.Errorf("a new class sees the run of the one before: %s", text)
	}
}

// stuck is a browser that takes nothing: a write lasts until its deadline, if it has one.
type stuck struct {
	http.ResponseWriter
	deadline time.Time
}

func (s *stuck) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }

func (s *stuck) Write([]byte) (int, error) {
	if s.deadline.IsZero() {
		select {}
	}
	time.Sleep(time.Until(s.deadline)) // in the bubble
	return 0, os.ErrDeadlineExceeded
}

// A browser that takes nothing loses its connection. Until then no other one waits for it, and none gets a text that is old.
func TestAStalledReaderDisturbsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := &Server{board: newBoard()}, httptest.NewRecorder()
		s.board.put("load", "at first")
		look := func(w http.ResponseWriter) {
			if err := s.events(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ui/events?of=load", nil)); err != nil {
				t.Error(err)
			}
		}
		go look(&stuck{ResponseWriter: httptest.NewRecorder()})
		go look(deadlines{other})
		for i := range 3 {
			text := fmt.Sprint("text ", i)
			s.board.put("load", text)
			if synctest.Wait(); !strings.HasSuffix(strings.TrimSuffix(other.Body.String(), beat), `"html":"`+text+`","part":"load"}`+"\n\n") {
				t.Fatalf("after %q the other browser has %q", text, other.Body)
			}
		}
		if n := s.board.watched["load"]; n != 2 {
			t.Errorf("%d browsers look on; the stalled one has some seconds", n)
		}
		time.Sleep(stalled)
		if synctest.Wait(); s.board.watched["load"] != 1 {
			t.Error("the stalled browser has a connection still")
		}
	})
}

// deadlines is a browser that takes everything in time.
type deadlines struct{ *httptest.ResponseRecorder }

func (deadlines) SetWriteDeadline(time.Time) error { return nil }

// Runs begin in the order in which they were asked for, one after the other. One that is stopped while it waits lets none pass.
func TestRunsBeginInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := make(chan struct{})
		close(none)
		s := &Server{board: newBoard(), ctx: t.Context(), busy: make(map[string]*underway), newest: none}
		began, over := make(chan string, 9), make(chan struct{})
		ask := func(part string) {
			t.Helper()
			if err := s.start(job{part, link{}, func(ctx context.Context) func() {
				if ctx.Err() == nil {
					began <- part
					<-over
				}
				return func() {}
			}}); err != nil {
				t.Error(err)
			}
		}
		for _, part := range []string{"a", "b", "c", "d"} {
			ask(part)
		}
		s.stop("b")
		for _, want := range []string{"a", "c", "d"} {
			if synctest.Wait(); len(began) != 1 || s.isBusy("b") {
				t.Fatalf("%d runs go on, and the one that was stopped does: %v", len(began), s.isBusy("b"))
			}
			if part := <-began; part != want {
				t.Errorf("%s begins before %s", part, want)
			}
			over <- struct{}{}
		}
		s.running.Wait()
	})
}
