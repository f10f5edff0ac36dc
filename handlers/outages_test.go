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

// These tests run in a synctest bubble: their sleeps take no time.

// outageTest is an Outages with its log and one server, called redis, that a test can fail.
type outageTest struct {
	*handlers.Outages
	mu      sync.Mutex // guards the rest
	log     bytes.Buffer
	pingErr error
	delay   time.Duration // of a ping
}

// Write writes a line of the log.
func (o *outageTest) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.Write(line)
}

// setPing sets the result of each ping from now on.
func (o *outageTest) setPing(err error) { o.setSlowPing(0, err) }

// setSlowPing sets the result of each ping from now on, and how long a ping takes.
func (o *outageTest) setSlowPing(delay time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pingErr, o.delay = err, delay
}

func (o *outageTest) ping(context.Context) error {
	o.mu.Lock()
	err, delay := o.pingErr, o.delay
	o.mu.Unlock()
	time.Sleep(delay)
	return err
}

// testOutages runs a test in a bubble, with redis and sqlite up.
func testOutages(t *testing.T, run func(t *testing.T, o *outageTest)) {
	synctest.Test(t, func(t *testing.T) {
		o := &outageTest{}
		withoutTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		o.Outages = handlers.NewOutages(slog.New(slog.NewTextHandler(o, withoutTime)),
			handlers.HealthCheck{Name: "redis", Ping: o.ping}, up("sqlite"))
		defer o.Close()
		run(t, o)
	})
}

// takeLog returns the lines that were logged since the last call.
func (o *outageTest) takeLog() string {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.log.Reset()
	return o.log.String()
}

// wantLog fails unless these lines were logged since the last call.
func (o *outageTest) wantLog(t *testing.T, lines ...string) {
	t.Helper()
	want := ""
	for _, line := range lines {
		want += line + "\n"
	}
	if got := o.takeLog(); got != want {
		t.Fatalf("the log is\n%swant\n%s", got, want)
	}
}

var errRefused = errors.New("dial: refused")

const (
	redisLost = `level=WARN msg="server lost" server=redis error="dial: refused"`
	redisBack = `level=WARN msg="server back" server=redis after=`
)

// However many requests fail, a server that is lost gets one line. When it is back, a second line says for how long it was down and how
// many failures there were.
func TestOutageLogsTwoLines(t *testing.T) {
	testOutages(t, func(t *testing.T, o *outageTest) {
		o.setPing(errRefused)
		for range 15 {
			for range 1000 {
				o.ReportFailure("a request", errRefused)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second / 2) // between two pings
		o.wantLog(t, redisLost)
		o.setPing(nil)
		time.Sleep(time.Second)
		o.wantLog(t, redisBack+"16s failures=15000")
		time.Sleep(time.Minute)
		o.wantLog(t)
	})
}

// An outage that only a ping from /readyz finds is logged, too.
func TestOutageFoundByPing(t *testing.T) {
	testOutages(t, func(t *testing.T, o *outageTest) {
		o.setPing(errRefused)
		if got := o.PingServers(t.Context()); len(got) != 1 || !errors.Is(got["redis"], errRefused) {
			t.Errorf("the unreachable servers are %v", got)
		}
		o.wantLog(t, redisLost)
		time.Sleep(7 * time.Second / 2)
		o.setPing(nil)
		time.Sleep(time.Second)
		o.wantLog(t, redisBack+"4s failures=0")
	})
	testOutages(t, func(t *testing.T, o *outageTest) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o.setPing(ctx.Err())
		o.PingServers(ctx)
		o.wantLog(t) // the client disconnected: that says nothing about the server
	})
}

// The outage of an optional server is logged, does not make the instance unready, and does not explain failures.
func TestOptionalServerOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outageTest{}
		check := handlers.HealthCheck{Name: "node", Ping: o.ping, Optional: true}
		o.Outages = handlers.NewOutages(slog.New(slog.NewTextHandler(o, nil)), check, up("sqlite"))
		defer o.Close()
		o.setPing(errors.New("refused"))
		if unreachable := o.PingServers(t.Context()); len(unreachable) > 0 {
			t.Errorf("the unreachable servers are %v, want none", unreachable)
		}
		o.ReportFailure("a request", errors.New("full"))
		time.Sleep(5 * time.Second)
		o.setPing(nil)
		time.Sleep(15 * time.Second)
		log := o.takeLog()
		for _, line := range []string{"server lost", "server back", "operations failed although every server answers"} {
			if strings.Count(log, line) != 1 {
				t.Errorf("want one line with %q in\n%s", line, log)
			}
		}
	})
}

