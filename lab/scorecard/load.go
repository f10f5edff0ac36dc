package scorecard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/clients/protocol"
	"locklab/lab/servers"
)

// Sizes of the load.
const (
	copies         = 4
	allSections    = 2000                   // of all copies together
	fewestSections = 10                     // of a caller, or exclusion was not tried
	costSections   = 400                    // of the cost
	loadFor        = 20 * time.Second       // then the load ends, whatever is left of it
	work           = 200 * time.Microsecond // in a section, between the read and the write
	patience       = 10 * time.Second       // a copy that competes
)

// The measurements of the load.
var (
	sectionsDone   = lab.Count.Of("sections")
	commandsEach   = lab.Tenths.Of("commands per section")
	packetsEach    = lab.Tenths.Of("packets per section")
	sectionTook    = lab.Microseconds.Of("per section")
	longestWait    = lab.Milliseconds.Of("longest wait for a grant")
	shareOf        = lab.Count.Of("sections of this copy")
	jain           = lab.Thousandths.Of("Jain's index of the copies' sections (1: equal)")
	untilFree      = lab.Milliseconds.Of("until the next grant")
	untilToldOf    = lab.Milliseconds.Of("from the fault until the holder was told")
	afterNextGrant = lab.Milliseconds.Of("from the next grant until the former holder was told")
	handOver       = lab.Microseconds.Of("from a release to the next grant (median)")
	slowGrant      = lab.Microseconds.Of("from a release to the next grant, the second longest of five")
	packetsWaiting = lab.Count.Of("packets in half a lease of a copy that waits")
)

// load lets callers enter sections simultaneously, until all sections are done or the time is over. Each caller is a copy of the program; a
// copy that is named more than once has as many callers. It returns the sections of each caller.
func (b *bench) load(
	ctx context.Context, callers []*process, sections int, longest time.Duration, enter func(p *process, n int) bool,
) []int {
	began, each := time.Now(), make([]int, len(callers))
	var waits []func()
	for _, p := range callers {
		p.Quiet.Store(true)
	}
	for i, p := range callers {
		waits = append(waits, b.Go(func() {
			for n := 0; n < sections/len(callers) && time.Since(began) < longest && ctx.Err() == nil; n++ {
				if enter(p, n) {
					each[i]++
				}
			}
		}))
	}
	done := 0
	for i, wait := range waits {
		wait()
		done += each[i]
	}
	silent := b.anySilent(callers)
	if done > 0 {
		b.Measure("lab", int64(done), sectionsDone)
		b.Measure("lab", time.Since(began).Microseconds()/int64(done), sectionTook)
	} else if !silent {
		b.Must(fmt.Errorf("no section was entered within %s", longest))
	}
	return each
}

// anySilent reports whether copies have not answered requests of a crowd. That is a violation.
func (b *bench) anySilent(callers []*process) (silent bool) {
	for _, p := range callers { // a copy that is named more than once is judged once
		if n := p.unanswered.Swap(0); n > 0 {
			b.violates(p.Name, "has not answered %d requests within %s after the end of their wait, or to release the key", n, p.Answering())
			silent = true
		}
	}
	return silent
}

// unrenewedIsLong makes the lease of a lock that is not renewed long: hundreds of callers of a process may delay an answer by a second.
func (b *bench) unrenewedIsLong() {
	if !b.program.Claims.Renews {
		b.longLease()
	}
}

// startAll starts n copies.
func (b *bench) startAll(ctx context.Context, n int) (all []*process) {
	for i := range n {
		all = append(all, b.start(ctx, string(rune('A'+i))))
	}
	return all
}

// mustServe lets each copy be granted the key once.
func (b *bench) mustServe(ctx context.Context, all []*process) {
	for _, p := range all {
		release(ctx, p.holds(ctx, key))
	}
}

