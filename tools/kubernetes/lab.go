package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
)

// class is a run beside those of the topologies: labs of several participants in one cluster.
const class = "class"

// Result is what one topology has shown, or the class.
type Result struct {
	Name      string
	UpAfter   time.Duration // from the start of the first process to three ready nodes with all images
	Ready     time.Duration // from `kubectl apply` to the last ready pod
	ByService burst.Results // three instances behind the Service app, without nginx
	Outage    Outage
	Class     Class
}

const (
	users       = 666
	applyWithin = "600s" // far above what was measured, because the machine may be busy
)

// deployment is a topology in a running cluster, or a lab of the class.
type deployment struct {
	dir       string // of the cluster
	topology  string
	namespace string // empty: that of kubectl's configuration, or of each object
	result    Result
}

// run starts the cluster in the namespaces of this process, and runs one topology or the class. dir has the images.
func run(ctx context.Context, name, dir string) (Result, error) {
	l := &deployment{dir: filepath.Join(dir, "cluster"), topology: name, result: Result{Name: name}}
	began := time.Now()
	l.say("starting three nodes")
	if _, err := output(ctx, cluster, "start", l.dir, filepath.Join(dir, "images.tar")); err != nil {
		return l.result, err
	}
	l.result.UpAfter = time.Since(began)
	steps := []func(context.Context) error{l.deploy, l.jobs, l.byService, l.outage}
	if name == class {
		steps = []func(context.Context) error{l.class}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			pods, _ := l.kubectl(context.WithoutCancel(ctx), "get", "pods", "--all-namespaces", "--output=wide")
			events, _ := l.kubectl(context.WithoutCancel(ctx), "get", "events", "--all-namespaces", "--sort-by=.lastTimestamp")
			return l.result, fmt.Errorf("%s\n%s\n%s: %w", events, pods, name, err)
		}
	}
	return l.result, nil
}

func (l *deployment) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", l.topology, fmt.Sprintf(format, args...))
}

func (l *deployment) kubectl(ctx context.Context, args ...string) (string, error) {
	return output(ctx, "kubectl", append([]string{
		"--kubeconfig=" + filepath.Join(l.dir, "kubeconfig"), "--namespace", l.namespace,
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
