package pageviews

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/pview"
	"locklab/versions"
)

var P11 = Experiments.Add(lab.Experiment{
	ID:       "P11-retried-request",
	Articles: lab.Articles{"A4"},
	Claim: `
		Behind nginx as A4 configures it a page view by GET counts twice, although v3's lock works, when an instance has counted and
		does not answer. By POST, or with proxy_next_upstream off, it does not: the client gets an error, and does not know whether its
		view has counted.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer, lab.Nginx}, Takes: 16 * time.Second},
	Check:    countedTwice,
	Variants: []lab.Variant{
		{Name: "GET, not sent again, shorter timeout", Fault: true, Run: oneView(http.MethodGet, stall, shorterTimeout, nextUpstreamOff)},
		{Name: "POST, as printed but a shorter timeout: stalled", Fault: true, Run: oneView(http.MethodPost, stall, shorterTimeout)},
		{
			Name: "GET, as printed but a shorter timeout: stalled", Expect: lab.Sometimes, Fault: true,
			Run: oneView(http.MethodGet, stall, shorterTimeout),
		},
		{Name: "GET, as printed: killed", Expect: lab.Sometimes, Fault: true, Run: oneView(http.MethodGet, kill)},
		{
			Name: "666 by GET, not sent again, shorter timeout", Fault: true, Trials: 1,
			Run: manyViews(shorterTimeout, nextUpstreamOff),
		},
		{
			Name: "666 by GET, as printed but a shorter timeout", Expect: lab.Sometimes, Fault: true, Trials: 1,
			Run: manyViews(shorterTimeout),
		},
	},
})

const (
	nextUpstreamOff = "proxy_next_upstream off" // as in deploy/nginx.conf
	shorterTimeout  = "proxy_read_timeout"      // of readTimeout, scaled

	// readTimeout is nginx's wait for an answer. It is 60 s by default, twice as long as the lease of Redisson's lock. Both are shorter here,
	// and it is still twice as long.
	readTimeout = time.Second

	countedBefore = 50 // views that the instance has counted of 666, when it stalls
)

var (
	viewsSent   = lab.Count.Of("page views sent")
	viewsAbove  = lab.Count.Of("the counter above the page views sent")
	sentTwice   = lab.Count.Of("page views that nginx sent to both instances")
	unconfirmed = lab.Count.Of("page views without a usable answer")
)

// countedTwice finds the page views that counted twice.
func countedTwice(trial []history.Event) (found []history.Violation) {
	first, sent := make(map[string]history.Event), int64(0)
	for _, e := range trial {
		switch e.Kind {
		case history.Request:
			sent++
		case history.Write:
			if w, twice := first[e.Owner]; twice {
				what := fmt.Sprintf("%s and %s both counted %s", w.Timeline, e.Timeline, e.Owner)
				found = append(found, history.Violation{Key: e.Key, What: what, Events: []int{w.Seq, e.Seq}})
			}
			first[e.Owner] = e
		case history.Final:
			if e.Value > sent {
				what := fmt.Sprintf("%d page views were sent, and %s is %d", sent, e.Key, e.Value)
				found = append(found, history.Violation{Key: e.Key, What: what, Events: []int{e.Seq}})
			}
		}
	}
	return found
}

// retried is two instances behind nginx.
type retried struct {
	*lab.Trial
	nginx     *servers.Nginx
	instances [2]*services.ViewProcess
	redis     *servers.Topology
}

// startRetried starts them. holds: an instance does not answer its first view before it is told to.
func startRetried(ctx context.Context, t *lab.Trial, holds bool, settings []string) *retried {
	timeout := t.Scaled(readTimeout)
	x := &retried{Trial: t}
	of := services.ViewService{Lease: timeout / 2, Wait: t.Scaled(time.Minute), Tokens: true, Reports: true, Holds: holds}
	x.instances, x.redis = of.StartTwo(ctx, t)
	settings = slices.Clone(settings)
	if i := slices.Index(settings, shorterTimeout); i >= 0 {
		settings[i] += fmt.Sprintf(" %dms", timeout.Milliseconds())
	}
	var err error
	x.nginx, err = t.Stack.Nginx(ctx, []*servers.Instance{x.instances[0].Instance, x.instances[1].Instance}, settings...)
	t.Must(err)
	return x
}

// send sends n page views simultaneously. The returned function waits for the answers.
func (x *retried) send(ctx context.Context, method string, n int) (wait func() (failed int64)) {
	requests := make([]*http.Request, n)
	for i := range requests {
		r, err := http.NewRequestWithContext(ctx, method, x.nginx.URL+"/v3/pview", nil)
		x.Must(err)
		r.Header.Set(services.ViewHeader, fmt.Sprintf("view %d", i+1))
		requests[i] = r
		x.Record(history.Event{Timeline: "client", Kind: history.Request, Key: pview.Key, Owner: fmt.Sprintf("view %d", i+1)})
	}
	failed := int64(0)
	answered := x.Go(func() {
		answers, _, err := burst.Simultaneous(ctx, x.nginx.URL, requests)
		x.Must(err)
		for i, a := range answers {
			if a.Err == nil && a.Status == http.StatusOK {
				continue
			}
			failed++
			e := history.Event{Timeline: "client", Kind: history.Note, Owner: fmt.Sprintf("view %d", i+1)}
			e.Text = fmt.Sprintf("view %d: status %d", i+1, a.Status)
			x.Record(e)
		}
	})
	return func() int64 { answered(); return failed }
}

// finish ends nginx, calls over, lets the instances do what nginx has sent to them, and records the counter.
func (x *retried) finish(ctx context.Context, failed int64, over func() (alive bool)) {
	passed, err := x.nginx.End()
	x.Must(err)
	alive, sent, twice := over(), [2]int{}, int64(0)
	for _, p := range passed {
		first, second := slices.Contains(p.To, x.host(0)), slices.Contains(p.To, x.host(1))
		if first {
			sent[0]++
		}
		if second {
			sent[1]++
		}
		if first && second {
			twice++
		}
	}
	for i, instance := range x.instances {
		if i > 0 || alive {
			instance.Await(ctx, sent[i])
			instance.Finish()
		}
	}
	n, err := pview.NewCounter(clients.Connect(ctx, x.Trial, x.redis), nil).Get(ctx)
	x.Must(err)
	x.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: pview.Key, Value: n})
	x.Measure("nginx", int64(len(passed)), viewsSent)
	x.Measure("nginx", max(0, n-int64(len(passed))), viewsAbove)
	x.Measure("nginx", twice, sentTwice)
	x.Measure("nginx", failed, unconfirmed)
}

func (x *retried) host(i int) string { return strings.TrimPrefix(x.instances[i].URL, "http://") }

// fault is what happens to an instance that has counted a view, and has not answered. over ends it, and reports whether the instance lives.
type fault func(t *lab.Trial, i *services.ViewProcess) (over func() (alive bool))

// stall stops a process, as a long pause of its garbage collector does, and lets it continue afterwards.
func stall(t *lab.Trial, i *services.ViewProcess) func() bool {
	t.Must(i.Pause())
	t.Fault(i.Name, "stalls", fmt.Sprintf("process %d is stopped", i.PID()))
	return func() bool {
		i.Resume()
		t.Heal(i.Name, "continues")
		return true
	}
}

func kill(_ *lab.Trial, i *services.ViewProcess) func() bool {
	i.Kill()
	return func() bool { return false }
}

// oneView sends one view. A fault hits the first instance when it has counted the view, and before it answers.
func oneView(method string, does fault, settings ...string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := startRetried(ctx, t, true, settings)
		x.instances[1].Answer() // it holds nothing back
		answers := x.send(ctx, method, 1)
		x.instances[0].Await(ctx, 1)
		over := does(t, x.instances[0])
		x.finish(ctx, answers(), over)
	}
}

// manyViews sends A4's 666 views. The first instance stalls in the middle, until nginx has answered all of them.
func manyViews(settings ...string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := startRetried(ctx, t, false, settings)
		t.ByChance()
		answers := x.send(ctx, http.MethodGet, versions.ArticleUsers)
		x.instances[0].Await(ctx, countedBefore)
		over := stall(t, x.instances[0])
		x.finish(ctx, answers(), over)
	}
}
