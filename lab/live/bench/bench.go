// Package bench has the instances and their servers on a test bench: it starts them, watches them, breaks them, and sends them a load. It
// knows nothing of pages.
package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"locklab/lab/burst"
	"locklab/lab/watch"
)

const (
	lookEvery    = 400 * time.Millisecond // at the servers, while somebody watches
	faultWithin  = 20 * time.Second       // until a fault, or its end, is proven
	faultsInView = 10
)

// Errors of a bench.
var (
	ErrNoInstances = errors.New("this program did not start the instances; run app lab serve without --url to break servers or send a load")
	ErrNotStarted  = errors.New("the instances do not run yet; start them first")
	ErrEnds        = errors.New("the page ends; start the program again")
)

// Start starts the instances with their servers, and says meanwhile what it does.
type Start func(ctx context.Context, tell func(what string)) (burst.Running, error)

// Bench is the servers, and the load. One goroutine asks and breaks the servers, so one that starts again is not asked meanwhile.
type Bench struct {
	start   Start
	sees    bool                       // the servers are processes of this program
	changed func()                     // is called when the servers were asked
	tasks   chan func(context.Context) // for the goroutine of Watch
	ended   <-chan struct{}            // closed when it takes no more

	mu      sync.Mutex
	running *burst.Running // nil: the instances were not started
	servers *watch.Servers // for the goroutine of Watch; nil: the instances do not run
	view    View
	sent    *burst.Load // the load that goes on; nil: none
	left    *Load       // by the last load; nil: none
}

// View is what is known of the servers.
type View struct {
	*watch.Picture        // nil: the instances do not run
	Doing          string // the fault that is under way
	Faults         []watch.Fault
	changes        []watch.Change // all of them
}

// New returns a bench that ends when ended is closed. sees tells whether the servers are processes of this program, which it can break.
// changed is called whenever the servers were asked.
func New(ended <-chan struct{}, start Start, sees bool, changed func()) *Bench {
	return &Bench{start: start, sees: sees && start != nil, changed: changed, ended: ended, tasks: make(chan func(context.Context))}
}

// Sees reports whether the servers are processes of this program.
func (b *Bench) Sees() bool { return b.sees }

// Instances are those that were started; nil: none.
func (b *Bench) Instances() *burst.Running {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running
}

// View is what was seen last.
func (b *Bench) View() View {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.view
}

// Service returns the instances. The first call starts them, and one that has failed is repeated by the next call. It must not be called
// simultaneously.
func (b *Bench) Service(ctx context.Context, tell func(what string)) (burst.Running, error) {
	if ctx.Err() != nil { // it was stopped before it began
		return burst.Running{}, context.Cause(ctx)
	}
	if running := b.Instances(); running != nil {
		return *running, nil
	}
	running, err := b.start(ctx, tell)
	if err == nil {
		b.Use(running)
	}
	return running, err
}

// Use takes instances that run.
func (b *Bench) Use(running burst.Running) {
	b.set(func() {
		b.running = &running
		if b.sees {
			b.servers = watch.Of(running)
		}
	})
}

func (b *Bench) set(what func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	what()
}

// Watch asks the servers, and does faults, until ctx ends. It asks while somebody watches, during a load, which needs the time of each
// change, and for some time after a fault.
func (b *Bench) Watch(ctx context.Context, isWatched func() bool) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case task := <-b.tasks:
			task(ctx)
		case <-tick.C:
			if b.mustLook() || isWatched() {
				b.look(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (b *Bench) mustLook() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sent != nil || len(b.view.Faults) > 0 && time.Since(b.view.Faults[0].At) < faultWithin
}

// inTurn lets the goroutine of Watch do something, and waits for that, until ctx ends.
func (b *Bench) inTurn(ctx context.Context, do func(context.Context) error) error {
	done := make(chan error, 1)
	select {
	case b.tasks <- func(ctx context.Context) { done <- do(ctx) }:
	case <-b.ended:
		return ErrEnds
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Look asks every server, when no fault is under way.
func (b *Bench) Look(ctx context.Context) error {
	return b.inTurn(ctx, func(ctx context.Context) error { b.look(ctx); return nil })
}

// Glance is a Look that waits for a fault no longer than for an answer.
func (b *Bench) Glance(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	_ = b.Look(ctx)
}

func (b *Bench) look(ctx context.Context) {
	b.mu.Lock()
	servers := b.servers
	b.mu.Unlock()
	var v View
	if servers != nil {
		p := servers.Look(ctx)
		v = View{Picture: &p, Faults: servers.Newest(faultsInView), changes: servers.Changes(time.Time{})}
	}
	b.show(v)
}

func (b *Bench) show(v View) {
	b.set(func() { b.view = v })
	b.changed()
}

// Break does a fault of package watch to a server, or ends one.
func (b *Bench) Break(ctx context.Context, name, what string) (watch.Fault, error) {
	did := make(chan watch.Fault, 1) // it may be done after ctx has ended
	err := b.inTurn(ctx, func(ctx context.Context) error {
		b.look(ctx)
		doing := b.View()
		if doing.Picture == nil {
			return ErrNotStarted
		}
		doing.Doing = what + " " + name
		b.show(doing)
		defer b.look(ctx)
		bounded, cancel := context.WithTimeout(ctx, faultWithin)
		defer cancel()
		done, err := b.servers.Do(bounded, name, what)
		did <- done
		return err
	})
	if err != nil {
		return watch.Fault{}, err
	}
	return <-did, nil
}
