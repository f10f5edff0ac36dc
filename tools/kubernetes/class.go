package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sync/errgroup"

	"locklab/lab"
	"locklab/lab/burst"
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
	Programs     int64         // bytes of memory of the nodes' own programs then: kubelets, and a process of containerd for each pod
	First, Last  time.Duration // the shortest and the longest burst
	Removed      time.Duration // from `kubectl delete` to the end of the last namespace
	Pods         int           // of all labs
	Requested    share         // by all pods of the labs: Kubernetes chooses nodes by it
	Allowed      share         // to be requested, by the quotas of all labs
}

// Need is what all pods use, and the whole machine.
type Need struct {
	Memory     int64   // bytes: the working set of Kubernetes, without files that were not read lately
	Processors float64 // of the pods, on average
	Machine    float64 // processors that were busy: with the cluster's own programs, and with whatever else runs
	Of         int     // processors of the machine
}

// Pods.
const (
	perNode = 110 // that a kubelet takes unless it is told otherwise
	spare   = 10  // for pods of the cluster itself on a node, such as those of its network
)

// share is memory in bytes, and processors.
type share struct {
	Memory     int64
	Processors float64
}

func (s share) plus(other share, times float64) share {
	return share{s.Memory + int64(float64(other.Memory)*times), s.Processors + other.Processors*times}
}

// Estimate is what a class needs that did not run.
type Estimate struct {
	Requested share // by the pods, without load jobs
	Allowed   share // to be requested, with load jobs and more instances
	Used      share // by the pods and the nodes' programs: memory after a burst, processors without load
	Each      share // what each lab beyond the smaller class has added to the use
	Labs      int
	Pods      int
	Nodes     int    // that take so many pods
	Doubt     string // why nothing can be said; empty: it can
}

// extrapolate adds labs to the larger class that ran. NOT guaranteed: that the machine has as many processors as a burst of all would use.
func (c Class) extrapolate(participants int) Estimate {
	small, large := c.Sizes[0], c.Sizes[len(c.Sizes)-1]
	e := Estimate{Labs: participants + 1}
	e.Each = share{}.plus(large.used().plus(small.used(), -1), 1/float64(large.Labs()-small.Labs()))
	e.Used = large.used().plus(e.Each, float64(e.Labs-large.Labs()))
	times := float64(e.Labs) / float64(large.Labs())
	e.Requested, e.Allowed = share{}.plus(large.Requested, times), share{}.plus(large.Allowed, times)
	e.Pods = large.Pods / large.Labs() * e.Labs
	e.Nodes = (e.Pods + perNode - spare - 1) / (perNode - spare)
	switch {
	case e.Each.Memory <= 0 || e.Each.Processors <= 0:
		e.Doubt = "the larger class did not need more than the smaller one"
	case large.Idle.Machine > busiest*float64(large.Idle.Of):
		e.Doubt = "the larger class kept nearly all processors busy without load, so more labs would have shown no more"
	}
	return e
}

// busiest is the part of the processors beyond which a load is no longer measured whole.
const busiest = 0.8

// used is the memory of the pods and of the nodes' programs after the bursts, and the processors of the machine without load.
func (s Size) used() share { return share{s.Loaded + s.Programs, s.Idle.Machine} }

// Labs is how many there are, with that of the trainer.
func (s Size) Labs() int { return s.Participants + 1 }

const (
	host          = "10.99.0.11" // the first node, as deploy/kubernetes/engine/cluster has it
	idleFor       = 30 * time.Second
	settlesIn     = 30 * time.Second // from the last ready pod: its start keeps the processors busy
	refused       = 8                // instances of a lab: more than its quota has
	refusedWithin = time.Minute
	simultaneous  = 3 // labs that send a burst: with seven, Redis was too late for a read on two processors
	answersWithin = 10 * time.Second
)

var sizes = []int{3, 6}

// runClass starts the labs of each size, measures them without load, lets each send a burst, and removes them.
func (l *deployment) runClass(ctx context.Context) (any, error) {
	if err := l.copyDeploy(); err != nil {
		return nil, err
	}
	var c Class
	for _, participants := range sizes {
		s := Size{Participants: participants}
		for _, step := range []func(context.Context, *Size) error{l.apply, l.idle, l.bursts, l.checkToken, l.checkQuota, l.remove} {
			if err := step(ctx, &s); err != nil {
				return nil, err
			}
		}
		c.Sizes = append(c.Sizes, s)
	}
	return c, nil
}

// copyDeploy copies the manifests, so that a class which somebody has written stays as it is.
func (l *deployment) copyDeploy() error {
	for _, folder := range []string{"nginx", "mysql", "zookeeper", "redis-topologies", "kubernetes"} {
		if err := os.CopyFS(filepath.Join(l.dir, "deploy", folder), os.DirFS(filepath.Join("deploy", folder))); err != nil {
			return err
		}
	}
	return os.RemoveAll(l.class(""))
}

func (l *deployment) class(file string) string {
	return filepath.Join(l.dir, "deploy", "kubernetes", class, file)
}

// of is the lab number n of the class.
func (l *deployment) of(n int) *deployment {
	return &deployment{dir: l.dir, topology: class, namespace: fmt.Sprintf("locklab-%d", n)}
}

