package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"locklab/internal/marked"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
	"locklab/lab/servers"
)

const (
	mixedPage  = "docs/mixed-stack.md"
	mixedTable = "examples/locks/mixed.json"
	mixedLease = 10 * time.Second // longer than a pair takes, because most of these locks are not renewed
)

// mixedNames are the locks that share a key, in the order of the table.
var mixedNames = []string{"ours-v3", "redisson-lock", "redislock", "redsync", "redis-py", "sesamecare", "redis-semaphore"}

// Mixed says whether locks of different libraries exclude each other on one key of one server.
type Mixed struct {
	Server string    `json:"server"` // with its version
	Ended  time.Time `json:"at"`
	Pairs  []Pair    `json:"pairs"`
}

// Pair is what one lock was answered when it requested a key that another one held.
type Pair struct {
	Holder   string        `json:"holder"`
	Asker    string        `json:"asker"`
	Answer   protocol.Type `json:"answer"`             // granted, refused or error
	Text     string        `json:"text,omitempty"`     // of the error
	Released string        `json:"released,omitempty"` // why the holder's release failed afterwards; empty: it did not
}

// mixed tries all pairs, and saves what they came to.
func mixed(ctx context.Context, all []Lock) error {
	var locks []Lock
	for _, name := range mixedNames {
		found, err := named(all, name)
		if err != nil {
			return err
		}
		locks = append(locks, found...)
	}
	if err := build(ctx, locks); err != nil {
		return err
	}
	if err := servers.RedisServer.Missing(); err != nil {
		return err
	}
	m := Mixed{Server: servers.ServerName(protocol.Redis, true)}
	o := lab.Here()
	o.Once = true
	ran := lab.Run(ctx, lab.Experiment{ID: "mixed", Check: nothing, Schedule: lab.Schedule{Trials: 1}, Variants: []lab.Variant{{
		Name: "one key", Run: func(ctx context.Context, t *lab.Trial) { m.Pairs = tryPairs(ctx, t, locks) },
	}}}, o)
	for _, trial := range ran.Record.Variants[0].Trials {
		if trial.Err != "" {
			return errors.New(trial.Err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.Ended = time.Now().UTC().Truncate(time.Second)
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(mixedTable, append(text, '\n'), 0o644)
}

// nothing is a check that finds nothing: the answers are not judged.
func nothing([]history.Event) []history.Violation { return nil }

// tryPairs starts a copy of each adapter on one server of Redis, and lets each hold a key that each other one requests.
func tryPairs(ctx context.Context, t *lab.Trial, locks []Lock) (pairs []Pair) {
	redis := clients.StartLock(ctx, t, protocol.Redis)
	var programs []*clients.Program
	for _, l := range locks {
		p, _, err := clients.Launch(ctx, t, l.Name, func(process string) (*servers.Dialogue, error) {
			return t.Stack.Program(process, strings.Fields(l.Command)...)
		})
		t.Must(err)
		_, err = p.Connect(ctx, redis.Addrs, mixedLease)
		t.Must(err)
		p.Hit = true // an error is an answer
		programs = append(programs, p)
	}
	for _, holder := range programs {
		for _, asker := range programs {
			if holder != asker {
				pairs = append(pairs, tryPair(ctx, holder, asker))
			}
		}
	}
	return pairs
}

// tryPair lets asker request a key once while holder holds it. Then both release what they were granted.
func tryPair(ctx context.Context, holder, asker *clients.Program) Pair {
	pair := Pair{Holder: holder.Name, Asker: asker.Name, Answer: protocol.Granted}
	key := fmt.Sprintf("lock:%s:%s", holder.Name, asker.Name)
	held, err := holder.Begin(key, 0)(ctx)
	holder.Must(err)
	second, err := asker.Begin(key, 0)(ctx)
	switch {
	case errors.Is(err, clients.ErrRefused):
		pair.Answer = protocol.Refused
	case errors.Is(err, clients.ErrAnswer):
		pair.Answer, pair.Text = protocol.Error, err.Error()
	default:
		asker.Must(err)
		_ = second.TryRelease(ctx)
	}
	if err := held.TryRelease(ctx); err != nil {
		pair.Released = err.Error()
	}
	return pair
}

// savedMixed reads what the pairs came to.
func savedMixed() (m Mixed, err error) {
	text, err := os.ReadFile(mixedTable)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// tables returns the table of docs/mixed-stack.md: a line for each holder, and a column for each lock that requests its key.
func (m Mixed) tables() map[string]string {
	columns := append([]string{"held by ↓ requested by →"}, mixedNames...)
	var lines [][]string
	for _, holder := range mixedNames {
		line := []string{holder}
		for _, asker := range mixedNames {
			line = append(line, m.cell(holder, asker))
		}
		lines = append(lines, line)
	}
	when := fmt.Sprintf("Tried on %s, on %s.\n\n", m.Ended.Format(time.DateOnly), m.Server)
	return map[string]string{"mixed": when + marked.Table(len(columns), columns, lines)}
}

// cell is the answer to a pair. Two holders of one key are bold.
func (m Mixed) cell(holder, asker string) string {
	for _, p := range m.Pairs {
		switch {
		case p.Holder != holder || p.Asker != asker:
		case p.Released != "":
			return string(p.Answer) + ", and then: " + marked.Cell(lab.OneLine(p.Released))
		case p.Answer == protocol.Granted:
			return "**two holders**"
		case strings.Contains(p.Text, "WRONGTYPE"):
			return "error: WRONGTYPE"
		case p.Answer == protocol.Error:
			return "error: " + marked.Cell(lab.OneLine(p.Text))
		default:
			return string(p.Answer)
		}
	}
	return "-"
}
