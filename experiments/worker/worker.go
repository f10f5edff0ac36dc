// Package worker is a client of a lock in a process of its own, so that it can be killed and paused: this very binary, started and
// guarded by a stack. The lab tells it what to do, a line of JSON for each order, and it tells what happens to it, a line
// for each event, with the time by its own clock.
//
// What it writes goes to a resource that lives in the lab: its write is a line that the lab applies when it arrives. So a write that a
// paused worker was about to make arrives when it is resumed.
//
// What is NOT guaranteed: that its clock goes as the lab's does. It is set by the lab's when it starts, and by
// how much it is off after that is measured; see experiments.Clock.
package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/topology"
)

// Order is what a worker is told.
type Order struct {
	Do       Do            `json:"do"`
	By       time.Duration `json:"by_ns,omitempty"`    // Back
	Strategy string        `json:"strategy,omitempty"` // Open: as lockstrategy.Open takes it
	Addrs    []string      `json:"addrs,omitempty"`    // Open
	Lease    time.Duration `json:"lease_ns,omitempty"` // Open
	Key      string        `json:"key,omitempty"`      // Acquire
	Owner    string        `json:"owner,omitempty"`    // Acquire: what it is called in what is told of it
	AtMost   time.Duration `json:"at_most_ns,omitempty"`
	Value    int64         `json:"value,omitempty"` // Write
}

// Do is what to do.
type Do string

// What a worker can do. It tells of each when it is done.
const (
	Time    Do = "time"    // tell the time
	Back    Do = "back"    // set its clock back
	Open    Do = "open"    // a lock
	Acquire Do = "acquire" // it: granted or refused
	Look    Do = "look"    // at its lease: is it good?
	Write   Do = "write"   // without another look
	Release Do = "release"
)

// Line is what a worker tells: an event of a lock's client by the name of the history, or what it did.
type Line struct {
	What  string        `json:"what"`
	At    time.Duration `json:"at_ns"`
	Key   string        `json:"key,omitempty"`
	Owner string        `json:"owner,omitempty"`
	Fence uint64        `json:"fence,omitempty"`
	Value int64         `json:"value,omitempty"`
	Text  string        `json:"text,omitempty"` // why; of Look: empty, the lease is good
}

// failed is what is told of an order that could not be carried out.
const failed = "failed"

var role = stack.Role("lock client", serve)

// client is the worker in its own process.
type client struct {
	zero time.Time

	mu  sync.Mutex // of out
	out *json.Encoder

	lock  lockstrategy.Strategy
	lease *lockstrategy.Lease
	key   string
	owner string
}

// serve carries out orders until in ends, which is the end of the process: what it has open goes with it.
func serve(in io.Reader, out io.Writer) int {
	c := &client{zero: time.Now(), out: json.NewEncoder(out)}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var o Order
		err := json.Unmarshal(lines.Bytes(), &o)
		if err == nil {
			err = c.carryOut(context.Background(), o)
		}
		if err != nil {
			c.tell(Line{What: failed, Text: err.Error()})
		}
	}
	return 0
}

func (c *client) carryOut(ctx context.Context, o Order) error {
	if c.lease == nil && (o.Do == Look || o.Do == Write || o.Do == Release) {
		return fmt.Errorf("%s: there is no lease", o.Do)
	}
	switch o.Do {
	case Back:
		c.zero = c.zero.Add(o.By)
		c.tell(Line{What: string(Back)})
	case Time:
		c.tell(Line{What: string(Time)})
	case Open:
		return c.open(ctx, o)
	case Acquire:
		c.acquire(ctx, o)
	case Look:
		c.tell(Line{What: string(Look), Text: Reason(context.Cause(c.lease.Context()))})
	case Write:
		c.tell(Line{What: string(Write), Value: o.Value})
	case Release:
		c.tell(Line{What: string(history.Release)})
		c.tell(Line{What: string(history.Released), Text: Reason(c.lease.Release(ctx))})
	default:
		return fmt.Errorf("there is no order %q", o.Do)
	}
	return nil
}

// tell says a line, about the lock that it has or wants.
func (c *client) tell(l Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.At, l.Key, l.Owner = time.Since(c.zero), c.key, c.owner
	if c.lease != nil {
		l.Fence = c.lease.FencingToken()
	}
	_ = c.out.Encode(l) // the lab is gone, and with it this process
}

func (c *client) open(ctx context.Context, o Order) error {
	b := lockstrategy.Backends{Lease: o.Lease}
	if o.Strategy == lockstrategy.NameRedLock {
		nodes, err := topology.OpenIndependent(ctx, o.Addrs, topology.Access{})
		if err != nil {
			return err
		}
		b.Nodes = nodes.Nodes
	} else {
		servers, err := topology.Open(ctx, topology.Config{Kind: topology.Single, Addrs: o.Addrs})
		if err != nil {
			return err
		}
		b.Redis = servers.Master
	}
	opened, err := lockstrategy.Open(o.Strategy, b)
	if err != nil {
		return err
	}
	c.lock = opened
	c.tell(Line{What: string(Open)})
	return nil
}

// acquire asks for the lock and, when it has it, tells when it is lost.
func (c *client) acquire(ctx context.Context, o Order) {
	c.lease, c.key, c.owner = nil, o.Key, o.Owner
	c.tell(Line{What: string(history.Request)})
	var options []lockstrategy.Option
	if o.AtMost > 0 {
		options = append(options, lockstrategy.RenewAtMost(o.AtMost))
	}
	lease, err := c.lock.Acquire(ctx, o.Key, options...)
	if err != nil {
		c.tell(Line{What: string(history.Refuse), Text: Reason(err)})
		return
	}
	c.lease = lease
	c.tell(Line{What: string(history.Grant)})
	go func() {
		<-lease.Context().Done()
		if why := context.Cause(lease.Context()); errors.Is(why, lockstrategy.ErrLost) {
			c.tell(Line{What: string(history.Lose), Text: Reason(why)})
		}
	}()
}
