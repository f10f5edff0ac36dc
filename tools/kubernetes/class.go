package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/versions"
)

// Class is what a class has needed: a lab for each participant, and one for the trainer.
type Class struct {
	Labs        int
	Pods        int           // of all labs
	Requested   Share         // by the pods of one lab: Kubernetes chooses nodes by it
	Used        Share         // by all pods: bytes after the bursts, processors without load
	First, Last time.Duration // the shortest and the longest burst
	Removed     time.Duration // from `kubectl delete` to the end of the last namespace
}

// Share is memory in bytes, and processors.
type Share struct{ Memory, Processors float64 }

const (
	participants = 6
	host         = "10.99.0.11" // the first node, as deploy/kubernetes/engine/cluster has it
	settlesIn    = 30 * time.Second
	idleFor      = 30 * time.Second
	simultaneous = 3 // labs that send a burst: with seven, Redis was too late for a read on two processors
)

// class starts the labs of a class as `make class` does, in a copy, measures them, and removes them.
func (l *deployment) class(ctx context.Context) error {
	c := &l.result.Class
	c.Labs = participants + 1
	if _, err := output(ctx, "cp", "-r", "deploy", l.dir); err != nil {
		return err
	}
	kubernetes := filepath.Join(l.dir, "deploy", "kubernetes")
	if err := os.RemoveAll(filepath.Join(kubernetes, "class")); err != nil { // somebody's own
		return err
	}
	if _, err := output(ctx, filepath.Join(kubernetes, "participants"), strconv.Itoa(participants), host); err != nil {
		return err
	}
	began := time.Now()
	l.say("%d participants: kubectl apply -k class", participants)
	if _, err := l.kubectl(ctx, "apply", "-k", filepath.Join(kubernetes, "class")); err != nil {
		return err
	}
	for n := range c.Labs {
		one := &deployment{dir: l.dir, namespace: fmt.Sprintf("locklab-%d", n)}
		if err := one.ready(ctx); err != nil {
			return err
		}
	}
	l.result.Ready = time.Since(began)
	if err := errors.Join(l.requests(ctx, c), c.idle()); err != nil {
		return err
	}
	l.say("each lab sends a burst")
	if err := c.bursts(ctx); err != nil {
		return err
	}
	began = time.Now()
	_, err := l.kubectl(ctx, "delete", "namespace", "-l", "locklab/class", "--timeout="+applyWithin)
	c.Removed = time.Since(began)
	return err
}

// requests counts the pods, and reads what the quota of one lab has counted, such as 280m 584Mi.
func (l *deployment) requests(ctx context.Context, c *Class) error {
	pods, err := l.kubectl(ctx, "get", "pods", "--all-namespaces", "--output=name")
	if err != nil {
		return err
	}
	c.Pods = len(strings.Fields(pods))
	one := &deployment{dir: l.dir, namespace: "locklab-1"}
	used, err := one.kubectl(ctx, "get", "quota",
		`--output=jsonpath={.items[0].status.used.requests\.cpu} {.items[0].status.used.requests\.memory}`)
	if err != nil {
		return err
	}
	var milli, mebi float64
	if _, err := fmt.Sscanf(used, "%fm %fMi", &milli, &mebi); err != nil {
		return fmt.Errorf("the quota of a lab has counted %q: %w", used, err)
	}
	c.Requested = Share{mebi * (1 << 20), milli / 1000}
	return nil
}

// idle measures the processors without load, when the start of the pods is over.
func (c *Class) idle() error {
	time.Sleep(settlesIn)
	before, err := figure("cpuacct", "cpuacct.usage", `(\d+)`)
	if err != nil {
		return err
	}
	time.Sleep(idleFor)
	after, err := figure("cpuacct", "cpuacct.usage", `(\d+)`)
	c.Used.Processors = (after - before) / float64(idleFor)
	return err
}

// bursts lets each lab send a burst through its own address, of the versions that must lose nothing. On a busy machine the others may lose
// nothing, too, and a burst is then not as expected.
func (c *Class) bursts(ctx context.Context) error {
	lossless := slices.DeleteFunc(versions.DefaultNames(), func(name string) bool {
		v, _ := versions.Find(name)
		return v.LosesUpdates
	})
	took := make([]time.Duration, c.Labs)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(simultaneous)
	for n := range took {
		group.Go(func() error {
			began := time.Now()
			plan := burst.Plan{Users: users, Drivers: 20, Rounds: 1, Versions: lossless}
			address := fmt.Sprintf("http://%s:%d", host, 30000+n)
			r, err := plan.Run(ctx, burst.Target{URL: address}, burst.App{}, func(burst.Event) {})
			if err == nil && r.Verdict != lab.AsExpected {
				err = errors.New(r.Reasons())
			}
			if err != nil {
				return fmt.Errorf("the burst of lab %d: %w", n, err)
			}
			took[n] = time.Since(began)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	c.First, c.Last = slices.Min(took), slices.Max(took)
	held, err := figure("memory", "memory.usage_in_bytes", `(\d+)`)
	again, failed := figure("memory", "memory.stat", `(?m)^total_inactive_file (\d+)`)
	c.Used.Memory = held - again // the working set of Kubernetes: without files that were not read lately
	return errors.Join(err, failed)
}

// figure reads a number of the control group of the cluster's pods.
func figure(controller, file, form string) (float64, error) {
	text, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", controller, "locklab-kubernetes", file))
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(form).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("%s of the pods has no line %s", file, form)
	}
	return strconv.ParseFloat(string(found[1]), 64)
}
