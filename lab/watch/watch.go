// Package watch watches the servers of a service that runs, and breaks them one at a time.
//
// What is NOT guaranteed: a picture is not of one moment, because the servers answer one after the other.
package watch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/versions"
)

// The faults, and what ends them.
const (
	Kill    = "kill"
	Pause   = "pause"
	Resume  = "resume"
	Cut     = "cut"
	Mend    = "mend"
	Restart = "restart"
)

// faults are all of them.
var faults = []string{Kill, Pause, Resume, Cut, Mend, Restart}

// Errors of [Servers.Do]: nothing was changed.
var (
	ErrUnknown    = errors.New("choose a server and a fault of the page")
	ErrImpossible = errors.New("is not possible")
)

// Fault is one that was done, with its proof.
type Fault struct {
	At           time.Time
	Server, What string
	Proof        string

	Master string    // that the servers have got since, before the next fault; empty: none
	Since  time.Time // when it was seen
}

// Past says what was done: "was killed".
func (f Fault) Past() string {
	switch f.What {
	case Cut:
		return "was cut off"
	case Mend:
		return "is connected again"
	}
	return "was " + strings.TrimSuffix(f.What, "e") + "ed"
}

// Until is how many seconds it took until another master was seen.
func (f Fault) Until() float64 { return f.Since.Sub(f.At).Seconds() }

// Change is what [Servers.Look] found changed. It may have happened some time before.
type Change struct {
	At     time.Time
	What   string
	Master string // the server that has become a master; empty: the change is another
	Empty  string // the server of Redis that was restarted, and keeps nothing on its disk; empty: the change is another
}

// Servers are those of a service that runs. Its methods must not be called simultaneously: a restart replaces a process.
type Servers struct {
	balancer string
	redis    *servers.Topology
	all      []*server // the instances first, then Redis, the sentinels, and the nodes of RedLock
	done     []Fault   // the newest last
	changed  []Change  // the newest last
}

// server is a process of a service: an instance, or a node.
type server struct {
	kind, name string
	instance   *servers.Instance
	node       *servers.Node
	paused     bool
	cut        *servers.Isolation // nil: none
	role       string             // that it said last; empty: it has said none
	owners     []string           // an instance: the processes that it is or was, as owners of locks; an old lease outlives its process
}

// The kinds of servers.
const (
	anInstance = "instance"
	ofRedis    = "redis"
	aSentinel  = "sentinel"
	ofRedLock  = "redlock"
)

// Of are the servers of a service that was started.
func Of(r burst.Running) *Servers {
	s := &Servers{balancer: r.URL, redis: r.Redis}
	for _, i := range r.Instances {
		s.all = append(s.all, &server{kind: anInstance, name: i.Name, instance: i})
	}
	for _, k := range []struct {
		kind  string
		nodes []*servers.Node
	}{{ofRedis, r.Redis.Nodes}, {aSentinel, r.Redis.Sentinels}, {ofRedLock, r.RedLock}} {
		for _, n := range k.nodes {
			s.all = append(s.all, &server{kind: k.kind, name: n.Name, node: n})
		}
	}
	return s
}

// process is what runs the server now.
func (s *server) process() servers.Server {
	if s.instance != nil {
		return s.instance
	}
	return s.node
}

func (s *server) ended() bool {
	select {
	case <-s.process().Done():
		return true
	default:
		return false
	}
}

// never says why a fault is impossible for a kind of server; empty: it is possible.
func (s *server) never(what string, t *servers.Topology) string {
	switch {
	case what == Restart && s.kind == aSentinel:
		return "a sentinel that starts again begins with the first master, and knows of no failover"
	case what != Cut && what != Mend:
		return ""
	case s.kind == ofRedis && s.node.Proxy == nil && t.Kind == "cluster":
		return "only a cluster with proxies can be cut, and it replaces a master after a second, also one that is slow"
	case s.kind == ofRedis && s.node.Proxy == nil:
		return "no proxy is before it; app lab serve --cut starts one before each Redis"
	case s.kind == anInstance || s.node.Proxy == nil:
		return "no proxy is before it"
	}
	return ""
}

// not says why a fault is impossible now; empty: it is possible.
func (s *server) not(what string) string {
	switch {
	case s.ended() && what == Restart:
		return ""
	case s.ended():
		return "it has ended; restart it first"
	case what == Pause && s.paused:
		return "it is paused; resume it first"
	case what == Resume && !s.paused:
		return "it is not paused; pause it first"
	case what == Cut && s.paused:
		return "it is paused, and sends nothing that could be dropped; resume it first"
	case what == Cut && s.cut != nil:
		return "it is cut off; mend it first"
	case what == Mend && s.cut == nil:
		return "it is not cut off; cut it first"
	}
	return ""
}

