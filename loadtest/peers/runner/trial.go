package runner

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/loadtest/peers/record"
	"locklab/loadtest/peers/stats"
	"locklab/loadtest/peers/wire"
)

const (
	prepares = 40 * time.Second       // a JVM's first one includes its warm-up
	lead     = 100 * time.Millisecond // from the last preparation to the common start
	slack    = 10 * time.Second       // for an answer after the limit
)

// trial is one run under way.
type trial struct {
	bench    *Bench
	workload Workload
	lock     string
	record   *record.Run
	children []*child
	before   usage
	clients  time.Duration
}

func (t *trial) run(ctx context.Context) error {
	if err := t.prepare(); err != nil {
		return err
	}
	var err error
	if t.before, err = t.bench.usage(ctx); err != nil {
		return err
	}
	t.clients = t.clientCPU()
	switch t.workload.Kind {
	case wire.HandOver:
		err = t.handOver(ctx)
	case wire.Memory:
		err = t.weigh(ctx)
	default:
		err = t.together(ctx)
	}
	return err
}

// prepare starts the workers and waits until all are ready.
func (t *trial) prepare() error {
	loads := t.workload.split(t.lock)
	t.record.Processes = len(loads)
	if err := t.hire(len(loads)); err != nil {
		return err
	}
	for i, load := range loads {
		task := t.bench.task(t.workload, t.lock, load)
		if err := t.children[i].tell(wire.Order{Do: "prepare", Task: &task}); err != nil {
			return err
		}
	}
	_, err := t.answers(prepares)
	return err
}

// hire gets n workers: new ones, or the JVMs, which are warm.
func (t *trial) hire(n int) error {
	if strings.HasPrefix(t.lock, "redisson") {
		err := t.bench.startJava(n)
		t.children = t.bench.jvms[:min(n, len(t.bench.jvms))]
		return err
	}
	for range n {
		c, err := startGo()
		if err != nil {
			return err
		}
		t.children = append(t.children, c)
	}
	return nil
}

// end lets the workers go. A JVM stays, unless something went wrong in it.
func (t *trial) end() {
	if strings.HasPrefix(t.lock, "redisson") {
		if t.record.Error != "" {
			t.bench.stopJava()
		}
		return
	}
	for _, c := range t.children {
		c.stop()
	}
}

// answers waits for one answer of each worker.
func (t *trial) answers(limit time.Duration) ([]wire.Answer, error) {
	var all []wire.Answer
	var errs []error
	for _, c := range t.children {
		a, err := c.answer(limit)
		all, errs = append(all, a), append(errs, err)
	}
	return all, errors.Join(errs...)
}

func (t *trial) all(order wire.Order) error {
	for _, c := range t.children {
		if err := c.tell(order); err != nil {
			return err
		}
	}
	return nil
}

// together is a load that starts everywhere at the same moment.
func (t *trial) together(ctx context.Context) error {
	if err := t.all(wire.Order{Do: "go", At: time.Now().Add(lead).UnixMicro()}); err != nil {
		return err
	}
	answers, err := t.answers(t.workload.Limit + slack)
	if err != nil {
		return err
	}
	return t.sum(ctx, answers)
}

// sum makes the record from what the workers saw and what the servers counted.
func (t *trial) sum(ctx context.Context, answers []wire.Answer) error {
	r := t.record
	var perWaiter, waits []int
	var inTime int
	began, ended := int64(math.MaxInt64), int64(0)
	for _, a := range answers {
		for i, n := range a.Result.InTime {
			inTime += n
			r.Done += a.Result.Done[i]
		}
		perWaiter = append(perWaiter, a.Result.InTime...)
		waits = append(waits, a.Result.Waits...)
		r.Failed += a.Result.Failed
		if a.Result.Error != "" {
			r.Error = a.Result.Error
		}
		began, ended = min(began, a.Result.Began), max(ended, a.Result.Ended)
	}
	r.Seconds = float64(ended-began) / 1e6
	if t.workload.Kind == wire.Sustained || t.workload.Kind == wire.Uncontended {
		r.Seconds = t.workload.Lasts.Seconds()
		r.Rate, r.Jain = float64(inTime)/r.Seconds, stats.Jain(perWaiter)
	} else {
		r.Want, r.Rate = t.workload.Waiters, float64(r.Done)/r.Seconds
	}
	r.WaitP50, r.WaitP99, r.WaitMax = float64(stats.Quantile(waits, 0.5)), float64(stats.Quantile(waits, 0.99)), float64(stats.Quantile(waits, 1))
	return t.count(ctx, r.Done, t.workload.Kind != wire.Uncontended)
}

// count reads the servers' counters and, where there were sections, the value that must have come of it.
func (t *trial) count(ctx context.Context, done int, sections bool) error {
	clients := t.clientCPU() - t.clients
	after, err := t.bench.usage(ctx)
	if err != nil {
		return err
	}
	n := float64(max(1, done))
	t.record.Commands = float64(after.commands-t.before.commands) / n
	t.record.Reads = float64(after.reads-t.before.reads-int64(len(t.bench.redis))) / n // less the runner's own
	t.record.ServerCPU = float64((after.cpu - t.before.cpu).Microseconds()) / n
	t.record.ClientCPU = float64(clients.Microseconds()) / n
	if !sections {
		return nil
	}
	value := 0
	for i := range max(1, t.workload.Keys) {
		v, err := t.bench.redis[0].info.Get(ctx, wire.Value(i)).Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		value += v
	}
	t.record.Lost = max(0, done-value)
	return nil
}

func (t *trial) clientCPU() time.Duration {
	var sum time.Duration
	for _, c := range t.children {
		sum += cpu(c.cmd.Process.Pid)
	}
	return sum
}
