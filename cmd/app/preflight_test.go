//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/testenv"
	"locklab/lockstrategy/preflight"
)

// found is a report with one weakness.
func found(what string) preflight.Report {
	return preflight.Report{Taken: time.Now(), Weaknesses: []preflight.Weakness{{Where: []string{"a:1"}, What: what}}}
}

// whats is what /readyz would tell of the first lock.
func whats(ctx context.Context, p *lockPreflight) string {
	var all []string
	for _, lock := range p.ready(ctx) {
		for _, w := range lock.Weaknesses {
			all = append(all, lock.Lock+" "+w.What)
		}
	}
	return strings.Join(all, ", ")
}

// /readyz may be asked each second, by several at once. The minute is that of a bubble, where time is the subject and fake.
func TestServersAreAskedOnceAMinuteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := 0, make(chan struct{})
		p := &lockPreflight{locks: []preflightLock{{"v3", func(context.Context) (preflight.Report, error) {
			asked++ // a race where two ask at once
			<-answer
			return found(fmt.Sprint(asked)), nil
		}}}}
		want := func(times int, said string) {
			t.Helper()
			if got := whats(t.Context(), p); got != said || asked != times {
				t.Fatalf("asked %d times, it tells %q; want %d, %q", asked, got, times, said)
			}
		}
		atOnce := func() {
			for range 3 {
				go whats(t.Context(), p)
			}
			synctest.Wait()
		}
		atOnce()
		want(1, "")
		close(answer)
		synctest.Wait()
		want(1, "v3 1")
		time.Sleep(preflightEvery - time.Nanosecond)
		want(1, "v3 1")
		time.Sleep(time.Nanosecond)
		answer = make(chan struct{})
		atOnce()
		want(2, "v3 1") // while one asks
		close(answer)
		synctest.Wait()
		want(2, "v3 2")
	})
}

// The minute is that of a bubble.
func TestWhatASilentServerSaidIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent error
		lock := func(name, what string) preflightLock {
			return preflightLock{name, func(context.Context) (preflight.Report, error) {
				if silent != nil {
					return found("nothing"), silent
				}
				return found(what), nil
			}}
		}
		p := &lockPreflight{locks: []preflightLock{lock("v3", "first"), lock("v4", "second")}}
		const both = "v3 first, v4 second"
		if got := whats(t.Context(), p); got != both {
			t.Fatalf("it tells %q", got)
		}
		at := p.ready(t.Context())[0].At
		silent = errors.New("silent")
		time.Sleep(preflightEvery)
		if got := whats(t.Context(), p); got != both || !p.ready(t.Context())[0].At.Equal(at) {
			t.Errorf("it tells %q of %s", got, p.ready(t.Context())[0].At)
		}
	})
}

func TestAClientThatGoesAwayDoesNotSpoilThePreflight(t *testing.T) {
	p := &lockPreflight{locks: []preflightLock{{"v3", func(ctx context.Context) (preflight.Report, error) {
		if ctx.Err() != nil {
			return found("nothing"), ctx.Err()
		}
		return found("all"), nil
	}}}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got := whats(gone, p); got != "" {
		t.Errorf("it tells %q", got)
	}
	if got := whats(t.Context(), p); got != "v3 all" {
		t.Errorf("it tells %q", got)
	}
}

func TestPreflightIsLoggedInLines(t *testing.T) {
	said := func(node, version string, offset time.Duration) preflight.Facts {
		return preflight.Facts{Node: node, Said: map[string]string{"redis_version": version}, ClockOffset: offset, RoundTrip: time.Millisecond}
	}
	report := preflight.Report{
		Servers: []preflight.Facts{said("a:1", "7", 0), said("b:2", "6", 0), said("c:3", "7", -2*time.Millisecond), {Node: "d:4"}},
		Weaknesses: []preflight.Weakness{
			{Where: []string{"a:1"}, What: "worst", Why: "so", Remedy: "this", Grave: true},
			{Where: []string{"a:1", "b:2"}, What: "bad", Why: "thus", Remedy: "that"},
		},
		Unknown: []preflight.Unknown{{Where: []string{"d:4"}, What: "everything", Why: "silent"}},
	}
	p := &lockPreflight{locks: []preflightLock{{"v3", func(context.Context) (preflight.Report, error) { return report, nil }}}}
	var out bytes.Buffer
	plain := slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	p.log(t.Context(), slog.New(slog.NewTextHandler(&out, &plain)))
	want := `level=INFO msg=preflight lock=v3 redis_version=7 clock="-2.0ms ±0.5ms" where="a:1, c:3"
level=INFO msg=preflight lock=v3 redis_version=6 clock="+0.0ms ±0.5ms" where=b:2
level=INFO msg="preflight: unknown" lock=v3 what=everything why=silent where=d:4
level=ERROR msg="preflight: no lock" lock=v3 what=worst why=so remedy=this where=a:1
level=WARN msg="preflight: weakness" lock=v3 what=bad why=thus remedy=that where="a:1, b:2"
`
	if out.String() != want {
		t.Errorf("it logs\n%s\nwant\n%s", out.String(), want)
	}
}

// An instance whose locks are weak is ready, and says why they are.
func TestReadyzTellsWhatWeakensTheLocks(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	s := testenv.Stack(t)
	node, err := s.Redis(testenv.Context(t), "redis", true, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.RedLock(testenv.Context(t), 3, true)
	if err != nil {
		t.Fatal(err)
	}
	instance := serving(t, node, "--redlock="+nodes[0].Addr+","+nodes[1].Addr+","+nodes[2].Addr)
	status, _, body := ask(t, http.MethodGet, instance.URL+"/readyz")
	var told struct {
		Ready     bool
		Preflight []struct {
			Lock       string
			At         time.Time
			Weaknesses []struct {
				Where             []string
				What, Why, Remedy string
			}
			Unknown []any
		}
	}
	if err := json.Unmarshal([]byte(body), &told); err != nil || status != http.StatusOK || !told.Ready || len(told.Preflight) != 2 {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	v3, v4 := told.Preflight[0], told.Preflight[1]
	if v3.Lock != "v3" || len(v3.Weaknesses) != 3 || len(v3.Unknown) != 0 || time.Since(v3.At) > time.Minute ||
		!strings.Contains(v3.Weaknesses[0].What, "allkeys-lru") || !slices.Equal(v3.Weaknesses[0].Where, []string{node.Addr}) {
		t.Errorf("v3: %+v", v3)
	}
	if v4.Lock != "v4" || len(v4.Weaknesses) != 1 || len(v4.Weaknesses[0].Where) != 3 || v4.Weaknesses[0].Remedy == "" {
		t.Errorf("v4: %+v", v4)
	}
}
