package scorecard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/clients/protocol"
	"locklab/lab/servers"
)

// Checked is how far a program got through the protocol without a fault. `app lab try --check` prints it.
type Checked struct {
	Program []string        `json:"program"`
	Claims  protocol.Claims `json:"claims"`
	Server  string          `json:"server,omitempty"` // with its version
	Steps   []CheckedStep   `json:"steps"`
	Wrong   string          `json:"wrong,omitempty"`  // with the last step; empty: nothing
	Mend    string          `json:"mend,omitempty"`   // what to do about it
	Stderr  []string        `json:"stderr,omitempty"` // the last lines there, when something is wrong

	trial  *lab.Trial
	unable error // to start the servers
}

// CheckedStep is a request of the lab, and the answer that it expects.
type CheckedStep struct {
	Name string  `json:"name"`
	Took float64 `json:"took_s"`
	Done bool    `json:"done"`

	mend string
}

// Check starts a program once, and says each request of the protocol to it, until an answer is wrong. The error says why the lab could
// not check it.
func Check(ctx context.Context, argv []string, o lab.Options) (*Checked, error) {
	c := &Checked{Program: argv}
	o.Once = true
	run := lab.Run(ctx, lab.Experiment{
		ID: "check", Check: check, Schedule: lab.Schedule{Trials: 1},
		Variants: []lab.Variant{{Name: "no fault", Run: func(ctx context.Context, t *lab.Trial) { c.play(ctx, t, o) }}},
	}, o)
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	failed, steps := run.Record.Variants[0].Trials[0].Err, len(c.Steps)
	switch {
	case c.unable != nil:
		return c, c.unable
	case failed == "":
		c.Stderr = nil
	case steps > 0 && !c.Steps[steps-1].Done:
		c.Wrong, c.Mend = lab.OneLine(strings.TrimPrefix(failed, "A: ")), c.Steps[steps-1].mend
	default:
		return c, errors.New(failed)
	}
	return c, nil
}

// Claimed are the claims that the hello makes, and those that it does not: tests that need one of them are skipped.
func (c *Checked) Claimed() (made, others []string) {
	for _, claim := range []Claim{renews, tokens, tellsLoss, extends, messages, replica} {
		if claim.Made(c.Claims) {
			made = append(made, claim.Name)
		} else {
			others = append(others, claim.Name)
		}
	}
	if c.Claims.LeaseMS > 0 {
		made = append(made, fmt.Sprintf("fixed_lease_ms %d", c.Claims.LeaseMS))
	}
	return made, others
}

// step runs a step, and ends the trial when it fails.
func (c *Checked) step(name, mend string, do func() error) {
	c.Steps = append(c.Steps, CheckedStep{Name: name, mend: mend})
	began := time.Now()
	c.trial.Must(do())
	s := &c.Steps[len(c.Steps)-1]
	s.Took, s.Done = time.Since(began).Seconds(), true
}

// play says hello, starts the servers that the program names, and plays a grant from its acquire to its release.
func (c *Checked) play(ctx context.Context, t *lab.Trial, o lab.Options) {
	c.trial = t
	var p *clients.Program
	c.step("the program starts, and prints its hello", "Print the hello of docs/protocol.md first. Flush stdout after each line.",
		func() (err error) { p, err = c.hello(ctx); return err })
	defer func() { c.Stderr = p.Stderr() }()
	program := Program{Argv: c.Program, Claims: c.Claims}
	if c.unable = program.CannotRun(o); c.unable != nil {
		return
	}
	c.Server = servers.ServerName(c.Claims.Store, t.Real)
	b := &bench{Trial: t, program: program, lease: program.leaseIn(t), servers: clients.StartLock(ctx, t, c.Claims.Store)}
	near, _ := b.servers.OverProxies()
	c.step("start: the answer is ready",
		"Connect to the addresses in servers, and answer ready. What cannot be connected is an error with a text.", func() error {
			_, err := p.Connect(ctx, near.Addrs, b.lease)
			return err
		})
	c.playGrant(ctx, p)
	c.step("stop: the program ends", "End the process when the lab sends stop, also when threads of a client library would keep it alive.",
		func() error {
			if !p.Stop() {
				return errors.New("the process runs on two seconds after stop, and the lab kills it")
			}
			return nil
		})
}

// hello starts the program and reads what it claims.
func (c *Checked) hello(ctx context.Context) (p *clients.Program, err error) {
	var running *servers.Dialogue
	p, c.Claims, err = clients.Launch(ctx, c.trial, "A", func(process string) (*servers.Dialogue, error) {
		w, err := c.trial.Stack.Program(process, c.Program...)
		if err != nil {
			return nil, startError(c.Program[0], err)
		}
		running = w
		return w, nil
	})
	if errors.Is(err, clients.ErrEnded) {
		err = Program{Argv: c.Program}.noHello(running, err)
	}
	if wrong := (ProgramError{}); errors.As(err, &wrong) {
		err = errors.New(wrong.Why)
	}
	if err != nil && running != nil {
		c.Stderr = lastLines(running)
	}
	return p, err
}

// playGrant acquires the key, tries it once more while it is held, and releases it.
func (c *Checked) playGrant(ctx context.Context, p *clients.Program) {
	var h *holder
	acquire := func() (err error) { h, err = p.Begin(key, c.trial.Scaled(time.Second))(ctx); return err }
	c.step("acquire "+key+": the answer is granted", "Answer each acquire with its id. This key is free, so the answer is granted.",
		func() error {
			if err := acquire(); err != nil || h.Token > 0 || !c.Claims.Tokens {
				return err
			}
			return errors.New("the hello claims tokens, and this grant has no token")
		})
	c.step("acquire it again, without a wait: the answer is refused",
		"Each id is a client of its own: refuse the key while another id holds it, also within a process. Without wait_ms try once.",
		func() error {
			switch _, err := p.Begin(key, 0)(ctx); {
			case errors.Is(err, clients.ErrRefused):
				return nil
			case err != nil:
				return err
			}
			return fmt.Errorf("it was granted, while the first acquire (%s) holds the key", h.Owner)
		})
	if c.Claims.Extends {
		c.step("extend: the answer is granted", "Extend the lease by lease_ms from now.", func() error {
			if !h.Extend(ctx) {
				return errors.New("the answer is not_held, although the lock is held")
			}
			return nil
		})
	}
	c.step("release: the answer is released", "Answer a release with its id, which is that of its grant.",
		func() error { return h.TryRelease(ctx) })
	c.step("acquire and release it once more", "A release frees the key, so the next acquire is granted.", func() error {
		if err := acquire(); err != nil {
			return err
		}
		return h.TryRelease(ctx)
	})
}

// leaseIn is the lease that a trial asks for.
func (p Program) leaseIn(t *lab.Trial) time.Duration {
	if p.Claims.LeaseMS > 0 {
		return time.Duration(p.Claims.LeaseMS) * time.Millisecond
	}
	return t.Scaled(ownLease)
}