// apply writes the class as `make class` does, applies it, and waits for every pod.
func (l *deployment) apply(ctx context.Context, s *Size) error {
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
	if err != nil {
		return err
	}
	s.Pods = len(strings.Fields(pods))
	quotas, err := l.kubectl(ctx, "get", "quota", "--all-namespaces",
		`--output=jsonpath={range .items[*]}{.status.used.requests\.cpu} {.status.used.requests\.memory}`+
			` {.status.hard.requests\.cpu} {.status.hard.requests\.memory}{"\n"}{end}`)
	if err != nil {
		return err
	}
	if n := strings.Count(quotas, "\n"); n != s.Labs() {
		return fmt.Errorf("%d labs have %d quotas", s.Labs(), n)
	}
	s.Requested, s.Allowed, err = counted(quotas)
	return err
}

// counted sums what quotas have counted and what they allow. A line has processors and bytes of both, such as 280m 584Mi 500m 1536Mi.
func counted(quotas string) (used, allowed share, err error) {
	for line := range strings.Lines(quotas) {
		words := append(strings.Fields(line), "", "", "", "")
		one, unknown := quantities(words[0], words[1])
		most, failed := quantities(words[2], words[3])
		if err := errors.Join(unknown, failed); err != nil {
			return share{}, share{}, fmt.Errorf("a quota is %q: %w", line, err)
		}
		used, allowed = used.plus(one, 1), allowed.plus(most, 1)
	}
	return used, allowed, nil
}

// quantities reads processors and bytes as Kubernetes writes them.
func quantities(processors, memory string) (share, error) {
	milli, thousandths := strings.CutSuffix(processors, "m")
	n, err := strconv.ParseFloat(milli, 64)
	if thousandths {
		n /= 1000
	}
	bytes, unknown := humanize.ParseBytes(memory)
	return share{int64(bytes), n}, errors.Join(err, unknown)
}

// idle measures the labs without load.
func (l *deployment) idle(ctx context.Context, s *Size) (err error) {
	l.say("%d pods without load", s.Pods)
	if err := rest(ctx, settlesIn); err != nil {
		return err
	}
	s.Idle, err = measure(ctx, idleFor)
	return err
}

// bursts lets each lab send a burst through its own address, and three labs simultaneously. v1 and v2 are left out. On a busy machine they
// may lose nothing, and a burst is then not as expected.
func (l *deployment) bursts(ctx context.Context, s *Size) error {
	l.say("each lab sends a burst")
	took := make([]time.Duration, s.Labs())
	group, bursting := errgroup.WithContext(ctx)
	group.SetLimit(simultaneous)
	for n := range s.Labs() {
		group.Go(func() error {
			began := time.Now()
			plan := burst.Plan{Users: users, Drivers: 20, Rounds: 1, Versions: lossless()}
			r, err := plan.Run(bursting, burst.Target{URL: address(n)}, burst.App{}, func(burst.Event) {})
			if err == nil && r.Verdict != lab.AsExpected {
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
	if err == nil {
		s.Programs, err = programsMemory("/sys/fs/cgroup/pids/locklab-kubernetes/*/system/cgroup.procs")
	}
	return err
}

// lossless are the versions that must lose nothing.
func lossless() []string {
	return slices.DeleteFunc(versions.DefaultNames(), func(name string) bool {
		v, _ := versions.Find(name)
		return v.LosesUpdates
	})
}

// address is that of lab n, as its participant types it.
func address(n int) string { return fmt.Sprintf("http://%s:%d", host, 30000+n) }

// checkToken checks that only its own token leads the live page of a lab.
func (l *deployment) checkToken(ctx context.Context, _ *Size) error {
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
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
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

// checkQuota checks that a lab which wants many instances is refused them, so that it takes nothing from the others.
func (l *deployment) checkQuota(ctx context.Context, _ *Size) error {
	one := l.of(1)
	if _, err := one.kubectl(ctx, "scale", "statefulset", "app", fmt.Sprintf("--replicas=%d", refused)); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < refusedWithin; {
		events, err := one.kubectl(ctx, "get", "events", "--field-selector=reason=FailedCreate", "--output=jsonpath={.items[*].message}")
		if err != nil || strings.Contains(events, "exceeded quota") {
			return err
		}
		if err := rest(ctx, time.Second); err != nil {
			return err
		}
	}
	return fmt.Errorf("no quota has refused %d instances within %s", refused, refusedWithin)
}

// remove takes all labs away, by the command that the script prints.
func (l *deployment) remove(ctx context.Context, s *Size) error {
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
	memory     int64         // bytes of the pods
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
	if err == nil {
		err = rest(ctx, during)
	}
	if err != nil {
		return Need{}, err
	}
	after, err := usage()
	took := during.Seconds()
	return Need{
		Memory: after.memory, Of: runtime.NumCPU(),
		Processors: (after.pods - before.pods).Seconds() / took, Machine: (after.busy - before.busy).Seconds() / took,
	}, err
}

// programsMemory sums the memory of the processes in control groups, in bytes: what several share is divided among them. One that has ended
// meanwhile counts nothing.
func programsMemory(groups string) (sum int64, err error) {
	files, err := filepath.Glob(groups)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no node has a control group %s", groups)
	}
	for _, file := range files {
		pids, failed := os.ReadFile(file)
		err = errors.Join(err, failed)
		for _, pid := range strings.Fields(string(pids)) {
			text, failed := os.ReadFile(filepath.Join("/proc", pid, "smaps_rollup"))
			if found := regexp.MustCompile(`(?m)^Pss: +(\d+) kB`).FindSubmatch(text); failed == nil && found != nil {
				kib, failed := strconv.ParseInt(string(found[1]), 10, 64)
				sum, err = sum+kib<<10, errors.Join(err, failed)
			}
		}
	}
	return sum, err
}

// rest waits, but not longer than ctx.
func rest(ctx context.Context, during time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(during):
		return nil
	}
}
