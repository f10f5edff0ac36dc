package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/nodeloss"
)

// Result is what one topology has shown.
type Result struct {
	Topology  string
	UpAfter   time.Duration // from the start of the first process to three ready nodes with all images
	Ready     time.Duration // from `kubectl apply` to the last ready pod
	ByService burst.Results // three instances behind the Service app, without nginx
	Outage    Outage
}

// Outage is a burst of v3 during which a node is killed.
type Outage struct {
	nodeloss.Loss
	Node  string   // that is killed
	Stays string   // MySQL's node
	Lost  []string // the pods that were on it
}

const (
	applyWithin = "600s" // far above what was measured, because the machine may be busy
	users       = nodeloss.Users
)

// deployment is a topology in a running cluster.
type deployment struct {
	dir, topology string // or class
	namespace     string // empty: that of kubectl's configuration, or of each object
	result        Result
}

// runInside starts the cluster in the namespaces of this process, and runs one topology or the class.
func runInside(ctx context.Context, dir, topology string) (any, error) {
	l := deployment{dir: dir, topology: topology, result: Result{Topology: topology}}
	began := time.Now()
	l.say("starting three nodes")
	if _, err := output(ctx, engine+"/cluster", "start", l.cluster(), filepath.Join(filepath.Dir(dir), "images.tar")); err != nil {
		return nil, err
	}
	l.result.UpAfter = time.Since(began)
	run := l.run
	if topology == class {
		run = l.runClass
	}
	result, err := run(ctx)
	if err != nil {
		pods, _ := l.kubectl(context.WithoutCancel(ctx), "get", "pods", "--all-namespaces", "--output=wide")
		events, _ := l.kubectl(context.WithoutCancel(ctx), "get", "events", "--all-namespaces", "--sort-by=.lastTimestamp")
		return nil, fmt.Errorf("%s\n%s\n%w", events, pods, err)
	}
	return result, nil
}

// run runs a topology.
func (l *deployment) run(ctx context.Context) (any, error) {
	for _, step := range []func(context.Context) error{l.deploy, l.jobs, l.byService, l.outage} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return l.result, nil
}

func (l *deployment) cluster() string { return filepath.Join(l.dir, "cluster") }

func (l *deployment) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", l.topology, fmt.Sprintf(format, args...))
}

func (l *deployment) kubectl(ctx context.Context, args ...string) (string, error) {
	return output(ctx, "kubectl", append([]string{
		"--kubeconfig=" + filepath.Join(l.cluster(), "kubeconfig"), "--namespace", l.namespace,
	}, args...)...)
}

// deploy applies the overlay and waits for every pod.
func (l *deployment) deploy(ctx context.Context) error {
	began := time.Now()
	l.say("kubectl apply -k overlays/%s", l.topology)
	if _, err := l.kubectl(ctx, "apply", "-k", "deploy/kubernetes/overlays/"+l.topology); err != nil {
		return err
	}
	if err := l.ready(ctx); err != nil {
		return err
	}
	l.result.Ready = time.Since(began)
	return nil
}

// ready waits until redis-ready, which proves the topology, is ready, and then every pod that is there.
func (l *deployment) ready(ctx context.Context) error {
	for _, set := range []string{"statefulset/redis-ready", "statefulset/app", "deployment/nginx"} {
		if _, err := l.kubectl(ctx, "rollout", "status", set, "--timeout="+applyWithin); err != nil {
			return err
		}
	}
	_, err := l.kubectl(ctx, "wait", "--for=condition=Ready", "pod", "--all", "--timeout="+applyWithin)
	return err
}

// jobs runs our burst and k6 as jobs, through nginx. A job whose verdict is not as expected fails.
func (l *deployment) jobs(ctx context.Context) error {
	for _, name := range []string{"burst", "k6"} {
		l.say("kubectl apply -k load/%s", name)
		if _, err := l.kubectl(ctx, "apply", "-k", "deploy/kubernetes/load/"+name); err != nil {
			return err
		}
		_, waited := l.kubectl(ctx, "wait", "--for=condition=complete", "job/"+name, "--timeout=120s")
		text, err := l.kubectl(ctx, "logs", "job/"+name)
		if err := errors.Join(waited, err); err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
		if _, err := l.kubectl(ctx, "delete", "-k", "deploy/kubernetes/load/"+name); err != nil {
			return err
		}
	}
	return nil
}

