package handlers_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/handlers"
)

// Time in these tests is that of a synctest bubble: how long an outage lasts is the subject, and a Sleep takes none.

// outage is the log of one server in a bubble. The server answers when away is nil.
type outage struct {
	*handlers.Outages
	mu   sync.Mutex // of the rest
	log  bytes.Buffer
	away error
	slow time.Duration // until it answers
}

// Write writes a line of the log.
func (o *outage) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Write(line)
}

// answers sets what the server answers from here on, immediately.
func (o *outage) answers(err error) { o.answersAfter(0, err) }

// answersAfter sets what it answers to each question from here on, and after which time.
func (o *outage) answersAfter(slow time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away, o.slow = err, slow
}

func (o *outage) ping(context.Context) error {
	o.mu.Lock()
	away, slow := o.away, o.slow
	o.mu.Unlock()
	time.Sleep(slow)
	return away
}

// inOutage runs a test in a bubble, with a server that answers.
func inOutage(t *testing.T, run func(t *testing.T, o *outage)) {
	synctest.Test(t, func(t *testing.T) {
		o := &outage{}
		plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		o.Outages = handlers.NewOutages(slog.New(slog.NewTextHandler(o, plain)),
			handlers.Check{Name: "redis", Ping: o.ping}, up("sqlite"))
		defer o.Close()
		run(t, o)
	})
}

// written returns the lines that were written since the last call.
func (o *outage) written() string {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.log.Reset()
	return o.log.String()
}

// says compares the lines that were written since the last call.
func (o *outage) says(t *testing.T, lines ...string) {
	t.Helper()
	want := ""
	for _, line := range lines {
		want += line + "\n"
	}
	if got := o.written(); got != want {
		t.Fatalf("the log says\n%swant\n%s", got, want)
	}
}

var noAnswer = errors.New("dial: refused")

const (
	redisLost = `level=WARN msg="server lost" server=redis error="dial: refused"`
	redisBack = `level=WARN msg="server back" server=redis after=`
)

// The tests of outages sleep in a bubble (inOutage): time is their subject, and costs none.

// However many requests fail, a server that is lost has one line. When it is back, a second line says how long it was away, and how much
// failed.
func TestAnOutageHasTwoLines(t *testing.T) {
	inOutage(t, func(t *testing.T, o *outage) {
		o.answers(noAnswer)
		for range 15 {
			for range 1000 {
				o.Failed("a request", noAnswer)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second / 2) // between two questions
		o.says(t, redisLost)
		o.answers(nil)
		time.Sleep(time.Second)
		o.says(t, redisBack+"16s failures=15000")
		time.Sleep(time.Minute)
		o.says(t)
	})
}

// An outage that only a probe of /readyz notices is logged as well.
func TestAnOutageIsNoticedByAProbe(t *testing.T) {
	inOutage(t, func(t *testing.T, o *outage) {
		o.answers(noAnswer)
		if got := o.Ask(t.Context()); len(got) != 1 || !errors.Is(got["redis"], noAnswer) {
			t.Errorf("it answers %v", got)
		}
		o.says(t, redisLost)
		time.Sleep(7 * time.Second / 2)
		o.answers(nil)
		time.Sleep(time.Second)
		o.says(t, redisBack+"4s failures=0")
	})
	inOutage(t, func(t *testing.T, o *outage) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		o.answers(gone.Err())
		o.Ask(gone)
		o.says(t) // the client left, and nothing is known of the server
	})
}

// The instance works without a spare server. Its outage has two lines, and explains no failure.
func TestTheOutageOfASpareServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outage{}
		spare := handlers.Check{Name: "node", Ping: o.ping, Spare: true}
		o.Outages = handlers.NewOutages(slog.New(slog.NewTextHandler(o, nil)), spare, up("sqlite"))
		defer o.Close()
		o.answers(errors.New("refused"))
		if away := o.Ask(t.Context()); len(away) > 0 {
			t.Errorf("the instance is not ready: %v", away)
		}
		o.Failed("a request", errors.New("full"))
		time.Sleep(5 * time.Second)
		o.answers(nil)
		time.Sleep(15 * time.Second)
		log := o.written()
		for _, line := range []string{"server lost", "server back", "something failed, although every server answers"} {
			if strings.Count(log, line) != 1 {
				t.Errorf("it has not one line with %q:\n%s", line, log)
			}
		}
	})
}