// Do does a fault, or ends one, and returns it with its proof. An error may wrap [ErrUnknown] or [ErrImpossible]. After another error
// something may have changed, so the fault is recorded.
func (s *Servers) Do(ctx context.Context, name, what string) (Fault, error) {
	i := slices.IndexFunc(s.all, func(s *server) bool { return s.name == name })
	if i < 0 {
		return Fault{}, fmt.Errorf("no server is called %q; %w", name, ErrUnknown)
	}
	if !slices.Contains(faults, what) {
		return Fault{}, fmt.Errorf("no fault is called %q; %w", what, ErrUnknown)
	}
	one := s.all[i]
	if why := one.never(what, s.redis); why != "" {
		return Fault{}, fmt.Errorf("to %s %s %w: %s; choose another fault", what, name, ErrImpossible, why)
	}
	if why := one.not(what); why != "" {
		return Fault{}, fmt.Errorf("to %s %s %w now: %s", what, name, ErrImpossible, why)
	}
	f := Fault{Server: name, What: what, At: time.Now()}
	var err error
	if f.Proof, err = one.do(ctx, what, s.redis); err != nil {
		f.Proof, err = "not proven: "+err.Error(), fmt.Errorf("%s %s: %w", what, name, err)
	}
	s.done = append(s.done, f)
	return f, err
}

// Newest are the newest n faults, the newest first.
func (s *Servers) Newest(n int) []Fault {
	newest := slices.Clone(s.done[max(0, len(s.done)-n):])
	slices.Reverse(newest)
	for _, c := range s.changed {
		of := slices.IndexFunc(newest, func(f Fault) bool { return f.At.Before(c.At) })
		if c.Master != "" && of >= 0 && newest[of].Master == "" {
			newest[of].Master, newest[of].Since = c.Master, c.At
		}
	}
	return newest
}

// Changes are those since a time, with the faults, the oldest first.
func (s *Servers) Changes(began time.Time) (all []Change) {
	for _, f := range s.done {
		c := Change{At: f.At, What: f.What + " " + f.Server}
		isRedis := func(s *server) bool { return s.name == f.Server && s.kind == ofRedis }
		if f.What == Restart && slices.ContainsFunc(s.all, isRedis) {
			c.Empty = f.Server
		}
		all = append(all, c)
	}
	all = slices.DeleteFunc(append(all, s.changed...), func(c Change) bool { return c.At.Before(began) })
	slices.SortStableFunc(all, func(a, b Change) int { return a.At.Compare(b.At) })
	return all
}

func (s *server) do(ctx context.Context, what string, t *servers.Topology) (proof string, err error) {
	switch what {
	case Kill:
		s.process().Kill()
		return s.process().Ended()
	case Pause:
		s.paused = true
		return fmt.Sprintf("no thread of process %d runs", s.pid()), s.process().Pause()
	case Resume:
		s.process().Resume()
		s.paused = false
		return s.answers(ctx)
	case Cut:
		return s.cutOff(ctx, t)
	case Mend:
		s.cut.Mend()
		s.cut = nil
		return s.passes(ctx)
	case Restart:
		s.paused = false
		if s.instance == nil {
			return s.node.Restartable.Restart(ctx) // a replica gets its keys back immediately, so the node need not be empty
		}
		return s.instance.Restart(ctx)
	}
	return "", fmt.Errorf("there is no fault %q", what)
}

func (s *server) pid() int {
	if s.instance != nil {
		return s.instance.PID()
	}
	return s.node.PID()
}

// answers waits until the server answers.
func (s *server) answers(ctx context.Context) (proof string, err error) {
	err = servers.Until(ctx, func(ctx context.Context) error {
		if s.instance != nil {
			_, err := burst.Target{URL: s.instance.URL}.Health(ctx)
			return err
		}
		return s.node.WithClient(func(c *redis.Client) error { return c.Ping(ctx).Err() })
	})
	return fmt.Sprintf("process %d answers", s.pid()), err
}

// cutOff drops what passes the proxy of a node, and sends a request there, because an idle node sends nothing.
func (s *server) cutOff(ctx context.Context, t *servers.Topology) (proof string, err error) {
	cut, err := t.Isolate(ctx, s.node, faultproxy.Both)
	if err != nil {
		return "", err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.node.Proxy.Addr)
	if err == nil {
		defer conn.Close()
		_, err = conn.Write([]byte("PING\r\n"))
	}
	if err == nil {
		proof, err = cut.Await(ctx)
	}
	if err != nil {
		cut.Mend()
		return "", err
	}
	s.cut = cut
	return proof, nil
}

// passes waits until the node answers over its proxy.
func (s *server) passes(ctx context.Context) (proof string, err error) {
	client := redis.NewClient(&redis.Options{Addr: s.node.Proxy.Addr, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	defer client.Close()
	err = servers.Until(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		return client.Ping(ctx).Err()
	})
	return "it answers over its proxy again", err
}

// Loads are the versions that a load can go to here: those whose locks the picture shows, or that have none.
func Loads() []versions.Version {
	return slices.DeleteFunc(versions.All(), func(v versions.Version) bool {
		return v.Server() != "" && v.Server() != versions.NameRedis && v.Server() != versions.NameRedLock
	})
}

// Load is one of [Loads].
func Load(name string) (versions.Version, bool) {
	all := Loads()
	i := slices.IndexFunc(all, func(v versions.Version) bool { return v.Name == name })
	if i < 0 {
		return versions.Version{}, false
	}
	return all[i], true
}