// exclusion counts in sections, by callers of each of n copies. Without the lock it shows that the load loses updates.
func exclusion(n, callers, sections int, locked bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		b.unrenewedIsLong()
		r, all := clients.NewResource(b.Trial, false), b.startAll(ctx, n)
		if locked {
			b.mustServe(ctx, all)
		}
		calling := slices.Concat(slices.Repeat([][]*process{all}, callers)...)
		turns := handOvers{tokens: b.program.Claims.Tokens}
		each := b.load(ctx, calling, sections, loadFor, func(p *process, i int) bool {
			h := clients.Unlocked(b.Trial, p.Name, fmt.Sprintf("%s%d", p.Name, i))
			if locked {
				granted := p.acquire(ctx, loadFor)
				if granted == nil {
					pause(ctx, b.lease/20)
					return false
				}
				turns.granted(b, granted)
				h = granted
			}
			value := r.Read(h)
			pause(ctx, work)
			r.Write(h, value+1)
			release(ctx, h)
			return true
		})
		for i, sections := range each {
			if sections < fewestSections {
				b.Must(fmt.Errorf("a caller of %s entered %d sections: too few to try exclusion", calling[i].Name, sections))
			}
		}
	}
}

// competition is what copies that compete have waited for.
type competition struct {
	mu      sync.Mutex
	longest time.Duration            // wait, whether it ended with a grant or not
	freed   time.Time                // when the last section ended
	asleep  map[string]time.Duration // by copy: its wait went on for so long after that
}

// waited notes the end of a wait. A waiter that misses a message waits on although the key is free.
func (c *competition) waited(p *process, asked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.longest = max(c.longest, time.Since(asked))
	if free := min(time.Since(c.freed), time.Since(asked)); !c.freed.IsZero() {
		c.asleep[p.Name] = max(c.asleep[p.Name], free)
	}
}

func (c *competition) left() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.freed = time.Now()
}

// fairness measures the grants of each copy, and the longest wait.
func fairness(n int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, limit := b.startAll(ctx, n), b.Scaled(3*time.Second)
		b.mustServe(ctx, all)
		c, began := competition{asleep: make(map[string]time.Duration)}, time.Now()
		each := b.load(ctx, all, 1<<20, limit, func(p *process, _ int) bool {
			asked := time.Now()
			h, err := p.begin(key, max(b.Scaled(patience), 2*b.settling()))(ctx)
			inTime := time.Since(began) < limit // a grant after the others have stopped is none of the competition
			c.waited(p, asked)
			if !errors.Is(err, clients.ErrSilent) { // a program without an answer waits on, too
				b.Must(err)
			}
			if h == nil {
				return false
			}
			pause(ctx, time.Millisecond)
			release(ctx, h)
			c.left()
			return inTime
		})
		sum, squares := 0, 0
		for i, sections := range each {
			b.Measure(all[i].Name, int64(sections), shareOf)
			sum, squares = sum+sections, squares+sections*sections
			if sections == 0 {
				b.violates(all[i].Name, "was never granted the lock, while other copies were")
			}
		}
		for name, free := range c.asleep {
			if free > b.settling() {
				b.violates(name, "waited on for %s, although the key was free", free.Round(time.Millisecond))
			}
		}
		b.Measure("lab", c.longest.Milliseconds(), longestWait)
		b.Measure("lab", int64(1000*sum*sum/(n*squares)), jain)
	}
}

// burst is how many requests come simultaneously, as in the articles' load tests.
const burst = 666

// localQueue is a queue in one process, with which a program is compared: it needs no server.
var localQueue = servers.Role("local queue", func(in io.Reader, out io.Writer) int {
	held := make(chan struct{}, 1)
	claims := protocol.Claims{Name: "local queue", Store: protocol.Redis}
	_ = protocol.Serve(in, out, claims, func(protocol.Request) (protocol.Lock, error) {
		return func(ctx context.Context, _ protocol.Request) (protocol.Held, error) {
			select {
			case held <- struct{}{}:
				return protocol.Held{Release: func(context.Context) error { <-held; return nil }}, nil
			case <-ctx.Done():
				return protocol.Held{}, ctx.Err()
			}
		}, nil
	})
	return 0
})

// local starts the local queue in place of the program.
func (b *bench) local(ctx context.Context) *process {
	p, _, err := clients.Launch(ctx, b.Trial, "A", func(process string) (*servers.Dialogue, error) {
		return b.Stack.Dialogue(localQueue, process)
	})
	b.Must(err)
	_, err = p.Connect(ctx, b.servers.Addrs, b.lease)
	b.Must(err)
	return &process{Program: p, bench: b}
}

