package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"locklab/lab/burst"
	"locklab/lab/containers"
)

// Outage is the record of bursts of v3 during which a node is killed.
type Outage struct {
	burst.Outage
	Node   string        // that is killed
	Stays  string        // MySQL's node
	Pods   []string      // that were on the killed node
	Master string        // of the counter, if it was among them: then a confirmed view may be lost
	Whole  time.Duration // from the order to kill to the first burst that two instances answered whole
}

// Far above what was measured, because the machine may be busy.
const (
	backWithin  = 2 * time.Minute
	wholeWithin = 5 * time.Minute // Kubernetes takes a node for dead after 50 s
	burstWithin = 20 * time.Second
)

// noAnswer is how many views may have counted without an answer.
func (o *Outage) noAnswer() int { return len(o.Failed) + len(o.Repeated) }

// outage kills a node during bursts of v3, and judges what was left.
func (l *deployment) outage(ctx context.Context) error {
	target, err := l.target(ctx)
	if err != nil {
		return err
	}
	o := &l.result.Outage
	if err := l.choose(ctx, o); err != nil {
		return err
	}
	l.say("%s is killed, with %s; master of the counter: %s", o.Node, strings.Join(o.Pods, ", "), cmp.Or(o.Master, "none"))
	// The requests come in by a node that stays: they would all end with it.
	if _, err := output(ctx, cluster, "enter", strings.TrimPrefix(o.Stays, "node")); err != nil {
		return err
	}
	http.DefaultClient.CloseIdleConnections() // they came in by another node
	return o.run(ctx, target, backWithin, func(ctx context.Context) error {
		_, err := output(ctx, cluster, "kill", strings.TrimPrefix(o.Node, "node"))
		return err
	})
}

// choose takes a node without the database. It has the master of the counter behind sentinels and in a cluster, which replace it, and not
// elsewhere.
func (l *deployment) choose(ctx context.Context, o *Outage) error {
	text, err := l.kubectl(ctx, "get", "pods", `--output=jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}`)
	if err != nil {
		return err
	}
	nodes := map[string]string{} // by pod
	for line := range strings.Lines(text) {
		if pod, node, both := strings.Cut(strings.TrimSpace(line), " "); both {
			nodes[pod] = node
		}
	}
	pods := slices.Sorted(maps.Keys(nodes))
	master, err := containers.Master(pods, func(pod string) (string, error) {
		return l.kubectl(ctx, "exec", pod, "--", "sh", "-c", containers.Role)
	})
	if err != nil {
		return err
	}
	replaced := containers.Promotes(l.topology)
	o.Stays = nodes["mysql-0"]
	for _, node := range slices.Sorted(maps.Values(nodes)) {
		if node == o.Stays || (node == nodes[master]) != replaced {
			continue
		}
		o.Node, o.Pods = node, slices.DeleteFunc(pods, func(pod string) bool { return nodes[pod] != node })
		if replaced {
			o.Master = master
		}
		return nil
	}
	return fmt.Errorf("no node can be killed: MySQL is on %s, and the master %s on %s: %s", o.Stays, master, nodes[master], text)
}

// run sends bursts of v3, and calls kill when the first is on its way. Then it sends bursts until one is answered whole.
func (o *Outage) run(ctx context.Context, target burst.Target, back time.Duration, kill func(context.Context) error) (err error) {
	var killed time.Time
	o.Outage, err = burst.RunOutage(ctx, target, "v3", users, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, back)
		defer cancel()
		if err := counted(ctx, target, users/10); err != nil {
			return err
		}
		killed = time.Now()
		return kill(ctx)
	}, back)
	if err != nil {
		return err
	}
	for o.BackAfter > 0 && o.Whole == 0 && ctx.Err() == nil && time.Since(killed) < wholeWithin {
		one, cancel := context.WithTimeout(ctx, burstWithin) // a node that is gone ends no connection
		views, err := burst.RunViews(one, target, "v3", users, burst.Simultaneous)
		cancel()
		if err == nil && views.OutcomeOf(2).Err == nil {
			o.Whole = time.Since(killed)
		}
	}
	return cmp.Or(ctx.Err(), o.judge())
}

// counted waits until the counter shows so many views: then a burst is on its way.
func counted(ctx context.Context, target burst.Target, views int) error {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.URL+"/pview", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("fewer than %d views were counted: %w", views, err)
		}
		var counter struct{ Value int }
		err = json.NewDecoder(response.Body).Decode(&counter)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("GET /pview: %s", response.Status)
		}
		if err != nil || counter.Value >= views {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// judge says what must not be. A view without an answer may have counted, so the final value lies between the confirmed views and all. A
// master that dies loses the confirmed views that it has not sent to a replica. The lab shows that elsewhere, so it is no failure here.
func (o *Outage) judge() error {
	confirmed, final := len(o.Writes), int(o.Final)
	switch {
	case o.ReadAfter == 0 || o.BackAfter == 0:
		return fmt.Errorf("the service was not back in time after the loss of %s", o.Node)
	case o.Whole == 0:
		return fmt.Errorf("requests fail %s after the loss of %s", wholeWithin, o.Node)
	case final > confirmed+o.noAnswer():
		return fmt.Errorf("the counter shows %d after %d confirmed views and %d without an answer", final, confirmed, o.noAnswer())
	case o.Master == "" && (o.Lost() > 0 || o.Inside()+o.Across() > 0):
		return fmt.Errorf("%d views are lost and %d values are written twice, although the master of the counter did not die",
			o.Lost(), o.Inside()+o.Across())
	}
	return nil
}
