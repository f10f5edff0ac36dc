package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/versions"
)

// class is a run beside those of the topologies: labs of several participants in one cluster.
const class = "class"

// Class is what the labs of a class have needed.
type Class struct {
	Sizes []Size // the smaller one first
}

// Size is a class of so many participants. The trainer has a lab, too.
type Size struct {
	Participants int
	Ready        time.Duration // from `kubectl apply` to the last ready pod
	Idle         Need          // without load
	Loaded       int64         // bytes of memory of all pods, after the bursts
	First, Last  time.Duration // until the first burst had ended, and the last one: all began simultaneously
	Removed      time.Duration // from `kubectl delete` to the end of the last namespace
	Pods         int           // of all labs
}

// Need is what all pods use, and the whole machine.
type Need struct {
	Memory     int64   // bytes: the working set of Kubernetes, without files that were not read lately
	Processors float64 // of the pods, on average
	Machine    float64 // processors that were busy: with the cluster's own programs, and with whatever else runs
}

// perNode is how many pods a kubelet takes unless it is told otherwise.
const perNode = 110

// Estimate is what a class needs that did not run.
type Estimate struct {
	Need
	Labs, Pods, Nodes, PerNode int
}

// Each is what each lab beyond the smaller class added: to the memory after the bursts, and to the processors without load.
func (c Class) Each() Need {
	small, large := c.Sizes[0], c.Sizes[len(c.Sizes)-1]
	labs := large.Labs() - small.Labs()
	return Need{
		Memory:     (large.Loaded - small.Loaded) / int64(labs),
		Processors: (large.Idle.Processors - small.Idle.Processors) / float64(labs),
	}
}

// Of adds as many labs to the largest class that ran. NOT guaranteed: that the machine has as many processors as a burst of all would use.
func (c Class) Of(participants int) Estimate {
	large, each := c.Sizes[len(c.Sizes)-1], c.Each()
	e := Estimate{Labs: participants + 1, PerNode: perNode}
	more := e.Labs - large.Labs()
	e.Memory = large.Loaded + int64(more)*each.Memory
	e.Processors = large.Idle.Processors + float64(more)*each.Processors
	e.Pods = large.Pods / large.Labs() * e.Labs
	e.Nodes = (e.Pods + perNode - 1) / perNode
	return e
}

// Labs is how many there are, with that of the trainer.
func (s Size) Labs() int { return s.Participants + 1 }

const (
	host          = "10.99.0.11" // the first node, as deploy/kubernetes/engine/cluster has it
	idleFor       = 30 * time.Second
	refusedWithin = time.Minute
)

var sizes = []int{3, 6}

// runClass starts the labs of each size, measures them without load, lets each send a burst, and removes them.
func (l *lab) runClass(ctx context.Context) (any, error) {
	if err := l.copyDeploy(); err != nil {
		return nil, err
	}
	var c Class
	for _, participants := range sizes {
		s := Size{Participants: participants}
		for _, step := range []func(context.Context, *Size) error{l.open, l.idle, l.together, l.led, l.full, l.remove} {
			if err := step(ctx, &s); err != nil {
				return nil, err
			}
		}
		c.Sizes = append(c.Sizes, s)
	}
	return c, nil
}

// copyDeploy copies the manifests, so that a class which somebody has written stays as it is.
func (l *lab) copyDeploy() error {
	for _, folder := range []string{"nginx", "mysql", "zookeeper", "redis-topologies", "kubernetes"} {
		if err := os.CopyFS(filepath.Join(l.dir, "deploy", folder), os.DirFS(filepath.Join("deploy", folder))); err != nil {
			return err
		}
	}
	return os.RemoveAll(l.class(""))
}

func (l *lab) class(file string) string {
	return filepath.Join(l.dir, "deploy", "kubernetes", class, file)
}

// of is the lab number n of the class.
func (l *lab) of(n int) *lab {
	return &lab{dir: l.dir, topology: class, namespace: fmt.Sprintf("locklab-%d", n)}
}

// open writes the class as `make class` does, applies it, and waits for every pod.
func (l *lab) open(ctx context.Context, s *Size) error {
	l.say("%d participants: kubectl apply -k %s", s.Participants, class)
	write := filepath.Join(l.dir, "deploy", "kubernetes", "participants")
	if _, err := output(ctx, write, strconv.Itoa(s.Participants), host); err != nil {
		return err
	}
	began := time.Now()
	if _, err := l.kubectl(ctx, "apply", "-k", l.class("")); err != nil {
		return err
	}
	for n := range s.Labs() {
		if err := l.of(n).ready(ctx); err != nil {
			return err
		}
	}
	s.Ready = time.Since(began)
	pods, err := l.kubectl(ctx, "get", "pods", "--all-namespaces", "--output=name")
	s.Pods = len(strings.Fields(pods))
	return err
}

// idle measures the labs without load.
func (l *lab) idle(ctx context.Context, s *Size) (err error) {
	l.say("%d pods without load", s.Pods)
	s.Idle, err = measure(ctx, idleFor)
	return err
}