// target is the Service app, which chooses an instance by chance.
func (l *deployment) target(ctx context.Context) (burst.Target, error) {
	ip, err := l.kubectl(ctx, "get", "service", "app", "--output=jsonpath={.spec.clusterIP}")
	return burst.Target{URL: "http://" + ip + ":8080", ByChance: true}, err
}

// byService sends bursts to three instances behind the Service.
func (l *deployment) byService(ctx context.Context) error {
	l.say("three instances behind the Service")
	if _, err := l.kubectl(ctx, "scale", "statefulset", "app", "--replicas=3"); err != nil {
		return err
	}
	if err := l.ready(ctx); err != nil {
		return err
	}
	target, err := l.target(ctx)
	if err != nil {
		return err
	}
	if _, err := l.kubectl(ctx, "run", "chance", "--rm", "--attach", "--restart=Never", "--image=locklab:dev", "--",
		"burst", "--instances=3", "--by-chance", "--versions=v3", "http://app:8080"); err != nil { // as deploy/kubernetes/README.md has it
		return err
	}
	plan := burst.Plan{Users: 666, Drivers: 20, Rounds: 1, Versions: []string{"v1", "v3"}, Instances: 3}
	r, err := plan.Run(ctx, target, burst.App{}, func(burst.Event) {})
	if err != nil {
		return err
	}
	l.result.ByService = *r
	if r.Verdict != lab.AsExpected {
		return fmt.Errorf("through the Service: %s: %s", r.Verdict, r.Reasons())
	}
	return nil
}

// outage kills a node during bursts of v3, and judges what was left.
func (l *deployment) outage(ctx context.Context) error {
	target, err := l.target(ctx)
	if err != nil {
		return err
	}
	o := &l.result.Outage
	master, err := l.choose(ctx, o)
	if err != nil {
		return err
	}
	l.say("%s is killed, with %s; master of the counter: %q", o.Node, strings.Join(o.Lost, ", "), master)
	// The requests come in by a node that stays: they would all end with it.
	if _, err := output(ctx, engine+"/cluster", "enter", strings.TrimPrefix(o.Stays, "node")); err != nil {
		return err
	}
	http.DefaultClient.CloseIdleConnections() // they came in by another node
	kill := func(ctx context.Context) error {
		_, err := output(ctx, engine+"/cluster", "kill", l.cluster(), strings.TrimPrefix(o.Node, "node"))
		return err
	}
	o.Loss, err = nodeloss.Run(ctx, target, master, kill, func(after time.Duration) {
		l.say("back after %s; waiting until every request is answered", after)
	})
	return err
}

// choose takes a node without the database, and returns the master of the counter if it ends with the node. It does behind sentinels and in
// a cluster, which replace it, and not elsewhere.
func (l *deployment) choose(ctx context.Context, o *Outage) (killed string, err error) {
	text, err := l.kubectl(ctx, "get", "pods", `--output=jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}{"\n"}{end}`)
	if err != nil {
		return "", err
	}
	at := map[string]string{}
	for line := range strings.Lines(text) {
		if pod, node, both := strings.Cut(strings.TrimSpace(line), " "); both {
			at[pod] = node
		}
	}
	pods := slices.Sorted(maps.Keys(at))
	master, err := nodeloss.Master(pods, func(pod string) (string, error) {
		return l.kubectl(ctx, "exec", pod, "--", "sh", "-c", nodeloss.Role)
	})
	if err != nil {
		return "", err
	}
	if master == "" {
		return "", fmt.Errorf("no pod says that it is the master of the counter: %s", text)
	}
	if nodeloss.Promotes(l.topology) {
		killed = master
	}
	o.Stays = at["mysql-0"]
	for _, node := range slices.Sorted(maps.Values(at)) {
		if node != o.Stays && (node == at[master]) == (killed != "") {
			o.Node = node
			o.Lost = slices.DeleteFunc(pods, func(pod string) bool { return at[pod] != node })
			return killed, nil
		}
	}
	return "", fmt.Errorf("no node can be killed: MySQL is on %s, and the master %s on %s: %s", o.Stays, master, at[master], text)
}
