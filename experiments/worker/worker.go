// Package worker is a client of a lock in a process of its own, so that it can be killed and paused: this very binary,
// started by a stack, whose supervisor ends it with the lab. The lab sends it commands, and it sends reports with the time
// of its own clock, each a line of JSON.
//
// What it writes goes to a resource that lives in the lab: its write is a report that the lab applies when it arrives. So a
// write that a paused worker was about to make arrives when it is resumed.
//
// What is NOT guaranteed: that its clock goes as the lab's does. It is set by the lab's when the worker starts, and the
// offset that is left is measured; see experiments.Clock.
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

// Command is what the lab sends to a worker.
type Command struct {
	Do       Do            `json:"do"`
	By       time.Duration `json:"by_ns,omitempty"`    // SetBack
	Strategy string        `json:"strategy,omitempty"` // Open: as lockstrategy.Open takes it
	Addrs    []string      `json:"addrs,omitempty"`    // Open
	Lease    time.Duration `json:"lease_ns,omitempty"` // Open
	Key      string        `json:"key,omitempty"`      // Acquire
	Owner    string        `json:"owner,omitempty"`    // Acquire: the owner in the reports about it
	AtMost   time.Duration `json:"at_most_ns,omitempty"`
	Value    int64         `json:"value,omitempty"` // Write
}

// Do is what a command does.
type Do string

// The commands. The worker reports each when it is done.
const (
	Time    Do = "time"     // report the time
	SetBack Do = "set back" // its clock
	Open    Do = "open"     // a lock
	Acquire Do = "acquire"  // the lock; it reports the grant or the refusal
	Look    Do = "look"     // at its lease: is it good?
	Write   Do = "write"    // without another look at the lease
	Release Do = "release"
)

// Report is what a worker sends: an event of a lock's client by its kind in package history, or a command that is done.
type Report struct {
	What  string        `json:"what"`
	At    time.Duration `json:"at_ns"`
	Key   string        `json:"key,omitempty"`
	Owner string        `json:"owner,omitempty"`
	Token uint64        `json:"token,omitempty"`
	Value int64         `json:"value,omitempty"`
	Text  string        `json:"text,omitempty"` // why; of Look: empty when the lease is good
}

// failed is reported of a command that could not be carried out.
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

// serve carries out commands until in ends, which is the end of the process: everything that it has open ends with it.
func serve(in io.Reader, out io.Writer) int {
	c := &client{zero: time.Now(), out: json.NewEncoder(out)}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var command Command
		err := json.Unmarshal(lines.Bytes(), &command)
		if err == nil {
			err = c.carryOut(context.Background(), command)
		}
		if err != nil {
			c.report(Report{What: failed, Text: err.Error()})
		}
	}
	return 0
}

func (c *client) carryOut(ctx context.Context, command Command) error {
	if c.lease == nil && (command.Do == Look || command.Do == Write || command.Do == Release) {
		return fmt.Errorf("%s: there is no lease", command.Do)
	}
	switch command.Do {
	case SetBack:
		c.zero = c.zero.Add(command.By)
		c.report(Report{What: string(SetBack)})
	case Time:
		c.report(Report{What: string(Time)})
	case Open:
		return c.open(ctx, command)
	case Acquire:
		c.acquire(ctx, command)
	case Look:
		c.report(Report{What: string(Look), Text: Reason(context.Cause(c.lease.Context()))})
	case Write:
		c.report(Report{What: string(Write), Value: command.Value})
	case Release:
		c.report(Report{What: string(history.Release)})
		c.report(Report{What: string(history.Released), Text: Reason(c.lease.Release(ctx))})
	default:
		return fmt.Errorf("there is no command %q", command.Do)
	}
	return nil
}

// report sends a report about the lock that the client holds or requests.
func (c *client) report(r Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.At, r.Key, r.Owner = time.Since(c.zero), c.key, c.owner
	if c.lease != nil {
		r.Token = c.lease.FencingToken()
	}
	_ = c.out.Encode(r) // without the lab this process ends
}

func (c *client) open(ctx context.Context, command Command) error {
	b := lockstrategy.Backends{Lease: command.Lease}
	if command.Strategy == lockstrategy.NameRedLock {
		nodes, err := topology.OpenIndependent(ctx, command.Addrs, topology.Access{})
		if err != nil {
			return err
		}
		b.Nodes = nodes.Nodes
	} else {
		servers, err := topology.Open(ctx, topology.Config{Kind: topology.Single, Addrs: command.Addrs})
		if err != nil {
			return err
		}
		b.Redis = servers.Master
	}
	opened, err := lockstrategy.Open(command.Strategy, b)
	if err != nil {
		return err
	}
	c.lock = opened
	c.report(Report{What: string(Open)})
	return nil
}

// acquire requests the lock. After a grant it reports the loss.
func (c *client) acquire(ctx context.Context, command Command) {
	c.lease, c.key, c.owner = nil, command.Key, command.Owner
	c.report(Report{What: string(history.Request)})
	var options []lockstrategy.Option
	if command.AtMost > 0 {
		options = append(options, lockstrategy.RenewAtMost(command.AtMost))
	}
	lease, err := c.lock.Acquire(ctx, command.Key, options...)
	if err != nil {
		c.report(Report{What: string(history.Refuse), Text: Reason(err)})
		return
	}
	c.lease = lease
	c.report(Report{What: string(history.Grant)})
	go func() {
		<-lease.Context().Done()
		if why := context.Cause(lease.Context()); errors.Is(why, lockstrategy.ErrLost) {
			c.report(Report{What: string(history.Lose), Text: Reason(why)})
		}
	}()
}
