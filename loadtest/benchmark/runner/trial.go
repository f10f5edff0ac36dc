package runner

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/worker"
)

const (
	prepares = 40 * time.Second       // a JVM's first preparation includes its warm-up
	lead     = 100 * time.Millisecond // from the last preparation to the common start
	slack    = 10 * time.Second       // for an answer after the limit
	waiting  = 2 * time.Millisecond   // from an order to take until the worker certainly waits: the hand-over begins then
)

// trial is one run under way.
type trial struct {
	bench    *Bench
	workload Workload
	lock     string
	record   *benchfile.Run
	children []*child
}

func (t *trial) run(ctx context.Context) error {
	if err := t.prepare(); err != nil {
		return err
	}
	before, err := t.bench.usage(ctx, t.lock)
	if err != nil {
		return err
	}
	if t.workload.Kind == worker.HandOver {
		err = t.handOver()
	} else {
		err = t.together()
	}
	if err != nil {
		return err
	}
	return t.count(ctx, before)
}

// prepare starts the workers and waits until all are ready.
func (t *trial) prepare() error {
	loads, locks := t.workload.split(t.lock)
	for i, lock := range locks {
		c, err := t.bench.startChild(i, lock)
		if err != nil {
			return err
		}
		t.children = append(t.children, c)
		task := t.bench.task(lock, loads[i])
		if err := c.tell(worker.Order{Do: "prepare", Task: &task}); err != nil {
			return err
		}
	}
	_, err := t.answers(prepares)
	return err
}

// task is what a worker opens, and where.
func (b *Bench) task(lock string, load worker.Load) worker.Task {
	t := worker.Task{Lock: lock, Redis: b.redis[0].Addr, Load: load}
	if kind, other := serverOf(lock); other {
		t.Backend = b.backends[kind.Name].Addrs[0]
	}
	if onNodes(lock) {
		for _, s := range b.redis {
			t.Nodes = append(t.Nodes, s.Addr)
		}
	}
	return t
}

// stop stops the workers. A JVM stays, unless something failed in it.
func (t *trial) stop() {
	_, locks := t.workload.split(t.lock)
	for i, c := range t.children {
		if !onJava(locks[i]) {
			c.stop()
		} else if t.record.Error != "" {
			t.bench.stopJava()
		}
	}
}

// answers waits for one answer of each worker.
func (t *trial) answers(limit time.Duration) ([]worker.Answer, error) {
	var all []worker.Answer
	var errs []error
	for _, c := range t.children {
		a, err := c.answer(limit)
		all, errs = append(all, a), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// together lets all workers do their load at the same moment.
func (t *trial) together() error {
	start := worker.Order{Do: "go", At: time.Now().Add(lead).UnixMicro()}
	for _, c := range t.children {
		if err := c.tell(start); err != nil {
			return err
		}
	}
	answers, err := t.answers(t.workload.Limit + slack)
	if err == nil {
		t.sum(answers)
	}
	return err
}

// sum makes the record of a load from the results of all workers.
func (t *trial) sum(answers []worker.Answer) {
	r := t.record
	var perWaiter, perProcess, waits []int
	inTime := 0
	began, ended := int64(math.MaxInt64), int64(0)
	for _, a := range answers {
		sum := 0
		for i, n := range a.Result.InTime {
			sum += n
			r.Done += a.Result.Done[i]
		}
		inTime += sum
		perWaiter, perProcess = append(perWaiter, a.Result.InTime...), append(perProcess, sum)
		waits = append(waits, a.Result.Waits...)
		r.Failed += a.Result.Failed
		if a.Result.Error != "" {
			r.Error = a.Result.Error
		}
		began, ended = min(began, a.Result.Began), max(ended, a.Result.Ended)
	}
	r.WaitP50, r.WaitP99, r.WaitMax = quantiles(waits)
	if t.workload.Lasts == 0 {
		r.Want, r.Seconds = t.workload.Waiters, float64(ended-began)/1e6
		r.Rate = float64(r.Done) / r.Seconds
		return
	}
	r.Seconds = t.workload.Lasts.Seconds()
	r.Rate, r.Jain, r.JainProcesses = float64(inTime)/r.Seconds, benchfile.JainIndex(perWaiter), benchfile.JainIndex(perProcess)
	for _, n := range perProcess {
		r.Shares = append(r.Shares, float64(n)/float64(max(1, inTime)))
	}
}

func quantiles[T int | float64](all []T) (p50, p99, most float64) {
	return float64(benchfile.Quantile(all, 0.5)), float64(benchfile.Quantile(all, 0.99)), float64(benchfile.Quantile(all, 1))
}

// handOver lets two workers take turns: one holds the lock, the other waits, the first releases it. A measurement lasts from the beginning
// of the release in one process to the grant in the other.
func (t *trial) handOver() error {
	limit := t.workload.Limit
	a, b := t.children[0], t.children[1]
	if _, err := a.ask(worker.Order{Do: "take"}, limit); err != nil {
		return err
	}
	var took []float64
	began := time.Now()
	for time.Since(began) < t.workload.Lasts {
		if err := b.tell(worker.Order{Do: "take"}); err != nil {
			return err
		}
		time.Sleep(waiting)
		released, err := a.ask(worker.Order{Do: "give"}, limit)
		if err != nil {
			return err
		}
		granted, err := b.answer(limit)
		if err != nil {
			return err
		}
		took = append(took, float64(granted.At-released.At)/1e3)
		a, b = b, a
	}
	t.record.Done, t.record.Seconds = len(took), time.Since(began).Seconds()
	t.record.WaitP50, t.record.WaitP99, t.record.WaitMax = quantiles(took)
	_, err := a.ask(worker.Order{Do: "give"}, limit)
	return err
}

// count reads the servers' counters and, where there were sections, the value that they must have written.
func (t *trial) count(ctx context.Context, before usage) error {
	r := t.record
	after, err := t.bench.usage(ctx, t.lock)
	if err != nil {
		return err
	}
	n := float64(max(1, r.Done))
	r.Commands = float64(after.commands-before.commands) / n
	r.Reads = float64(after.reads-before.reads-int64(len(t.bench.used(t.lock)))) / n // without the runner's own
	r.ServerCPU = float64((after.cpu - before.cpu).Microseconds()) / n
	if t.workload.Kind == worker.Uncontended || t.workload.Kind == worker.HandOver {
		return nil
	}
	value := 0
	for i := range max(1, t.workload.Keys) {
		v, err := t.bench.redis[0].info.Get(ctx, worker.Value(i)).Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		value += v
	}
	r.Lost = max(0, r.Done-value)
	return nil
}