// For a server that comes and goes, each line is logged at most once in ten seconds, and the last line shows its state.
func TestLogInterval(t *testing.T) {
	testOutages(t, func(t *testing.T, o *outageTest) {
		time.Sleep(time.Second / 2)
		for second := range 40 {
			if o.setPing(nil); second%2 == 0 {
				o.setPing(errRefused)
				o.ReportFailure("a request", errRefused)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(20 * time.Second)
		log := o.takeLog()
		lines := strings.Split(strings.TrimSpace(log), "\n")
		lost := strings.Count(log, redisLost)
		if lost < 2 || lost > 5 || len(lines) != 2*lost || !strings.HasPrefix(lines[len(lines)-1], redisBack) {
			t.Errorf("the log is\n%s", log)
		}
	})
}

// If a server is lost again within ten seconds, its line is logged after them. The outage is measured from the second loss.
func TestSecondOutageWithinLogInterval(t *testing.T) {
	testOutages(t, func(t *testing.T, o *outageTest) {
		o.setPing(errRefused)
		o.ReportFailure("a request", errRefused)
		o.wantLog(t, redisLost)
		o.setPing(nil)
		time.Sleep(9 * time.Second / 4)
		o.wantLog(t, redisBack+"1s failures=1")
		o.setSlowPing(time.Second/2, errRefused)
		o.ReportFailure("a request", errRefused)
		time.Sleep(7 * time.Second)
		o.wantLog(t)
		time.Sleep(12 * time.Second)
		o.wantLog(t, redisLost)
		o.setPing(nil)
		time.Sleep(time.Second)
		o.wantLog(t, redisBack+"19.5s failures=1")
	})
}

// Pings from /readyz and from polling overlap. A ping that was sent during an outage may time out after a later one has succeeded. It must
// change nothing.
func TestLatePingIsIgnored(t *testing.T) {
	testOutages(t, func(t *testing.T, o *outageTest) {
		o.setPing(errRefused)
		o.PingServers(t.Context())
		o.wantLog(t, redisLost)
		time.Sleep(31 * time.Second / 2)
		o.setSlowPing(900*time.Millisecond, errRefused)
		time.Sleep(time.Second) // a ping is in flight
		o.setPing(nil)
		o.PingServers(t.Context())
		o.wantLog(t, redisBack+"16.5s failures=0")
		time.Sleep(time.Minute)
		o.wantLog(t)
	})
}

// Failures while every server answers are logged once in ten seconds, with their number.
func TestUnexplainedFailures(t *testing.T) {
	testOutages(t, func(t *testing.T, o *outageTest) {
		full := errors.New("OOM command not allowed")
		for range 12 {
			for range 100 {
				o.ReportFailure("consume changes", full)
			}
			time.Sleep(time.Second)
		}
		const line = `level=WARN msg="operations failed although every server answers" what="consume changes" failures=`
		if got := o.takeLog(); strings.Count(got, line) != 2 || strings.Count(got, "\n") != 2 {
			t.Errorf("the log is\n%s", got)
		}
		time.Sleep(time.Minute)
		if got := o.takeLog(); strings.Count(got, line) != 1 { // the failures after the last line
			t.Errorf("the log is\n%s", got)
		}
	})
}

// Requests that fail because of a server are reported. A mistake of the client is not.
func TestReportedFailures(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		path string
		want bool
	}{
		"a server is down": {errRedisDown, "/v1/pview", true},
		"an unknown error": {errors.New("a bug"), "/v1/pview", true},
		"an unknown path":  {nil, "/nothing", false},
		"no error":         {nil, "/v1/pview", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cfg := newConfig(t)
				s.views.err = c.err
				var log bytes.Buffer
				cfg.Outages = handlers.NewOutages(slog.New(slog.NewTextHandler(&log, nil)))
				defer cfg.Outages.Close()
				handlers.New(cfg).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, c.path, nil))
				synctest.Wait()
				if logged := strings.Contains(log.String(), `what="a request" failures=1`); logged != c.want {
					t.Errorf("the log is %q", log.String())
				}
			})
		})
	}
}