// together lets each lab send a burst of all versions, through its own address, all simultaneously.
func (l *lab) together(ctx context.Context, s *Size) error {
	l.say("each lab sends a burst")
	took := make([]time.Duration, s.Labs())
	group, bursting := errgroup.WithContext(ctx)
	for n := range s.Labs() {
		group.Go(func() error {
			began := time.Now()
			plan := burst.Plan{Users: users, Drivers: 20, Rounds: 1, Versions: versions.Defaults()}
			r, err := plan.Run(bursting, burst.Target{URL: address(n)}, func(burst.Event) {})
			if err == nil && r.Verdict != experiments.AsExpected {
				err = errors.New(r.Reasons())
			}
			took[n] = time.Since(began)
			if err != nil {
				return fmt.Errorf("the burst of lab %d: %w", n, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.First, s.Last = slices.Min(took), slices.Max(took)
	after, err := usage()
	s.Loaded = after.memory
	return err
}

// address is that of lab n, as its participant types it.
func address(n int) string { return fmt.Sprintf("http://%s:%d", host, 30000+n) }

// led checks that only its own token leads the live page of a lab.
func (l *lab) led(ctx context.Context, _ *Size) error {
	table, err := os.ReadFile(l.class("addresses.txt"))
	if err != nil {
		return err
	}
	tokens := strings.Fields(string(table))
	own, others := tokens[len(tokens)-1], tokens[len(tokens)-4]
	last := address(len(strings.Split(strings.TrimSpace(string(table)), "\n")) - 2)
	for token, want := range map[string]int{own: http.StatusOK, others: http.StatusForbidden, "": http.StatusForbidden} {
		got, err := lead(ctx, last, token)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("the live page at %s answers %d to the token %q", last, got, token)
		}
	}
	return nil
}

// lead asks the live page at a lab's address for what only its trainer may do.
func lead(ctx context.Context, address, token string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/ui/class/reset", nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// full checks that a lab which wants many instances is refused them, so that it takes nothing from the others.
func (l *lab) full(ctx context.Context, _ *Size) error {
	one := l.of(1)
	if _, err := one.kubectl(ctx, "scale", "statefulset", "app", "--replicas=20"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, refusedWithin)
	defer cancel()
	for {
		events, err := one.kubectl(ctx, "get", "events", "--field-selector=reason=FailedCreate", "--output=jsonpath={.items[*].message}")
		if err != nil || strings.Contains(events, "exceeded quota") {
			return err
		}
	}
}

// remove takes all labs away, by the command that the script prints.
func (l *lab) remove(ctx context.Context, s *Size) error {
	l.say("kubectl delete namespace -l locklab/class")
	began := time.Now()
	_, err := l.kubectl(ctx, "delete", "namespace", "-l", "locklab/class", "--timeout="+applyWithin)
	s.Removed = time.Since(began)
	if err != nil {
		return err
	}
	left, err := l.kubectl(ctx, "get", "pods", "--all-namespaces", "--output=name")
	if err == nil && strings.TrimSpace(left) != "" {
		err = fmt.Errorf("left of the class: %s", left)
	}
	return err
}

// use is what the pods and the machine have used since they started, and the memory of the pods now.
type use struct {
	pods, busy time.Duration // of processors
	memory     int64         // bytes
}

// usage reads the control groups of the cluster's pods, and what the kernel says of all processors.
func usage() (u use, err error) {
	const pods = "/sys/fs/cgroup/%s/locklab-kubernetes/%s"
	var held, again, took int64
	var user, nice, system, idle, wait, irq, soft int64
	for _, figure := range []struct {
		file, form string
		into       []any
	}{
		{fmt.Sprintf(pods, "memory", "memory.usage_in_bytes"), `(\d+)`, []any{&held}},
		{fmt.Sprintf(pods, "memory", "memory.stat"), `(?m)^total_inactive_file (\d+)`, []any{&again}},
		{fmt.Sprintf(pods, "cpuacct", "cpuacct.usage"), `(\d+)`, []any{&took}},
		{"/proc/stat", `^cpu +(\d+) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)`, []any{&user, &nice, &system, &idle, &wait, &irq, &soft}},
	} {
		text, failed := os.ReadFile(figure.file)
		found := regexp.MustCompile(figure.form).FindStringSubmatch(string(text))
		if failed == nil && found == nil {
			failed = fmt.Errorf("%s has no line %s", figure.file, figure.form)
		}
		if failed == nil {
			_, failed = fmt.Sscan(strings.Join(found[1:], " "), figure.into...)
		}
		err = errors.Join(err, failed)
	}
	const tick = time.Second / 100 // the unit of /proc/stat
	return use{time.Duration(took), time.Duration(user+nice+system+irq+soft) * tick, held - again}, err
}

// measure observes the pods for a while.
func measure(ctx context.Context, during time.Duration) (Need, error) {
	before, err := usage()
	if err != nil {
		return Need{}, err
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return Need{}, ctx.Err()
	case <-time.After(during):
	}
	after, err := usage()
	took := time.Since(began).Seconds()
	return Need{after.memory, (after.pods - before.pods).Seconds() / took, (after.busy - before.busy).Seconds() / took}, err
}