// A server that comes and goes has each line once in ten seconds at most, and the last one says how it is.
func TestALineIsNotRepeatedWithinTenSeconds(t *testing.T) {
	inOutage(t, func(t *testing.T, o *outage) {
		time.Sleep(time.Second / 2)
		for second := range 40 {
			if o.answers(nil); second%2 == 0 {
				o.answers(noAnswer)
				o.Failed("a request", noAnswer)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(20 * time.Second)
		written := o.written()
		lines := strings.Split(strings.TrimSpace(written), "\n")
		lost := strings.Count(written, redisLost)
		if lost < 2 || lost > 5 || len(lines) != 2*lost || !strings.HasPrefix(lines[len(lines)-1], redisBack) {
			t.Errorf("the log says\n%s", written)
		}
	})
}

// A server that is lost again within ten seconds has its line when they are over. The next line counts from the second loss.
func TestAServerThatIsLostAgain(t *testing.T) {
	inOutage(t, func(t *testing.T, o *outage) {
		o.answers(noAnswer)
		o.Failed("a request", noAnswer)
		o.says(t, redisLost)
		o.answers(nil)
		time.Sleep(9 * time.Second / 4)
		o.says(t, redisBack+"1s failures=1")
		o.answersAfter(time.Second/2, noAnswer)
		o.Failed("a request", noAnswer)
		time.Sleep(7 * time.Second)
		o.says(t)
		time.Sleep(12 * time.Second)
		o.says(t, redisLost)
		o.answers(nil)
		time.Sleep(time.Second)
		o.says(t, redisBack+"19.5s failures=1")
	})
}

// Probes of /readyz and the log's own questions overlap. A question that was asked while the server was away may time out after a later one
// was answered. It changes nothing.
func TestALateAnswerChangesNothing(t *testing.T) {
	inOutage(t, func(t *testing.T, o *outage) {
		o.answers(noAnswer)
		o.Ask(t.Context())
		o.says(t, redisLost)
		time.Sleep(31 * time.Second / 2)
		o.answersAfter(900*time.Millisecond, noAnswer)
		time.Sleep(time.Second) // a question is under way
		o.answers(nil)
		o.Ask(t.Context())
		o.says(t, redisBack+"16.5s failures=0")
		time.Sleep(time.Minute)
		o.says(t)
	})
}

// A failure although every server answers has one line in ten seconds, with its count. So has a failure in the background.
func TestAFailureThatNoServerExplains(t *testing.T) {
	inOutage(t, func(t *testing.T, o *outage) {
		full := errors.New("OOM command not allowed")
		for range 12 {
			for range 100 {
				o.Failed("consume changes", full)
			}
			time.Sleep(time.Second)
		}
		const line = `level=WARN msg="something failed, although every server answers" what="consume changes" failures=`
		if got := o.written(); strings.Count(got, line) != 2 || strings.Count(got, "\n") != 2 {
			t.Errorf("the log says\n%s", got)
		}
		time.Sleep(time.Minute)
		if got := o.written(); strings.Count(got, line) != 1 { // those that came after the last line
			t.Errorf("the log says\n%s", got)
		}
	})
}

// Requests that fail for want of a server are counted. A wait that was too long is none of them, and neither is a client's mistake.
func TestWhichRequestsAreFailures(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		path string
		want bool
	}{
		"a server is away":     {redisAway, "/v1/pview", true},
		"an unknown error":     {errors.New("a bug"), "/v1/pview", true},
		"there is no such way": {nil, "/nothing", false},
		"all is well":          {nil, "/v1/pview", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cfg := parts(t)
				s.views.err = c.err
				var log bytes.Buffer
				cfg.Outages = handlers.NewOutages(slog.New(slog.NewTextHandler(&log, nil)))
				defer cfg.Outages.Close()
				handlers.New(cfg).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, c.path, nil))
				synctest.Wait()
				if told := strings.Contains(log.String(), `what="a request" failures=1`); told != c.want {
					t.Errorf("the log says %q", log.String())
				}
			})
		})
	}
}
