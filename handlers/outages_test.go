package handlers_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/handlers"
)

// These tests run in a synctest bubble: their sleeps take no time.

// outageTest is an Outages with its log, and with a server that fails while pingErr is set.
type outageTest struct {
	*handlers.Outages
	log     logBuffer
	pingErr atomic.Pointer[error]
}

var errRefused = errors.New("dial: refused")

// testOutages runs a test in a bubble, with this server and one that is always up.
func testOutages(t *testing.T, optional bool, run func(t *testing.T, o *outageTest)) {
	synctest.Test(t, func(t *testing.T) {
		o := &outageTest{}
		withoutTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		ping := func(context.Context) error {
			if err := o.pingErr.Load(); err != nil {
				return *err
			}
			return nil
		}
		o.Outages = handlers.NewOutages(slog.New(slog.NewTextHandler(&o.log, withoutTime)),
			handlers.HealthCheck{Name: "redis", Ping: ping, Optional: optional}, up("sqlite"))
		defer o.Close()
		run(t, o)
	})
}

// wantLog fails unless these lines were logged since the last call.
func (o *outageTest) wantLog(t *testing.T, lines ...string) {
	t.Helper()
	synctest.Wait()
	defer o.log.lock()()
	if got, want := o.log.Buffer.String(), strings.Join(lines, ""); got != want {
		t.Fatalf("the log is\n%swant\n%s", got, want)
	}
	o.log.Reset()
}

const (
	redisLost = "level=WARN msg=\"server lost\" server=redis error=\"dial: refused\"\n"
	redisBack = "level=WARN msg=\"server back\" server=redis after="
	allAnswer = "level=WARN msg=\"operations failed although every server answers\" what=\"a request\" failures="
)

// However many requests fail, a server that is lost gets one line. When it is back, a second line says for how long it was down and how
// many failures there were.
func TestOutageLogsTwoLines(t *testing.T) {
	testOutages(t, false, func(t *testing.T, o *outageTest) {
		o.pingErr.Store(&errRefused)
		for range 15 {
			for range 1000 {
				o.ReportFailure("a request", errRefused)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second / 2) // between two pings
		o.wantLog(t, redisLost)
		o.pingErr.Store(nil)
		time.Sleep(time.Second)
		o.wantLog(t, redisBack+"16s failures=15000\n")
		time.Sleep(time.Minute)
		o.wantLog(t)
	})
}

// An outage that only a ping from /readyz finds is logged, too. That of an optional server does not make the instance unready.
func TestOutageFoundByPing(t *testing.T) {
	for _, optional := range []bool{false, true} {
		testOutages(t, optional, func(t *testing.T, o *outageTest) {
			o.pingErr.Store(&errRefused)
			if unreachable := o.PingServers(); optional != (len(unreachable) == 0) {
				t.Errorf("the unreachable servers are %v", unreachable)
			}
			o.wantLog(t, redisLost)
			time.Sleep(7 * time.Second / 2)
			o.pingErr.Store(nil)
			time.Sleep(time.Second)
			o.wantLog(t, redisBack+"4s failures=0\n")
		})
	}
}

// Failures while every server answers are logged once in ten seconds, with their number.
func TestFailuresWithoutAnOutage(t *testing.T) {
	testOutages(t, false, func(t *testing.T, o *outageTest) {
		for range 12 {
			o.ReportFailure("a request", errRefused)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		o.wantLog(t, allAnswer+"1 error=\"dial: refused\"\n", allAnswer+"10 error=\"dial: refused\"\n", allAnswer+"1 error=\"dial: refused\"\n")
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
