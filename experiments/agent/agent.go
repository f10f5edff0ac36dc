// Package agent is a client of a lock in a process of its own, so that it can be killed and paused. The process is this very
// binary, started by a stack, whose supervisor ends it with the lab. The lab sends it commands. It sends reports with the
// time of its own clock. Each is a line of JSON.
//
// The resource lives in the lab: an agent's write is a report that the lab applies when it arrives. So a
// write that a paused agent was about to make arrives when it is resumed.
//
// What is NOT guaranteed: the times of its reports while somebody sets the machine's clock. An agent counts from the lab's
// beginning, by that clock.
package agent

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
)

// Command is what the lab sends to an agent.
type Command struct {
	Do    Do        `json:"do"`
	Lock  Lock      `json:"lock,omitzero"`   // Acquire
	Began time.Time `json:"began,omitzero"`  // Acquire: when the history's time began
	Value int64     `json:"value,omitempty"` // Write
	Shop  Shop      `json:"shop,omitzero"`   // Work
}

// Lock says which lock to acquire, and how.
type Lock struct {
	Strategy string        `json:"strategy"` // as lockstrategy.Open takes it
	Addrs    []string      `json:"addrs"`    // host:port; of a database as order.Config has it
	Lease    time.Duration `json:"lease_ns"`
	Request  time.Duration `json:"request_ns,omitempty"` // longest wait for one answer; 0: the lock's default
	Renew    time.Duration `json:"renew_ns,omitempty"`   // longest time under renewal; 0: until the release
	Key      string        `json:"key"`
}

// Do is what a command does.
type Do string

// The commands. The agent reports each when it is done, by the same name.
const (
	Acquire Do = "acquire" // it reports the grant or the refusal
	Look    Do = "look"    // at its lease; the report's text is empty when the lease is good
	Write   Do = "write"   // without another look at the lease
	Release Do = "release"
)

// Reports beside those of a lock's client and of commands that are done.
const (
	Failed  history.Kind = "failed"  // a command could not be carried out
	Stopped history.Kind = "stopped" // the process waits at the step where it was told to stop
)

var role = stack.Role("lock client", serve)

type client struct {
	mu  sync.Mutex // of out
	out *json.Encoder

	began time.Time // of the history's time
	lease *lockstrategy.Lease
	key   string
}

// serve carries out commands until in ends, which is the end of the process: everything that it has open ends with it.
func serve(in io.Reader, out io.Writer) int {
	c := &client{out: json.NewEncoder(out)}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var command Command
		err := json.Unmarshal(lines.Bytes(), &command)
		if err == nil {
			err = c.carryOut(context.Background(), command)
		}
		if err != nil {
			c.report(Failed, err.Error(), 0)
		}
	}
	return 0
}

func (c *client) carryOut(ctx context.Context, command Command) error {
	if c.lease == nil && command.Do != Acquire {
		return fmt.Errorf("%s: there is no lease", command.Do)
	}
	switch command.Do {
	case Acquire:
		c.began = command.Began
		return c.acquire(ctx, command.Lock)
	case Look:
		c.report(history.Kind(Look), Reason(context.Cause(c.lease.Context())), 0)
	case Write:
		c.report(history.Kind(Write), "", command.Value)
	case Release:
		c.report(history.Release, "", 0)
		c.report(history.Released, Reason(c.lease.Release(ctx)), 0)
	default:
		return fmt.Errorf("there is no command %q", command.Do)
	}
	return nil
}

// report sends an event of the lock's client, or the name of a command that is done.
func (c *client) report(what history.Kind, text string, value int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := history.Event{Kind: what, At: time.Since(c.began), Key: c.key, Text: text, Value: value}
	if c.lease != nil {
		e.Token = c.lease.FencingToken()
	}
	_ = c.out.Encode(e) // without the lab this process ends
}

// acquire opens a lock and requests it. After a grant it reports the loss.
func (c *client) acquire(ctx context.Context, l Lock) error {
	backends, _, err := l.Connect(ctx) // this process ends with what is open
	if err != nil {
		return err
	}
	lock, err := lockstrategy.Open(l.Strategy, backends)
	if err != nil {
		return err
	}
	c.key = l.Key
	c.report(history.Request, "", 0)
	var options []lockstrategy.Option
	if l.Renew > 0 {
		options = append(options, lockstrategy.RenewAtMost(l.Renew))
	}
	lease, err := lock.Acquire(ctx, l.Key, options...)
	if err != nil {
		c.report(history.Refuse, Reason(err), 0)
		return nil
	}
	c.lease = lease
	c.report(history.Grant, "", 0)
	go func() {
		<-lease.Context().Done()
		if why := context.Cause(lease.Context()); errors.Is(why, lockstrategy.ErrLost) {
			c.report(history.Lose, Reason(why), 0)
		}
	}()
	return nil
}

// Reason is an error of a lock in the words of package history; of another error it is the error's own text.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []struct {
		err  error
		text string
	}{
		{lockstrategy.ErrTaken, history.Taken},
		{lockstrategy.ErrExpired, history.Expired},
		{lockstrategy.ErrForced, history.Forced},
		{lockstrategy.ErrGone, history.Gone},
		{lockstrategy.ErrUnreachable, history.Unreachable},
		{lockstrategy.ErrUnavailable, history.Unavailable},
		{lockstrategy.ErrNotHeld, "not held"},
		{context.Canceled, history.Canceled},
		{context.DeadlineExceeded, history.Deadline},
	} {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	return err.Error()
}