// cost counts what the servers execute, and what passes the proxies. So many callers enter a section each, or as many as the load has
// time for. In a burst they add one to a counter. Without copies it is the local queue that they call.
func cost(n, callers, sections int) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		b.unrenewedIsLong()
		all := b.startAll(ctx, n)
		if n == 0 {
			all = append(all, b.local(ctx))
		}
		b.mustServe(ctx, all)
		var calling []*process
		var packets atomic.Int64
		for _, p := range all {
			p.Hit = true // so many requests may be too many for it: an error is counted as no section
			p.Crowd = n > 0 && callers == burst
			p.eachPacket(func(*servers.Proxy, faultproxy.Chunk) { packets.Add(1) })
		}
		for i := range callers {
			calling = append(calling, all[i%len(all)])
		}
		turns := handOvers{tokens: n > 0 && b.program.Claims.Tokens}
		counter := clients.NewResource(b.Trial, false)
		if callers != burst {
			counter = nil
		}
		before := b.commands(ctx)
		each := b.load(ctx, calling, sections, b.Scaled(loadFor/2), func(p *process, _ int) bool {
			return p.section(ctx, &turns, counter)
		})
		done := int64(0)
		for _, sections := range each {
			done += int64(sections)
		}
		if callers > 1 {
			b.Measure("lab", turns.median().Microseconds(), handOver)
		}
		if n == 0 {
			return
		}
		b.Measure("lab", 10*packets.Load()/max(done, 1), packetsEach)
		if b.Real && len(b.servers.Nodes) > 0 {
			b.Measure("lab", 10*(b.commands(ctx)-before)/max(done, 1), commandsEach)
		}
	}
}

// eachPacket calls see with each packet between a copy and its servers, from now on.
func (p *process) eachPacket(see func(w *servers.Proxy, c faultproxy.Chunk)) {
	for _, w := range p.wires {
		w.Delay(func(c faultproxy.Chunk) time.Duration { see(w, c); return 0 })
	}
}

// section acquires the key, adds one to the counter if there is one, and releases the key. In a crowd it counts requests without an answer,
// such as a release for which the waiters leave no connection.
func (p *process) section(ctx context.Context, turns *handOvers, counter *clients.Resource) (entered bool) {
	h, err := p.begin(key, p.Scaled(loadFor))(ctx)
	if h == nil {
		if !p.countSilent(err) && !errors.Is(err, clients.ErrAnswer) {
			p.Must(err)
		}
		return false
	}
	turns.granted(p.bench, h)
	if counter != nil {
		value := counter.Read(h)
		pause(ctx, work)
		counter.Write(h, value+1)
	}
	turns.released()
	err = h.TryRelease(ctx)
	p.countSilent(err)
	return err == nil
}

// countSilent counts a request without an answer in a crowd, and reports whether it was one.
func (p *process) countSilent(err error) bool {
	if !p.Crowd || !errors.Is(err, clients.ErrSilent) {
		return false
	}
	p.unanswered.Add(1)
	return true
}

// handOvers are the times from a release to the next grant, and the tokens.
type handOvers struct {
	tokens bool // they must grow
	mu     sync.Mutex
	free   time.Time // since the last release
	all    []time.Duration
	last   *holder
}

// granted notes a grant while it is held, and so in the sequence of grants.
func (o *handOvers) granted(b *bench, h *holder) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.free.IsZero() {
		o.all = append(o.all, time.Since(o.free))
	}
	if o.tokens && o.last != nil && h.Token <= o.last.Token {
		b.mustGrow(o.last, h)
		o.tokens = false // one is enough
	}
	o.last = h
}

func (o *handOvers) released() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free = time.Now()
}

func (o *handOvers) median() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		return 0
	}
	slices.Sort(o.all)
	return o.all[len(o.all)/2]
}

// commands is how many commands the servers of Redis have executed; miniredis does not count them.
func (b *bench) commands(ctx context.Context) (all int64) {
	if b.Real {
		for _, node := range b.servers.Nodes {
			n, err := node.Number(ctx, "stats", "total_commands_processed")
			b.Must(err)
			all += n
		}
	}
	return all
}
